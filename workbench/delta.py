"""Delta: one metric of a recipe beside its baseline: how much, how sure, and the word for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, geometric_mean
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, FiniteFloat

from workbench.measurement import Direction
from workbench.ratios import Ratio
from workbench.ratios import Verdict as SpeedVerdict
from workbench.statistics import Verdict

# Counted things are known exactly; below this share a difference is of no consequence to anybody.
COUNTED_WITHIN = 0.01
# One fresh process of the same artifact holds a few megabytes more or less than another.
MEMORY_WITHIN = 0.05
Scale = Literal["difference", "ratio"]
WORDS: dict[SpeedVerdict, Verdict] = {
    "faster": "better",
    "slower": "worse",
    "equivalent": "equivalent",
    "unclear": "unclear",
}


class Delta(BaseModel):
    """A value beside its baseline's.

    ``low`` and ``high`` are the 95 % interval of the value next to this very baseline, and absent where the value was
    counted or nobody computed one. ``alone`` is the interval of the value by itself, which is wider: the baseline too
    would come out otherwise another time. ``within`` is the share within which a value without intervals is known:
    zero for what was counted, absent where nobody can tell. A ``doubted`` value was measured, but its measuring
    showed a fault. ``paired`` is the ratio that was measured pair by pair, where it was; it need not be the ratio of
    the two values. Without a baseline there is neither ``base`` nor ``verdict``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    unit: str
    better: Direction
    value: FiniteFloat
    base: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    alone: tuple[FiniteFloat, FiniteFloat] | None = None
    within: FiniteFloat | None = None
    doubted: bool = False
    paired: Ratio | None = None
    verdict: Verdict | None = None

    @property
    def times(self) -> float | None:
        """How many times as good as the baseline: above 1 is better; of quality, the share that is kept."""
        return self.paired.value if self.paired else self._times(self.value)

    @property
    def times_interval(self) -> tuple[float, float] | None:
        """The interval of ``times``."""
        if self.paired:
            return self.paired.low, self.paired.high
        if self.low is None or self.high is None:
            return None
        ends = [self._times(end) for end in (self.low, self.high)]
        known = sorted(end for end in ends if end is not None)
        return (known[0], known[1]) if len(known) == 2 else None

    @property
    def difference(self) -> float | None:
        """The value minus the baseline's."""
        return None if self.base is None else self.value - self.base

    @property
    def reach(self) -> float:
        """How far the interval reaches on average to either side; nothing where the value is exact."""
        if self.low is None or self.high is None:
            return (self.within or 0.0) * abs(self.value)
        return (self.high - self.low) / 2

    @property
    def known(self) -> bool:
        """Whether it is known how far the value can be off; if not, nothing can be said beyond doubt."""
        measured = self.low is not None and self.high is not None
        return not self.doubted and (measured or self.within is not None)

    def beside(self, other: Delta) -> float:
        """This value as it would stand beside the other's baseline, where the two have different ones.

        Qualities of other seeds keep their distance from the baseline, times of another campaign their ratio to it.
        """
        if self.base is None or other.base is None or self.base == other.base:
            return self.value
        return self.value - self.base + other.base if self.better == "higher" else self.value * self._rescaling(other)

    def advantage(self, other: Delta) -> float:
        """By how much this value is better than another's; negative when it is worse."""
        return (self.beside(other) - other.value) * (-1 if self.better == "lower" else 1)

    def surely_beats(self, other: Delta) -> bool:
        """Whether this value is better beyond doubt.

        Both were seen beside one baseline on the same rows or in the same rounds, so that their errors rather go
        together than apart; taking them for independent errs on the side of doubt.
        """
        if not (self.known and other.known):
            return False
        reach = math.hypot(self.reach * self._rescaling(other), other.reach)
        return self.advantage(other) > max(reach, COUNTED_WITHIN * abs(other.value))

    def surely_meets(self, limit: float) -> bool:
        """Whether even the worse end of what the value may be by itself keeps to a limit."""
        ends = self.alone
        if ends is None and self.within is not None:
            ends = (self.value * (1 - self.within), self.value * (1 + self.within))
        if ends is None or self.doubted:
            return False
        return self._keeps(ends[0] if self.better == "higher" else ends[1], limit)

    def surely_keeps(self, share: float) -> bool:
        """Whether even the lower end of the interval is at least a share of the baseline's value; of none below 0."""
        if not self.known or self.low is None or self.base is None:
            return False
        return self.base > 0 and self.low >= share * self.base

    def meets(self, limit: float) -> bool:
        """Whether the value as measured keeps to a limit."""
        return self._keeps(self.value, limit)

    def _keeps(self, value: float, limit: float) -> bool:
        return value >= limit if self.better == "higher" else value <= limit

    def _rescaling(self, other: Delta) -> float:
        """What brings a time or size beside the other's baseline; differences of quality stay as they are."""
        if self.better == "higher" or self.base is None or other.base is None or min(self.base, other.base) <= 0:
            return 1.0
        return other.base / self.base

    def _times(self, value: float) -> float | None:
        above, below = (value, self.base) if self.better == "higher" else (self.base, value)
        return above / below if above is not None and below is not None and above >= 0 and below > 0 else None

    @classmethod
    def counted(cls, metric: str, unit: str, value: float, base: float | None, within: float = 0.0) -> Self:
        """Compare what was counted, and is better when lower; ``within`` is by which share counting again differs."""
        verdict: Verdict | None = None
        if base is not None:
            same = abs(value - base) <= max(within, COUNTED_WITHIN) * base
            verdict = "equivalent" if same else "better" if value < base else "worse"
        return cls(metric=metric, unit=unit, better="lower", value=value, base=base, within=within, verdict=verdict)

    @classmethod
    def timed(
        cls,
        metric: str,
        unit: str,
        value: float,
        base: float,
        ratio: Ratio,
        word: SpeedVerdict,
        noise: float = 1.0,
        **facts: Any,
    ) -> Self:
        """Compare what was timed round by round; a factor up to ``noise`` means nothing. ``facts`` are other fields."""
        low, high = value * ratio.value / ratio.high / noise, value * ratio.value / ratio.low * noise
        facts |= {"value": value, "base": base, "low": low, "high": high, "paired": ratio, "verdict": WORDS[word]}
        return cls(metric=metric, unit=unit, better="lower", **facts)


def averaged(deltas: Sequence[Delta], scale: Scale) -> Delta | None:
    """The mean of one metric over tasks, whose errors are independent; absent where there is nothing to average.

    On the scale of differences it is the plain mean, as in GLUE; on that of ratios the geometric one, which zero and
    less do not have. It has no verdict: the words differ from metric to metric.
    """
    bases = [delta.base for delta in deltas if delta.base is not None]
    values = [delta.value for delta in deltas]
    if not deltas or (scale == "ratio" and min([*values, *bases]) <= 0):
        return None
    mean = fmean if scale == "difference" else geometric_mean
    value, base = mean(values), mean(bases) if len(bases) == len(deltas) else None
    beside = _ends(value, [_pair(delta.low, delta.high) for delta in deltas], scale)
    ratios = [delta.paired for delta in deltas if delta.paired]
    shares = [delta.within for delta in deltas if delta.within is not None]
    changes = {
        **{"value": value, "base": base, "low": beside and beside[0], "high": beside and beside[1]},
        "alone": _ends(value, [delta.alone for delta in deltas], scale),
        "within": max(shares) if len(shares) == len(deltas) else None,
        "doubted": any(delta.doubted for delta in deltas),
        "paired": _mean_ratio(ratios) if len(ratios) == len(deltas) else None,
        "verdict": None,
    }
    return deltas[0].model_copy(update=changes)


def _pair(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _ends(value: float, intervals: Sequence[tuple[float, float] | None], scale: Scale) -> tuple[float, float] | None:
    ends = [interval for interval in intervals if interval]
    if len(ends) < len(intervals):
        return None
    if scale == "difference":
        reach = math.hypot(*((high - low) / 2 for low, high in ends)) / len(ends)
        return value - reach, value + reach
    reach = _reach_of_logs(ends)
    return value * math.exp(-reach), value * math.exp(reach)


def _mean_ratio(ratios: Sequence[Ratio]) -> Ratio:
    value = geometric_mean([ratio.value for ratio in ratios])
    reach = _reach_of_logs([(ratio.low, ratio.high) for ratio in ratios])
    low, high = value * math.exp(-reach), value * math.exp(reach)
    return Ratio(value=value, low=low, high=high, processes=min(ratio.processes for ratio in ratios))


def _reach_of_logs(ends: Sequence[tuple[float, float]]) -> float:
    return math.hypot(*(math.log(high / low) / 2 for low, high in ends)) / len(ends)
