"""The dashboard: kept studies to look at, from records alone."""

from __future__ import annotations

import streamlit as st

from reports.columns import COLUMNS
from workbench.compare import Comparison
from workbench.store import RunStore, default_store


def main() -> None:
    """Lay out the comparison of one kept study."""
    st.set_page_config(page_title="Encoder workbench", layout="wide")
    st.title("Encoder workbench")
    store = RunStore(default_store())
    runs, damaged = store.runs()
    for remark in damaged:
        st.warning(remark)
    if not runs:
        st.info(f"No runs in {store.root} yet. Make some with: make demo")
        return
    study = st.selectbox("Study", sorted({run.study for run in runs}))
    comparison = Comparison.of(study, runs)
    st.dataframe(
        [{column.heading: column.cell(line) for column in COLUMNS} for line in comparison.lines],
        hide_index=True,
    )
    for column in COLUMNS:
        st.caption(f"{column.heading}: {column.meaning}")


main()
