"""Statistics: what may be said of paired answers and of draws of them: tests, intervals, bounds and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Verdict = Literal["better", "worse", "equivalent", "unclear"]
DOUBT = 0.05


class Interval(NamedTuple):
    """A two-sided 95 % interval."""

    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether the value lies outside."""
        return not self.low <= value <= self.high

    def within(self, margin: float) -> bool:
        """Whether everything in the interval is closer to zero than the margin."""
        return -margin < self.low and self.high < margin


class McNemar(NamedTuple):
    """The exact two-sided McNemar test: rows only we have right, rows only the baseline has right, and p."""

    mended: int
    broken: int
    p: float


def mcnemar(ours_right: ArrayLike, base_right: ArrayLike) -> McNemar:
    """Ask whether we and the baseline are right equally often; rows both have right, or wrong, do not count."""
    ours, base = np.asarray(ours_right, bool), np.asarray(base_right, bool)
    mended, broken = int((ours & ~base).sum()), int((base & ~ours).sum())
    changed = mended + broken
    return McNemar(mended, broken, _coin_p(mended, changed) if changed else 1.0)


def _coin_p(heads: int, tosses: int) -> float:
    # Takes half a second to load, and most who read a verdict never judge one.
    from scipy.stats import binomtest

    return float(binomtest(heads, tosses).pvalue)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjust the p of several tasks by Holm's step-down rule, so that one false alarm among all stays as unlikely."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def interval_of(draws: NDArray[np.float64]) -> Interval:
    """The two-sided 95 % percentile interval of draws."""
    low, high = np.quantile(draws, [DOUBT / 2, 1 - DOUBT / 2])
    return Interval(float(low), float(high))


def lower_bound(draws: NDArray[np.float64]) -> float:
    """The one-sided 95 % lower bound of draws: one of them, so that its sign is that of 95 % of the draws."""
    return float(np.quantile(draws, DOUBT, method="inverted_cdf"))


def bootstrap_p(draws: NDArray[np.float64]) -> float:
    """The two-sided p of zero among draws of a difference: twice the smaller share on one side of it or on it.

    It is never zero: that would claim more than so many draws can tell.
    """
    smaller = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    return min(1.0, 2 * (smaller + 1) / (len(draws) + 1))


def verdict(interval: Interval, margin: float) -> Verdict:
    """Say what an interval of a difference shows; ``margin`` is the difference that does not matter."""
    if interval.within(margin):
        return "equivalent"
    if interval.excludes(0.0):
        return "better" if interval.low > 0 else "worse"
    return "unclear"
