"""New study: compose one, see what is wrong with it, start it, and watch it to its end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from reports.pages.choosing import the_heads
from reports.pages.option_widgets import seeded
from reports.pages.plain_words import plain
from reports.pages.started_studies import show_started
from reports.pages.store_field import the_store
from reports.pages.study_editor import edit_study, open_study
from reports.wording import sentence
from workbench.errors import WorkbenchError
from workbench.names import NAME_RULE
from workbench.study import embedded_studies
from workbench.study_draft import StudyDraft
from workbench.study_outlook import AS_WRITTEN, Outlook, RunOptions
from workbench.study_process import StudyProcesses
from workbench.tasks.sources import GLUE_DIR_VARIABLE

OUTLOOK, GLUE = "new study outlook", "new study glue"
REFUSED, REFUSED_DEMO = "new study refused", "new study refused demo"
DEMO = "demo"


def show() -> None:
    """Lay out what runs, the form, and what it comes to."""
    st.title("New study")
    store = the_store()
    processes = StudyProcesses(store)
    studies = {head.study for head in the_heads(store)}
    try:
        started = processes.all()
    except WorkbenchError as error:
        st.error(plain(str(error)))
        return
    show_started(processes, started, studies)
    if not studies and not started:
        _offer_demo(processes)
    st.subheader("Compose a study")
    draft, problems = edit_study(store)
    st.subheader("The study")
    _show_file(draft)
    options = _options()
    _show_problems(problems)
    _offer_start(processes, draft, options, ready=not problems)
    _show_outlook(draft)


def _offer_demo(processes: StudyProcesses) -> None:
    """Offer the study that comes along, to whoever has none yet."""
    file = embedded_studies()[DEMO]
    with st.container(border=True):
        st.markdown(
            "This store is empty. The embedded study trains a real sentence encoder on film reviews, makes smaller "
            "versions of it and measures them all; it takes some ten minutes and 1 GB of disk, and needs no network."
        )
        left, right = st.columns(2)
        left.button(
            "Start the embedded study",
            type="primary",
            on_click=_start,
            args=(processes, file, AS_WRITTEN, REFUSED_DEMO),
            width="stretch",
        )
        right.button("Open it in the form", on_click=open_study, args=(file,), width="stretch")
        _show_refusal(processes, REFUSED_DEMO)


def _show_file(draft: StudyDraft) -> None:
    st.code(draft.text(), language="yaml")
    name = draft.name if NAME_RULE.fullmatch(draft.name) else "study"
    st.download_button(
        "Download this file", draft.text(), f"{name}.yaml", "application/yaml", icon=":material/download:"
    )
    st.caption("From a terminal, the same is: workbench run FILE")


def _options() -> RunOptions:
    """What is told to the command beside the study."""
    with st.expander("Where the data of GLUE tasks is"):
        folder = st.text_input(
            "Folder of GLUE data, in the classic layout: a folder a task, TSV files in it",
            key=seeded(GLUE, os.environ.get(GLUE_DIR_VARIABLE, "")),
            placeholder="not given: from the model hub",
        ).strip()
    return RunOptions(glue_dir=Path(folder) if folder else None)


def _show_problems(problems: Sequence[str]) -> None:
    if problems:
        lines = "\n".join(f"- {plain(sentence(said))}" for said in problems)
        st.warning(f"Before it can be started:\n\n{lines}")


def _offer_start(processes: StudyProcesses, draft: StudyDraft, options: RunOptions, ready: bool) -> None:
    left, right = st.columns(2)
    pressed = left.button(
        "Start the study", type="primary", icon=":material/play_arrow:", disabled=not ready, width="stretch"
    )
    asked = right.button(
        "Check it with base and data",
        icon=":material/rule:",
        help="Opens the base and reads the data, and says what would be made. Takes some seconds; makes nothing.",
        disabled=not ready,
        width="stretch",
    )
    # Not as a callback, which would start the draft as it was before the last field was left.
    if pressed and ready:
        _start(processes, draft, options, REFUSED)
        st.rerun()
    _show_refusal(processes, REFUSED)
    if asked and ready:
        with st.spinner("opening the base and reading the data"):
            st.session_state[OUTLOOK] = (draft, processes.outlook(draft, options))


def _start(processes: StudyProcesses, asked: StudyDraft | Path, options: RunOptions, refusal: str) -> None:
    """Start a study; what is in the way is told beside the button when the page is drawn anew."""
    try:
        started = processes.start(asked, options)
    except WorkbenchError as error:
        st.session_state[refusal] = sentence(str(error))
    else:
        st.toast(f"{plain(started.study)} was started; see above how far it is.", icon=":material/play_arrow:")


def _show_refusal(processes: StudyProcesses, refusal: str) -> None:
    said = st.session_state.pop(refusal, None)
    if said:
        pointer = " What runs is shown at the top of this page." if processes.running() else ""
        st.error(f"{plain(said)}{pointer}")


def _show_outlook(draft: StudyDraft) -> None:
    """What the last full check said, as long as it is of this draft."""
    checked, outlook = st.session_state.get(OUTLOOK, (None, Outlook()))
    if checked != draft:
        return
    if outlook.complaint:
        st.error(plain(sentence(outlook.complaint)))
    else:
        st.success("This is what would be made:")
        st.code("\n".join(outlook.lines), language=None)
