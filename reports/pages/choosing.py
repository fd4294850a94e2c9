"""Choosing: which study, task and seeds of a store the pages show, kept while a person walks from page to page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import streamlit as st

from reports.pages.address import tell, told
from reports.pages.plain_words import plain
from reports.pages.reading import are_listed, heads_of, is_read, newest_first, study_of
from reports.pages.store_field import the_store
from reports.pages.welcome import show_welcome
from workbench.compare import Comparison
from workbench.errors import WorkbenchError
from workbench.evidence import Evidence
from workbench.run_index import RunHead
from workbench.store import RunStore

STUDY_KEY = "study"
TASK_KEY = "task"
SEEDS_KEY = "seeds"
ONE_TASK_KEY = "one task"
EVERYTHING = "mean over all tasks"
T = TypeVar("T")
Preview = Callable[[Sequence[RunHead]], None]


@dataclass(frozen=True)
class Choice:
    """What a person chose in the sidebar, read from the store; ``heads`` are those of the study."""

    store: RunStore
    study: str
    task: str | None
    heads: tuple[RunHead, ...]
    evidence: Evidence
    comparison: Comparison


def the_choice(preview: Preview | None = None) -> Choice | None:
    """Everything that was chosen; absent, and said on the page, where the store is empty.

    Reading a large study for the first time takes a while; meanwhile ``preview`` shows what the index knows.
    """
    store = the_store()
    heads = the_heads(store)
    if not heads:
        show_welcome(store)
        return None
    study = the_study(heads)
    mine = tuple(head for head in heads if head.study == study)
    names = _names(study, mine)
    evidence, comparison = _read(store, names, partial(preview, mine) if preview else None)
    return Choice(store, study, the_task(comparison), mine, evidence, comparison)


def the_heads(store: RunStore) -> list[RunHead]:
    """The heads of all runs; what cannot be read is named below the store."""
    try:
        with _waiting(are_listed(store), "reading the store"):
            heads, damaged = heads_of(store)
    except WorkbenchError as error:
        st.error(plain(str(error)))
        st.stop()
    if damaged:
        title = "1 record cannot be read" if len(damaged) == 1 else f"{len(damaged)} records cannot be read"
        with st.sidebar.expander(title, icon=":material/warning:"):
            st.caption("They are left out everywhere. Running their study again makes them anew.")
            for sentence in damaged:
                st.text(sentence)
    return heads


def the_study(heads: Sequence[RunHead]) -> str:
    """The study chosen in the sidebar, at first the one in the address, by default the one that was run last."""
    studies = newest_first(heads)
    study = kept_choice(st.sidebar, "Study", studies, STUDY_KEY, told("study"))
    tell("study", None if study == studies[0] else study)
    return study


def the_task(comparison: Comparison) -> str | None:
    """The task chosen in the sidebar; none where the mean over all tasks is meant."""
    if len(comparison.tasks) == 1:
        return comparison.tasks[0]
    tasks = [*([EVERYTHING] if comparison.means else []), *comparison.tasks]
    chosen = kept_choice(st.sidebar, "Task", tasks, TASK_KEY)
    return None if chosen == EVERYTHING else chosen


def one_task(choice: Choice) -> str:
    """The task chosen in the sidebar; where the mean over all is, one that is chosen on the page."""
    if choice.task:
        return choice.task
    return kept_choice(st, "Task", choice.comparison.tasks, ONE_TASK_KEY)


def kept_choice(place: Any, label: str, choices: Sequence[T], key: str, default: T | None = None) -> T:
    """What is chosen from a list, as long as it can be; at first the default, or the first.

    Streamlit forgets the value of a field that a page does not draw, unless it is set anew.
    """
    kept = st.session_state.get(key)
    if kept not in choices:
        kept = default if default in choices else choices[0]
    st.session_state[key] = kept
    return cast(T, place.selectbox(label, choices, key=key))


def the_evidence(store: RunStore, study: str) -> Evidence:
    """Everything a comparison of the study rests on, read again only when the store changed."""
    return _read(store, (study,))[0]


def _read(
    store: RunStore, names: Sequence[str], preview: Callable[[], None] | None = None
) -> tuple[Evidence, Comparison]:
    try:
        with _waiting(is_read(store, names), "judging the answers of this study, which is done once", preview):
            return study_of(store, names)
    except WorkbenchError as error:
        st.error(plain(str(error)))
        st.stop()


def _names(study: str, heads: Sequence[RunHead]) -> tuple[str, ...]:
    """The study, or its runs of the seeds that were chosen, where not all are."""
    # A run can be chosen by itself only where a baseline of its seed is there.
    paired = {head.group for head in heads if head.is_baseline and head.status == "done"}
    fitting = [head for head in heads if head.group in paired]
    seeds = sorted({head.seed for head in fitting})
    if len(seeds) < 2:
        return (study,)
    if not set(st.session_state.get(SEEDS_KEY) or ()) & set(seeds):
        st.session_state[SEEDS_KEY] = seeds
    st.session_state[SEEDS_KEY] = [seed for seed in st.session_state[SEEDS_KEY] if seed in seeds]
    chosen = st.sidebar.multiselect(
        "Seeds", seeds, key=SEEDS_KEY, help="A seed is the number all chance in training comes from. None means all."
    )
    if not chosen or set(chosen) == set(seeds):
        return (study,)
    return tuple(head.id for head in fitting if head.seed in chosen)


@contextmanager
def _waiting(is_there: bool, words: str, preview: Callable[[], None] | None = None) -> Iterator[None]:
    """Say what is waited for, and show the preview, unless it is there already."""
    # The place is taken in either case: what stands below must not move, or browsers would draw it anew.
    place = st.empty()
    if is_there:
        yield
        return
    try:
        with place.container():
            if preview:
                preview()
            with st.spinner(words):
                yield
    finally:
        place.empty()
