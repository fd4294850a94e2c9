"""Welcome: what a page says while the store is empty."""

from __future__ import annotations

import streamlit as st

from reports.pages.links import link_to
from reports.pages.plain_words import plain
from workbench.store import RunStore


def show_welcome(store: RunStore) -> None:
    """Say what to do next."""
    st.info(f"No runs in {plain(str(store.root))} yet.")
    st.markdown(
        "A study takes an encoder and a task, makes smaller and faster versions, and measures each of them the same "
        "way. Start one here:"
    )
    link_to("new_study", "New study", ":material/add_circle:")
    st.markdown("Or from a terminal: the embedded study, or a study of your own.")
    st.code("make demo\nworkbench run study.yaml", language="bash")
    st.markdown("Runs kept in another folder show when you name it under *Store*, to the left.")
