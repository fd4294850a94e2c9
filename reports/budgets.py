"""Budgets: the limits a person can choose from on a slider, made from what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench.line import Line
from workbench.wish import DEFAULT_KEPT, MEGABYTE, Limit

NO_LIMIT = "no limit"
# Round numbers of one power of ten.
ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
# With fewer round numbers than this between the ends, a slider has steps of equal size instead.
FEWEST_STEPS = 6
EQUAL_STEPS = 12
UNITS = {"latency": (1.0, "ms"), "disk": (MEGABYTE, "MB"), "memory": (MEGABYTE, "MB")}
DEFAULT_QUALITY = f"{100 * DEFAULT_KEPT:g} %"
# A range of more percent than this is walked in whole ones.
FINE_WITHIN = 30
Choices = dict[str, Limit | None]


def at_most(axis: str, lines: Sequence[Line]) -> Choices:
    """Limits on time, disk or memory by their words, the tightest first; nothing where fewer than two were measured."""
    unit, name = UNITS[axis]
    values = sorted(delta.value / unit for line in lines if (delta := line.delta(axis)) and delta.value > 0)
    if len(values) < 2:
        return {}
    steps = [float(f"{step:.3g}") for step in _steps(values[0], values[-1])]
    found: Choices = {f"{step:g} {name}": Limit(axis=axis, amount=step * unit) for step in steps}
    return {**found, NO_LIMIT: None}


def at_least_quality(lines: Sequence[Line]) -> Choices:
    """Limits on quality by their words, the loosest first: shares of the baseline's, or points where there is none."""
    known = [line.quality for line in lines if line.quality]
    shares = [delta.times for delta in known if delta.times is not None]
    if not known:
        return {}
    if len(shares) < len(known):
        marks = _even([100 * delta.value for delta in known])
        return {NO_LIMIT: None, **{f"{mark:g} points": Limit(axis="quality", amount=mark / 100) for mark in marks}}
    marks = sorted({*_even([100 * share for share in shares]), 100 * DEFAULT_KEPT, 100.0})
    return {NO_LIMIT: None, **{f"{mark:g} %": Limit(axis="quality", amount=mark / 100, share=True) for mark in marks}}


def _steps(low: float, high: float) -> list[float]:
    """Limits from one that nothing keeps to one that everything keeps."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    every = [step * 10.0**power for power in powers for step in ROUND]
    inside = [step for step in every if low <= step < high]
    if len(inside) < FEWEST_STEPS:
        inside = [low + (high - low) * place / EQUAL_STEPS for place in range(1, EQUAL_STEPS)]
    below = max((step for step in every if step < low), default=low / 2)
    above = min((step for step in every if step >= high), default=high)
    return [below, *inside, above]


def _even(values: Sequence[float]) -> list[float]:
    """Marks around some percentages, in halves, or whole ones where they are far apart."""
    low, high = math.floor(min(values)), math.ceil(max(values))
    size = 1.0 if high - low > FINE_WITHIN else 0.5
    return [low + size * place for place in range(int((high - low) / size) + 1)]
