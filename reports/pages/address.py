"""Address: the choices that stand in a page's address, so that reloading it or passing it on shows the same."""

from __future__ import annotations

from typing import Literal

import streamlit as st

Name = Literal["store", "study"]
NAMES: tuple[Name, ...] = ("store", "study")
ADDRESS_KEY = "address"


def told(name: Name) -> str | None:
    """What the address says; it was typed by anybody, so it is to be checked before it is used."""
    return _kept().get(name)


def tell(name: Name, value: str | None) -> None:
    """Put a choice into the address; absent takes it out, which is meant for what would be shown anyway."""
    kept = _kept()
    if kept.get(name) != value:
        st.session_state[ADDRESS_KEY] = {other: said for other, said in {**kept, name: value}.items() if said}
    keep_address()


def keep_address() -> None:
    """Write the choices into the address again; Streamlit takes them out whenever another page is opened."""
    said = st.query_params.to_dict()
    meant = {**{name: value for name, value in said.items() if name not in NAMES}, **_kept()}
    # Not sent where nothing changes: each time would be one more step on the way back.
    if said != meant:
        st.query_params.from_dict(meant)


def _kept() -> dict[str, str]:
    """The choices by name; at first those that the address came with."""
    if ADDRESS_KEY not in st.session_state:
        said = {name: st.query_params.get(name) for name in NAMES}
        st.session_state[ADDRESS_KEY] = {name: value for name, value in said.items() if value}
    kept: dict[str, str] = st.session_state[ADDRESS_KEY]
    return kept
