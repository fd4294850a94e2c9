"""Ratios: how many times faster, how sure of it, and the word for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat

Verdict = Literal["faster", "slower", "equivalent", "unclear"]
CONFIDENCE = 0.95
# Differences below this are of no consequence to anybody.
EQUIVALENT_WITHIN = 0.03
# A control that is less sure of itself than this shows a machine too noisy to judge on.
CONTROL_WITHIN = 0.05


class Ratio(BaseModel):
    """The baseline's time over a variant's: above 1 the variant is faster. The interval is of 95 %."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    processes: int

    @property
    def verdict(self) -> Verdict:
        """The word for it, as far as this ratio alone can tell."""
        if self.within(EQUIVALENT_WITHIN):
            return "equivalent"
        if self.low > 1:
            return "faster"
        return "slower" if self.high < 1 else "unclear"

    def verdict_beside(self, control: Ratio) -> Verdict:
        """The word for it, where the baseline beside itself came out as ``control``.

        A faulty control shows how large a difference can be that is none; only what exceeds it counts.
        """
        if fault_of_control(control) is None:
            return self.verdict
        if self.low > control.noise:
            return "faster"
        return "slower" if self.high < 1 / control.noise else "unclear"

    @property
    def noise(self) -> float:
        """Of a control: the factor that means nothing here; 1 where the control is sound."""
        return 1.0 if fault_of_control(self) is None else max(self.high, 1 / self.low)

    @property
    def half_width(self) -> float:
        """How far the interval reaches to either side, as a share of the ratio."""
        return math.sqrt(self.high / self.low) - 1

    def within(self, share: float) -> bool:
        """Whether the whole interval lies within a share of 1."""
        return 1 / (1 + share) <= self.low and self.high <= 1 + share


def ratio_of(log_ratios: Sequence[Sequence[float]]) -> Ratio | None:
    """Turn log ratios, one list of rounds for each process, into a ratio; absent below two processes.

    Processes are the independent unit: rounds of one process share its memory layout and its luck. So the interval is
    Student's over the means of the processes, on the log scale. A percentile bootstrap over so few processes is too
    narrow: see ``tests/workbench/test_ratios.py``.
    """
    spread = interval_over_processes([rounds for rounds in log_ratios if len(rounds)])
    if spread is None:
        return None
    middle, reach, count = spread
    return Ratio(value=math.exp(middle), low=math.exp(middle - reach), high=math.exp(middle + reach), processes=count)


def interval_over_processes(values: Sequence[Sequence[float]]) -> tuple[float, float, int] | None:
    """The mean over processes, how far its 95 % interval reaches, and the number of processes."""
    means = np.array([np.mean(rounds) for rounds in values])
    if len(means) < 2:
        return None
    # Whoever only reads ratios need not wait until it is loaded; all of scipy.stats would take ten times as long.
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(means) - 1, (1 + CONFIDENCE) / 2))
    return float(means.mean()), quantile * float(means.std(ddof=1)) / math.sqrt(len(means)), len(means)


def fault_of_control(control: Ratio | None) -> str | None:
    """Say why a baseline measured against itself shows that nothing here can be told; absent when all is well."""
    if control is None:
        return "the baseline could not be measured twice, so there is no control"
    told = f"the baseline beside itself came out as {control.value:.3f}× ({control.low:.3f} to {control.high:.3f})"
    if control.verdict in ("faster", "slower"):
        return f"{told}, a difference where there is none"
    if control.half_width > CONTROL_WITHIN:
        return f"{told}, less sure than ±{CONTROL_WITHIN:.0%}"
    return None
