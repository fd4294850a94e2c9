"""Columns: what a comparison's table shows, once for every way of showing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reports.wording import megabytes, millions, percent, score, seconds, times
from workbench.compare import Line

LineT = TypeVar("LineT")


@dataclass(frozen=True)
class Column(Generic[LineT]):
    """A heading, what it means, and how a line fills it."""

    heading: str
    meaning: str
    cell: Callable[[LineT], str]
    numeric: bool = True


COLUMNS: tuple[Column[Line], ...] = (
    Column("task", "what is learned and judged", lambda line: line.task, numeric=False),
    Column("recipe", "what was done to the base", lambda line: line.recipe, numeric=False),
    Column(
        "quality",
        "the task's headline metric, ×100, mean over seeds",
        lambda line: score(line.quality),
    ),
    Column("kept", "share of the baseline's quality", lambda line: percent(line.share)),
    Column(
        "agrees",
        "share of test rows answered like the baseline (correlation for scores)",
        lambda line: percent(line.agreement),
    ),
    Column("disk", "bytes of every file needed to run", lambda line: megabytes(line.disk_bytes)),
    Column("smaller", "the baseline's disk size over this one's", lambda line: times(line.disk_ratio)),
    Column("parameters", "distinct parameters", lambda line: millions(line.parameters)),
    Column("made in", "time spent on the recipe's steps, all seeds", lambda line: seconds(line.seconds)),
)
