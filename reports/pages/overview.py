"""Overview: which version to ship within your limits, the trade-off as a chart, and every version in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from reports.blocks import Bullets, Fold
from reports.figure import Figure
from reports.number_table import COLUMNS, head_rows, number_rows
from reports.pages.choosing import Choice, the_choice
from reports.pages.drawing import draw
from reports.pages.laid_out import lay_out
from reports.pages.limits import choose_limits
from reports.pages.links import link_to
from reports.pages.plain_words import plain
from reports.pages.recommended import show_recommendation
from reports.pages.shelf import Shelf
from reports.wording import ABSENT, counted, ended, sentence
from workbench.compare import Comparison
from workbench.line import AXES, Line
from workbench.recipe import BASELINE
from workbench.recommend import recommend
from workbench.run_index import RunHead

AXIS_NAMES = {
    "quality": "quality",
    "latency": "time of a call",
    "memory": "memory",
    "disk": "size on disk",
    "parameters": "parameters",
    "macs": "operations (MACs)",
}
ROW_HEIGHT, MOST_ROWS = 35, 16
_FIGURES: Shelf[tuple[Comparison, Figure | None]] = Shelf(most=16)


def show() -> None:
    """Lay out the answer, the chart and the table of one task or of the mean over all."""
    st.title("Overview")
    choice = the_choice(_preview)
    if choice is None:
        return
    lines = choice.comparison.of_task(choice.task)
    st.caption(plain(_summary(choice, lines)))
    finished = any(line.quality for line in lines)
    if finished:
        _answer(choice, lines)
    else:
        st.info("No version was carried to its end here yet, so there is nothing to recommend. See below what failed.")
    # The chart stands above the table but takes longer to be made, and a browser longer to draw.
    place = st.container()
    _table(lines)
    _remarks(choice, lines)
    if finished:
        with place:
            _chart(choice, lines)


def _preview(heads: Sequence[RunHead]) -> None:
    st.caption(f"{counted(len(heads), 'run')} of this study, as the index knows them. Their answers are being judged.")
    _frame(head_rows(heads))


def _summary(choice: Choice, lines: Sequence[Line]) -> str:
    recipes = {line.recipe for line in lines} - {BASELINE}
    seeds = sorted({seed for line in lines for seed in line.seeds})
    rows = next((line.judged.rows for line in lines if line.judged), None)
    told = [
        f"Study {choice.study}",
        f"task {choice.task}" if choice.task else f"mean over {', '.join(choice.comparison.tasks)}",
        counted(len(recipes), "recipe") + " beside the baseline",
        f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds)) or ABSENT}",
        *([f"quality is {lines[0].metric} × 100"] if lines else []),
        *([f"judged on {counted(rows, 'test row')}"] if rows else []),
    ]
    return " · ".join(told)


def _answer(choice: Choice, lines: Sequence[Line]) -> None:
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.subheader("Your limits")
        wish = choose_limits(lines)
    with right:
        st.subheader("What to ship")
        found = recommend(choice.comparison, wish, choice.task)
        chosen = found.pick or found.nearest
        show_recommendation(found, next((line for line in lines if chosen and line.recipe == chosen.recipe), None))


def _chart(choice: Choice, lines: Sequence[Line]) -> None:
    # Altair takes long to load; whoever looks first sees the table meanwhile.
    from reports.chart_pareto import drawn_axis

    st.subheader("The trade-off")
    measured = [axis for axis in AXES if sum(line.delta(axis) is not None for line in lines) > 1]
    if len(measured) < 2:
        st.info("There is no chart: fewer than two versions were measured in two respects.")
        return
    left, right = st.columns(2)
    across = _axis(left, "Across", measured, drawn_axis(lines))
    up = _axis(right, "Up", [axis for axis in measured if axis != across], "quality")
    figure = _figure(choice.comparison, choice.task, (across, up))
    if figure:
        draw(figure)
    else:
        st.info("There is no chart: fewer than two versions were measured in both.")


def _figure(comparison: Comparison, task: str | None, axes: tuple[str, str]) -> Figure | None:
    """The chart, made once: it takes longer than all else on this page, and no limit changes it."""
    from reports.chart_pareto import pareto_figure

    # As long as a comparison is kept beside its chart, no other can have the same id.
    key = (id(comparison), task, axes)
    return _FIGURES.get(key, lambda: (comparison, pareto_figure(comparison, task, axes)))[1]


def _axis(place: Any, label: str, axes: list[str], default: str) -> str:
    index = axes.index(default) if default in axes else 0
    return str(place.selectbox(label, axes, index=index, format_func=AXIS_NAMES.__getitem__))


def _table(lines: Sequence[Line]) -> None:
    st.subheader("Every version")
    _frame(number_rows(lines))
    st.caption("A click on a heading sorts; resting on it tells what it means.")
    left, right = st.columns(2)
    with left:
        link_to("run", "Look closer at one run", ":material/search:")
    with right:
        link_to("compare_two", "Compare two versions", ":material/compare_arrows:")


def _frame(rows: Sequence[dict[str, Any]]) -> None:
    height = ROW_HEIGHT * (1 + min(len(rows), MOST_ROWS)) + 3
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        column_config=_columns(),
        placeholder=ABSENT,
        height=height,
        width="stretch",
    )


def _columns() -> dict[str, Any]:
    pinned = COLUMNS[0].heading
    return {
        column.heading: st.column_config.NumberColumn(help=sentence(column.meaning), format=column.format)
        if column.format
        else st.column_config.TextColumn(help=sentence(column.meaning), pinned=column.heading == pinned)
        for column in COLUMNS
    }


def _remarks(choice: Choice, lines: Sequence[Line]) -> None:
    failures = [f"{line.recipe} failed: {message}" for line in lines for message in line.failures]
    of_lines = [f"{line.recipe}: {caveat}" for line in lines for caveat in line.caveats]
    groups = {"Failed": failures, "Of the whole": choice.comparison.caveats}
    shown = [_bullets(title, found) for title, found in groups.items() if found]
    if not shown and not of_lines:
        return
    st.subheader("To bear in mind")
    lay_out(shown)
    if of_lines:
        lay_out([Fold(f"Of single recipes ({len(of_lines)})", (_bullets("", of_lines),))])


def _bullets(title: str, sentences: Iterable[str]) -> Bullets:
    return Bullets(title, tuple(map(ended, dict.fromkeys(sentences))))
