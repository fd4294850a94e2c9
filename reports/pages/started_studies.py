"""Started studies: how far they are, what they say, and how they end, for whoever opens the page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import streamlit as st

from reports.columns import COLUMNS
from reports.pages.choosing import STUDY_KEY, the_evidence
from reports.pages.links import go_to
from reports.pages.plain_words import plain
from reports.pages.study_editor import open_study
from reports.wording import counted, duration
from workbench.progress import Standing
from workbench.started_study import STUDY, StartedStudy, StudyStatus
from workbench.store import RunStore
from workbench.study_process import STARTED, StudyProcesses

# How often is looked; seldom while something is timed, because looking takes processor time.
LOOK_SECONDS, CALM_LOOK_SECONDS = 2.0, 15.0
LOG_LINES, LOG_HEIGHT = 200, 260
BOXES = {"done": st.success, "failed": st.error, "stopped": st.warning, "lost": st.warning}


def show_started(processes: StudyProcesses, found: Sequence[StartedStudy], kept: Collection[str]) -> None:
    """Show what runs, or else how the last study ended, and a list of all before.

    ``found`` are all that were ever started, oldest first; ``kept`` are the studies that have runs in the store.
    """
    running = [started for started in found if processes.status(started).state == "running"]
    for started in running:
        with st.container(border=True):
            _watch(processes, started)
    if found and not running:
        with st.container(border=True):
            _show_end(processes, found[-1], found[-1].study in kept)
    earlier = [started for started in reversed(found) if started not in running and started is not found[-1]]
    if earlier:
        _list_earlier(processes, earlier)


def _watch(processes: StudyProcesses, started: StartedStudy) -> None:
    """Show a running study, again and again without drawing the whole page."""
    calm = _is_calm(processes.progress(started))

    @st.fragment(run_every=CALM_LOOK_SECONDS if calm else LOOK_SECONDS)
    def look() -> None:
        status, standing = processes.status(started), processes.progress(started)
        if status.state != "running" or _is_calm(standing) != calm:
            st.rerun()
        _show_running(processes, started, status, standing)

    look()


def _is_calm(standing: Standing | None) -> bool:
    return standing is not None and standing.calm


def _show_running(
    processes: StudyProcesses, started: StartedStudy, status: StudyStatus, standing: Standing | None
) -> None:
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.markdown(f"**{plain(started.study)}** {status.said} ({duration(_seconds_since(started.started))} so far)")
    right.button(
        "Stop",
        key=f"stop {started.id}",
        icon=":material/stop_circle:",
        help="What was finished is kept; starting the study again goes on from there.",
        on_click=_stop,
        args=(processes, started),
        disabled=status.stopping,
        width="stretch",
    )
    if standing is None:
        st.progress(0.0, "opening the base and the data")
    else:
        _show_standing(standing)
    _show_log(processes, started)


def _stop(processes: StudyProcesses, started: StartedStudy) -> None:
    """Ask a study to stop; the page shows how that goes."""
    processes.stop(started, patience=0)


def _show_standing(standing: Standing) -> None:
    """How far the study is, and how far the piece of work is that it does now."""
    inside = min(standing.done / standing.total, 1.0) if standing.total and standing.done else 0.0
    if standing.run and standing.runs:
        # They are timed beside each other once all are made.
        made = standing.runs if standing.calm else standing.run - 1 + inside
        words = (
            f"all {counted(standing.runs, 'run')} are made"
            if standing.calm
            else f"run {standing.run} of {standing.runs}"
        )
        st.progress(min(made / standing.runs, 1.0), words)
    if standing.label:
        count = f" ({standing.done:,} of {standing.total:,})" if standing.total and standing.done is not None else ""
        st.progress(inside, plain(f"{standing.label}{count}"))
    if standing.calm:
        st.caption("Something is being timed, so this page looks more seldom.")
    elif standing.said:
        st.caption(plain(standing.said))


def _show_log(processes: StudyProcesses, started: StartedStudy, expanded: bool = False) -> None:
    with st.expander("What it said", expanded=expanded):
        lines = processes.tail(started, LOG_LINES)
        st.code("\n".join(lines) or "nothing yet", language=None, height=LOG_HEIGHT)


def _show_end(processes: StudyProcesses, started: StartedStudy, has_runs: bool) -> None:
    """How a study ended, and where its results are."""
    status = processes.status(started)
    taken = _seconds_since(started.started, status.ended) if status.ended else None
    after = f" (after {duration(taken)})" if taken else ""
    BOXES[status.state](f"**{plain(started.study)}** {plain(status.said)}{after}.")
    if status.state != "done":
        file = processes.root / STARTED / started.id / STUDY
        st.button("Open it in the form", key=f"open {started.id}", on_click=open_study, args=(file,))
    if has_runs:
        _show_results(processes.store, started)
    _show_log(processes, started, expanded=status.state == "failed")


def _show_results(store: RunStore, started: StartedStudy) -> None:
    """What has come of a study so far, and the way to all of it."""
    comparison = the_evidence(store, started.study).comparison()
    several = len(comparison.tasks) > 1
    shown = [column for column in COLUMNS if column.brief or (several and column.heading == "task")]
    st.dataframe(
        [{column.heading: column.cell(line) for column in shown} for line in comparison.lines], hide_index=True
    )
    if st.button("Show all of it", key=f"results {started.id}", icon=":material/dashboard:"):
        # The other pages show the study that is chosen here.
        st.session_state[STUDY_KEY] = started.study
        go_to("overview")


def _list_earlier(processes: StudyProcesses, earlier: list[StartedStudy]) -> None:
    with st.expander(f"Earlier starts ({len(earlier)})"):
        rows = [
            {"study": one.study, "started": one.started[:19].replace("T", " "), "how": processes.status(one).said}
            for one in earlier
        ]
        st.dataframe(rows, hide_index=True)


def _seconds_since(start: str, end: str | None = None) -> float:
    until = datetime.fromisoformat(end) if end else datetime.now(UTC)
    return (until - datetime.fromisoformat(start)).total_seconds()
