"""Recommended: the version to ship within the limits, why, how sure that is, and what came next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from reports.blocks import Block, Bullets, Cell, Headline, Tone, Words, texts
from reports.comparison_cells import disk_cell, latency_cell, memory_cell, quality_cell
from reports.pages.laid_out import COLOURS, lay_out
from reports.pages.limits import kept_limits
from reports.wording import ABSENT, ended, sentence
from workbench.compare import Comparison
from workbench.line import Line
from workbench.recommend import Recommendation, recommend

NUMBER_WIDTH = 180
CELLS = {"quality": quality_cell, "time of a call": latency_cell, "memory": memory_cell, "on disk": disk_cell}


def show_recommendation(found: Recommendation, line: Line | None) -> None:
    """Lay a recommendation out; ``line`` is that of the pick, or of the nearest miss."""
    sure = found.pick is not None and found.pick.sure
    unsure = ", as far as the measurements can tell" if found.pick and not sure else ""
    tone: Tone = "good" if sure else "doubt" if found.pick else "bad"
    lay_out([Headline(sentence(f"{found.headline}{unsure}"), tone)])
    if line:
        _show_numbers(line)
    lay_out(_explained(found))


def recommended_recipe(comparison: Comparison, task: str | None) -> str | None:
    """What the limits that were last set recommend, or what comes nearest to them; absent where nothing is finished."""
    lines = comparison.of_task(task)
    if not any(line.quality for line in lines):
        return None
    found = recommend(comparison, kept_limits(lines), task)
    chosen = found.pick or found.nearest
    return chosen.recipe if chosen else None


def _show_numbers(line: Line) -> None:
    cells = {name: cell(line) for name, cell in CELLS.items()}
    known = {name: cell for name, cell in cells.items() if cell.text != ABSENT}
    # As many in a row as fit: in columns of a narrow window their numbers would be cut.
    with st.container(horizontal=True):
        for name, cell in known.items():
            st.metric(name, cell.text, **_beside(cell), border=True, width=NUMBER_WIDTH)


def _beside(cell: Cell) -> dict[str, Any]:
    """The note below a number: how far it is from the baseline, without its interval, in the colour of its verdict."""
    if not cell.note:
        return {}
    colour = COLOURS[cell.badge.tone] if cell.badge else "gray"
    word = f" {cell.badge.word}" if cell.badge else ""
    return {"delta": f"{cell.note.partition(':')[0]}{word}", "delta_color": colour, "delta_arrow": "off"}


def _explained(found: Recommendation) -> Iterator[Block]:
    # What is said among the reasons need not be said again among the doubts.
    doubts = [doubt for doubt in found.doubts if doubt not in found.reasons]
    if found.reasons:
        yield Bullets("Why" if found.pick else "What is missed", tuple(map(ended, found.reasons)))
    if doubts:
        yield Bullets("How sure", tuple(map(ended, doubts)))
    elif found.pick and not found.doubts:
        yield Words("How sure: the measurements show no doubt about it.")
    if found.runners_up:
        rows = [
            (candidate.recipe, ended("; ".join(check.words for check in candidate.checks) or "no limits to keep"))
            for candidate in found.runners_up
        ]
        yield texts(("next best", "how it stands to the limits"), rows)
