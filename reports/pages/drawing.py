"""Drawing: a figure on a page, as wide as the page and as high as its bars ask for, with its caption."""

from __future__ import annotations

import streamlit as st

from reports.figure import Figure
from reports.pages.plain_words import plain

# Whatever colour the page writes in, light or dark, also when somebody switches while looking.
INK_OF_PAGE = "currentColor"
LAYOUT = {
    # Without this, axes and legend would be taken from the height of the bars.
    "autosize": {"type": "fit-x", "contains": "padding"},
    # Only a drawing that is part of the page can take over its colour.
    "usermeta": {"embedOptions": {"renderer": "svg"}},
}


def draw(figure: Figure) -> None:
    """Draw a figure; what it writes has the page's colour, and its marks stand out from light and dark pages alike."""
    st.vega_lite_chart({**figure.fluid_spec(INK_OF_PAGE), **LAYOUT}, theme=None)
    if figure.caption:
        st.caption(plain(figure.caption))
