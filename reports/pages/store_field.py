"""Store field: the folder of runs that all pages show, named in the sidebar and kept in the address."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from reports.pages.address import tell, told
from reports.pages.plain_words import plain
from workbench.store import RunStore, default_store

STORE_KEY = "store folder"


def the_store() -> RunStore:
    """The store named in the sidebar, at first the one in the address, by default the one that the command line uses.

    A folder that is no store is refused in words: whoever follows an address made by somebody else must not have
    anything done with a folder but a store be read.
    """
    default = str(default_store())
    # Streamlit forgets the value of a field that a page does not draw, unless it is set anew.
    st.session_state[STORE_KEY] = st.session_state.get(STORE_KEY, told("store")) or default
    folder = st.sidebar.text_input("Store", key=STORE_KEY, help="Folder of kept runs")
    tell("store", None if folder == default else folder)
    fault = None if folder == default else why_no_store(folder)
    if fault:
        st.error(plain(f"{folder} {fault}. Name a folder that workbench run has kept runs in, or {default}."))
        st.stop()
    return RunStore(Path(folder).expanduser())


def runs_folder(store: RunStore) -> Path:
    """Where a store keeps its runs; changes whenever one comes or goes."""
    return store.folder("any").parent


def why_no_store(folder: str) -> str | None:
    """Why a folder is no store; absent where it is one."""
    try:
        whole = Path(folder).expanduser()
        if not whole.exists():
            return "is no store: there is no such folder"
        if not whole.is_dir():
            return "is no store: it is a file"
        return None if runs_folder(RunStore(whole)).is_dir() else "is no store: there is no folder of runs in it"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except RuntimeError:
        return "is no store: it would be in the home of nobody"
