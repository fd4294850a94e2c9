"""Links from page to page, by the address a page has in the navigation."""

from __future__ import annotations

import streamlit as st


def link_to(address: str, title: str, icon: str | None = None) -> None:
    """A link to a page of the dashboard; what was chosen stays chosen."""
    # Streamlit finds a page by its address alone, so that the pages need not import each other.
    st.page_link(st.Page(_nothing, title=title, url_path=address), label=title, icon=icon)


def go_to(address: str) -> None:
    """Open another page of the dashboard at once."""
    st.switch_page(st.Page(_nothing, url_path=address))


def _nothing() -> None:
    """Never shown."""
