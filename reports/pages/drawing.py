"""Drawing: a figure on a page, as wide as the page and as high as its bars ask for, with its caption."""

from __future__ import annotations

import streamlit as st

from reports.figure import Figure
from reports.pages.plain_words import plain


def draw(figure: Figure) -> None:
    """Draw a figure; it keeps its own colours, which are legible on light and dark pages."""
    # Without this, axes and legend would be taken from the height of the bars.
    fitted = {**figure.fluid_spec(), "autosize": {"type": "fit-x", "contains": "padding"}}
    st.vega_lite_chart(fitted, theme=None)
    if figure.caption:
        st.caption(plain(figure.caption))
