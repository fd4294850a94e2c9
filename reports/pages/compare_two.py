"""Compare two: what one version answers otherwise than another, and what that comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from reports.blocks import Bullets
from reports.chart_confusion import confusion_figure
from reports.chart_flips import MEANINGS, flips_figure
from reports.pages.choosing import Choice, kept_choice, one_task, the_choice
from reports.pages.drawing import draw
from reports.pages.laid_out import lay_out
from reports.pages.plain_words import plain
from reports.pages.recommended import recommended_recipe
from reports.versus_words import quality_words, versus_table
from reports.wording import counted, sentence
from workbench.damage import Damage, FlippedRow, LabelDamage
from workbench.evidence import Evidence
from workbench.line import Line
from workbench.recipe import BASELINE
from workbench.store import RunStore
from workbench.versus import Versus, versus

FIRST_KEY, SECOND_KEY = "first of two", "second of two"
ANY = "any"


def show() -> None:
    """Lay out two recipes of one task."""
    st.title("Compare two versions")
    choice = the_choice()
    if choice is None:
        return
    task = one_task(choice)
    done = [line for line in choice.comparison.of_task(task) if line.runs]
    if len(done) < 2:
        st.info(f"Fewer than two versions were carried to their end on {plain(task)}, so there is nothing to compare.")
        return
    first, second = _chosen_two(choice, task, done)
    found = _versus(choice, task, first, second)
    _differences(found)
    if found.damage:
        _labels(found, found.damage)
        _flips(found, found.damage)
    elif found.judged:
        st.info("Their answers are scores, which all differ a little, so there are no flipped rows to show.")


def _chosen_two(choice: Choice, task: str, done: Sequence[Line]) -> tuple[str, str]:
    names = [line.recipe for line in done]
    left, right = st.columns(2)
    first = kept_choice(left, "The first", names, FIRST_KEY, BASELINE)
    others = [name for name in names if name != first]
    second = kept_choice(
        right, "The second, judged beside it", others, SECOND_KEY, recommended_recipe(choice.comparison, task)
    )
    return first, second


def _versus(choice: Choice, task: str, first: str, second: str) -> Versus:
    evidence = choice.evidence
    read = (*(run.id for run in evidence.runs), *(campaign.id for campaign in evidence.campaigns))
    return _compared(str(choice.store.root), read, task, first, second, evidence)


@st.cache_resource(max_entries=16, show_spinner="comparing their answers")
def _compared(root: str, read: tuple[str, ...], task: str, first: str, second: str, _evidence: Evidence) -> Versus:
    """What two recipes come to; ``read`` stands for the evidence, which is too much to look at each time."""
    return versus(_evidence, task, first, second, RunStore(Path(root)))


def _differences(found: Versus) -> None:
    seeds = f"{'seed' if len(found.seeds) == 1 else 'seeds'} {', '.join(map(str, found.seeds))}"
    if found.seeds:
        st.caption(f"Answers are compared row by row, {seeds}; {plain(found.first)} stands for what was before.")
    lay_out([versus_table(found)])
    words = [*quality_words(found), *map(sentence, found.remarks)]
    lay_out([Bullets("How sure", tuple(words))])


def _labels(found: Versus, damage: Damage) -> None:
    st.subheader("Which labels change")
    figure = flips_figure(found.task, found.second, found.judged, damage.labels)
    if figure:
        told = f"{counted(damage.flip_count, 'answer')} of {found.second} on {found.task} that are not {found.first}'s"
        draw(replace(figure, alt=f"{told}, by true label and direction.", caption=_flips_caption(found)))
    st.dataframe(
        pd.DataFrame([_label_row(found, of_label) for of_label in damage.by_label]),
        hide_index=True,
        column_config={"change, points": st.column_config.NumberColumn(format="%+.1f")},
    )
    with st.expander("Which label is taken for which", expanded=True):
        left, right = st.columns(2)
        with left:
            draw(confusion_figure(found.first, damage.labels, damage.base_confusion))
        with right:
            draw(confusion_figure(found.second, damage.labels, damage.confusion))
        st.caption("Each row is a true label; the darker a cell, the larger its share of the label's rows.")


def _flips_caption(found: Versus) -> str:
    return (
        f"Rows by their true label. To the left: right in {found.first} and wrong in {found.second} (broken). To the "
        "right: wrong before and right now (mended), or wrong in another way (sideways)."
    )


def _label_row(found: Versus, of_label: LabelDamage) -> dict[str, Any]:
    change = (of_label.ours_right - of_label.base_right) / of_label.rows if of_label.rows else None
    return {
        "true label": of_label.label,
        "rows": of_label.rows,
        f"right in {found.first}": of_label.base_right,
        f"right in {found.second}": of_label.ours_right,
        "mended": of_label.mended,
        "broken": of_label.broken,
        "change, points": None if change is None else 100 * change,
    }


def _flips(found: Versus, damage: Damage) -> None:
    st.subheader("Answers that changed")
    if not damage.flips:
        st.info("Both give the same answer to every row.")
        return
    shown = _filtered(damage)
    st.caption(
        f"{len(shown):,} of {counted(damage.flip_count, 'answer')} that changed, those first that "
        f"{plain(found.first)} was surest of. Click on a row to read all of it."
    )
    picked = st.dataframe(
        pd.DataFrame([_flip_row(found, flip) for flip in shown]),
        hide_index=True,
        column_config=_flip_columns(found),
        on_select="rerun",
        selection_mode="single-row",
    )
    rows = picked["selection"]["rows"]
    if rows and rows[0] < len(shown):
        _whole(found, shown[rows[0]], damage.labels)


def _filtered(damage: Damage) -> list[FlippedRow]:
    left, middle, right = st.columns([2, 2, 3])
    known = [direction for direction in MEANINGS if any(flip.direction == direction for flip in damage.flips)]
    direction = left.selectbox(
        "Went", [ANY, *known], format_func=lambda one: f"{one}: {MEANINGS[one]}" if one != ANY else one
    )
    label = middle.selectbox("True label", [ANY, *damage.labels])
    words = right.text_input("Text holds").casefold()
    return [
        flip
        for flip in damage.flips
        if direction in (ANY, flip.direction) and label in (ANY, flip.label) and words in _text(flip).casefold()
    ]


def _flip_row(found: Versus, flip: FlippedRow) -> dict[str, Any]:
    return {
        "text": _text(flip),
        "true label": flip.label,
        found.first: flip.base,
        f"{found.first}, % sure": 100 * max(flip.base_probabilities),
        found.second: flip.ours,
        f"{found.second}, % sure": 100 * max(flip.our_probabilities),
        "went": flip.direction,
        **({"seed": flip.seed} if len(found.seeds) > 1 else {}),
    }


def _flip_columns(found: Versus) -> dict[str, Any]:
    sure = st.column_config.NumberColumn(format="%.1f", help="The probability that it gives to its own answer")
    return {
        "text": st.column_config.TextColumn(width="large"),
        **{f"{name}, % sure": sure for name in (found.first, found.second)},
    }


def _whole(found: Versus, flip: FlippedRow, labels: Sequence[str]) -> None:
    """One row with all its text and every probability."""
    with st.container(border=True):
        st.text(_text(flip))
        st.caption(plain(f"{flip.part} {flip.id}, seed {flip.seed}; true label {flip.label}; {flip.direction}"))
        chances = zip(labels, flip.base_probabilities, flip.our_probabilities, strict=True)
        rows = [{"label": label, found.first: 100 * base, found.second: 100 * ours} for label, base, ours in chances]
        share = st.column_config.ProgressColumn(format="%.1f %%", min_value=0.0, max_value=100.0)
        st.dataframe(pd.DataFrame(rows), hide_index=True, column_config={found.first: share, found.second: share})


def _text(flip: FlippedRow) -> str:
    return " ⏐ ".join(flip.texts) or "(its text was not kept)"
