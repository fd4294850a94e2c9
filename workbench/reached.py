"""Reached: the goals of a study held against what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from workbench.delta import Delta
from workbench.goal import Goal
from workbench.line import Line

Aim = Literal["faster", "smaller", "keeps", "faster than", "no worse than"]


class Reached(BaseModel):
    """One number that was asked of a recipe on a task, beside what was measured.

    ``value`` is absent where it was not measured. ``sure`` says that all of its 95 % interval reaches the goal (of a
    share of quality, that it is shown one-sided).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    recipe: str
    task: str
    aim: Aim
    other: str = ""
    asked: float
    value: float | None = None
    low: float | None = None
    high: float | None = None
    sure: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the measured value reaches what was asked; nothing is known where nothing was measured."""
        return None if self.value is None else self.value >= self.asked


def reached(goals: Sequence[Goal], lines: Sequence[Line]) -> tuple[Reached, ...]:
    """Hold every goal against the lines of the tasks it is for."""
    known = {(line.task, line.recipe): line for line in lines}
    tasks = dict.fromkeys(line.task for line in lines)
    return tuple(
        found
        for goal in goals
        for task in tasks
        if not goal.tasks or task in goal.tasks
        for found in _of_task(goal, task, known)
    )


def _of_task(goal: Goal, task: str, known: dict[tuple[str, str], Line]) -> Iterator[Reached]:
    line = known.get((task, goal.recipe))
    facts = {"recipe": goal.recipe, "task": task}
    if goal.faster is not None:
        yield Reached(**facts, aim="faster", asked=goal.faster, **_times(line.latency if line else None, goal.faster))
    if goal.smaller is not None:
        yield Reached(**facts, aim="smaller", asked=goal.smaller, **_times(line.disk if line else None, goal.smaller))
    if goal.keeps is not None:
        found = _times(line.quality if line else None, goal.keeps)
        if line and line.judged:
            found["sure"] = line.judged.keeps(goal.keeps)
        yield Reached(**facts, aim="keeps", asked=goal.keeps, **found)
    for other, asked in goal.faster_than.items():
        found = _beside(line, known.get((task, other)), asked)
        yield Reached(**facts, aim="faster than", other=other, asked=asked, **found)
    for other in goal.no_worse_than:
        yield Reached(**facts, aim="no worse than", other=other, asked=1.0, **_quality(line, known.get((task, other))))


def _times(delta: Delta | None, asked: float) -> dict[str, float | bool | None]:
    if delta is None or delta.times is None:
        return {}
    low, high = delta.times_interval or (None, None)
    # What was counted is exact; of what was measured all of the interval must reach.
    sure = delta.known and (low if low is not None else delta.times) >= asked
    return {"value": delta.times, "low": low, "high": high, "sure": sure}


def _beside(line: Line | None, other: Line | None, asked: float) -> dict[str, float | bool | None]:
    """How many times as fast as another recipe that was timed in the same campaign."""
    mine, theirs = (found.latency if found else None for found in (line, other))
    if not (line and other and mine and theirs and mine.paired and theirs.paired) or line.campaign != other.campaign:
        return {}
    # Both were timed beside the same baseline in the same rounds; taking them for independent errs towards doubt.
    value = mine.paired.value / theirs.paired.value
    reach = math.hypot(*(math.log(each.paired.high / each.paired.low) / 2 for each in (mine, theirs) if each.paired))
    low, high = value * math.exp(-reach), value * math.exp(reach)
    return {"value": value, "low": low, "high": high, "sure": mine.known and theirs.known and low >= asked}


def _quality(line: Line | None, other: Line | None) -> dict[str, float | bool | None]:
    mine, theirs = (found.quality if found else None for found in (line, other))
    if mine is None or theirs is None or theirs.value <= 0:
        return {}
    return {"value": mine.beside(theirs) / theirs.value, "sure": mine.surely_beats(theirs)}
