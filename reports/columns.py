"""Columns: what a comparison's table shows, once for every way of showing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reports.wording import (
    ABSENT,
    bare_megabytes,
    millions,
    percent,
    score,
    seconds,
    significant,
    times,
    with_reach,
)
from workbench.delta import Delta
from workbench.line import Line

LineT = TypeVar("LineT")


@dataclass(frozen=True)
class Column(Generic[LineT]):
    """A heading, what it means, and how a line fills it. ``brief`` columns are those that fit a terminal."""

    heading: str
    meaning: str
    cell: Callable[[LineT], str]
    numeric: bool = True
    brief: bool = True


COLUMNS: tuple[Column[Line], ...] = (
    Column("task", "what is learned and judged", lambda line: line.task, numeric=False, brief=False),
    Column("recipe", "what was done to the base", lambda line: line.recipe, numeric=False),
    Column(
        "quality",
        "the task's headline metric, ×100, mean over seeds, with the reach of its 95 % interval beside the baseline",
        lambda line: quality(line.quality),
    ),
    Column("kept", "share of the baseline's quality", lambda line: percent(_times(line.quality))),
    Column("quality is", "what that interval allows to say", lambda line: verdict(line.quality), numeric=False),
    Column("ms", "median time of one call on one text, in milliseconds", lambda line: milliseconds(line.latency)),
    Column(
        "× faster",
        "the baseline's time over this one's, round by round, with the reach of its 95 % interval",
        lambda line: speed(line.latency),
    ),
    Column("speed is", "what that interval allows to say", lambda line: verdict(line.latency), numeric=False),
    Column(
        "RAM MB",
        "memory that the model itself takes at its highest, in megabytes",
        lambda line: bare_megabytes(_value(line.memory)),
    ),
    Column("disk MB", "size of every file needed to run, in megabytes", lambda line: bare_megabytes(_value(line.disk))),
    Column("smaller", "the baseline's disk size over this one's", lambda line: times(_times(line.disk))),
    Column(
        "agrees",
        "share of test rows answered like the baseline (correlation for scores)",
        lambda line: percent(line.agreement),
        brief=False,
    ),
    Column("parameters", "distinct parameters", lambda line: millions(_value(line.parameters)), brief=False),
    Column(
        "MACs",
        "multiply-accumulates of one answer at the task's mean length",
        lambda line: millions(_value(line.macs)),
        brief=False,
    ),
    Column("made in", "time spent on the recipe's steps, all seeds", lambda line: seconds(line.seconds), brief=False),
)


def quality(delta: Delta | None) -> str:
    """A quality with the reach of its interval, on the scale of 100 that GLUE tables use."""
    return score(None) if delta is None else with_reach(score(delta.value), 100 * delta.reach)


def milliseconds(delta: Delta | None) -> str:
    """A time of one call."""
    return ABSENT if delta is None else significant(delta.value)


def speed(delta: Delta | None) -> str:
    """How many times as fast as the baseline, with the reach of its interval."""
    if delta is None or delta.times is None:
        return ABSENT
    ends = delta.times_interval
    return with_reach(f"{delta.times:.2f}", (ends[1] - ends[0]) / 2 if ends else 0.0, digits=2)


def verdict(delta: Delta | None) -> str:
    """The word for a delta."""
    return (delta.verdict if delta else None) or ABSENT


def _times(delta: Delta | None) -> float | None:
    return delta.times if delta else None


def _value(delta: Delta | None) -> float | None:
    return delta.value if delta else None
