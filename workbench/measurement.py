"""Measurement: a number that carries its unit, its direction and what was observed."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Direction = Literal["higher", "lower", "neither"]


class Measurement(BaseModel):
    """What was observed of one metric.

    ``values`` are the raw observations; ``value`` summarises them when asked. ``interval`` is a 95 % interval
    and is absent when nobody computed one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    unit: str
    better: Direction
    values: tuple[FiniteFloat, ...] = Field(min_length=1)
    interval: tuple[FiniteFloat, FiniteFloat] | None = None

    @classmethod
    def single(cls, metric: str, unit: str, better: Direction, value: float) -> Self:
        """Record one observation."""
        return cls(metric=metric, unit=unit, better=better, values=(float(value),))

    @property
    def value(self) -> float:
        """The mean of what was observed."""
        return fmean(self.values)


def headline_of(metric: str, measured: Iterable[Measurement]) -> float | None:
    """A metric averaged over the test parts it was measured on; absent when it was not."""
    values = [found.value for found in measured if found.metric.partition("/")[0] == metric]
    return fmean(values) if values else None
