"""Comparison cells: what a report says of one line in each column, with its doubt and its verdict."""

from __future__ import annotations

from reports.blocks import Badge, Cell, Tone
from reports.wording import ABSENT, megabytes, millions, milliseconds, percent, points, points_between, score
from workbench.delta import Delta
from workbench.line import Line
from workbench.recipe import BASELINE

TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "equivalent": "same", "unclear": "doubt"}
SPEED = {"better": "faster", "worse": "slower"}
SIZE = {"better": "smaller", "worse": "larger"}
MEMORY = {"better": "less", "worse": "more"}


def badge(delta: Delta, words: dict[str, str] | None = None) -> Badge | None:
    """The verdict on a delta, in the words of its kind."""
    if delta.verdict is None:
        return None
    return Badge((words or {}).get(delta.verdict, delta.verdict), TONES[delta.verdict])


def quality_cell(line: Line) -> Cell:
    """The metric, how far it is from the baseline's with the 95 % interval of that, and the verdict."""
    delta = line.quality
    if delta is None:
        return Cell(ABSENT)
    if line.recipe == BASELINE or delta.difference is None:
        return Cell(score(delta.value))
    note = points(delta.difference)
    if delta.base is not None and delta.low is not None and delta.high is not None:
        note = f"{note}: {points_between(delta.low - delta.base, delta.high - delta.base)}"
    return Cell(score(delta.value), note, badge(delta))


def latency_cell(line: Line) -> Cell:
    """The median call, how many times as fast as the baseline with the interval of that, and the verdict."""
    delta = line.latency
    if delta is None:
        return Cell(ABSENT)
    if line.recipe == BASELINE:
        return Cell(milliseconds(delta.value))
    return Cell(milliseconds(delta.value), _times(delta), badge(delta, SPEED))


def memory_cell(line: Line) -> Cell:
    """The model's own memory, how many times less that is, and the verdict."""
    return _counted(line, line.memory, MEMORY)


def disk_cell(line: Line) -> Cell:
    """The size on disk, how many times smaller that is, and the verdict."""
    return _counted(line, line.disk, SIZE)


def parameters_cell(line: Line) -> Cell:
    """Distinct parameters, and how many times fewer."""
    return _million(line, line.parameters)


def macs_cell(line: Line) -> Cell:
    """Multiply-accumulates of one answer, and how many times fewer."""
    return _million(line, line.macs)


def agreement_cell(line: Line) -> Cell:
    """How far its answers are those of the baseline."""
    return Cell(percent(line.agreement))


def _counted(line: Line, delta: Delta | None, words: dict[str, str]) -> Cell:
    if delta is None:
        return Cell(ABSENT)
    if line.recipe == BASELINE:
        return Cell(megabytes(delta.value))
    return Cell(megabytes(delta.value), _times(delta), badge(delta, words))


def _million(line: Line, delta: Delta | None) -> Cell:
    if delta is None:
        return Cell(ABSENT)
    return Cell(millions(delta.value), "" if line.recipe == BASELINE else _times(delta))


def _times(delta: Delta) -> str:
    if delta.times is None:
        return ""
    ends = delta.times_interval
    return f"{delta.times:.2f}×" + (f": {ends[0]:.2f} to {ends[1]:.2f}" if ends else "")
