"""Wish: the limits a person sets and what they would have most of, read from words."""

from __future__ import annotations

import math
import re
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from workbench.errors import UsageError

Aim = Literal["latency", "size", "memory", "quality"]
AXIS_OF_AIM = {"latency": "latency", "size": "disk", "memory": "memory", "quality": "quality"}
DEFAULT_KEPT = 0.97
# Judging does not look for a larger share of the baseline's quality.
LARGEST_SHARE = 2
MEGABYTE = 1e6


class Limit(BaseModel):
    """One limit: at most, or at least for quality. ``share`` says that it is a share of the baseline's value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    axis: str
    amount: float
    share: bool = False

    def words(self) -> str:
        """The limit as people say it."""
        if self.axis == "quality":
            kept = (
                f"{100 * self.amount:g} % of the baseline's quality" if self.share else f"{100 * self.amount:g} points"
            )
            return f"at least {kept}"
        if self.axis == "latency":
            return f"at most {self.amount:g} ms a call"
        return f"at most {self.amount / MEGABYTE:g} MB {'on disk' if self.axis == 'disk' else 'of memory'}"


class Wish(BaseModel):
    """Limits that must be kept, and what is to be best among what keeps them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: tuple[Limit, ...]
    optimise: Aim
    assumed: bool = False

    @classmethod
    def of(
        cls,
        max_latency_ms: float | None = None,
        max_size_mb: float | None = None,
        max_memory_mb: float | None = None,
        min_quality: str | None = None,
        optimise: Aim | None = None,
    ) -> Self:
        """Read a wish. Without a word on quality, 97 % of the baseline's is taken for granted, and said.

        Where quality itself is to be best it needs no limit. Without an aim, the fastest is sought.
        """
        aim: Aim = optimise or "latency"
        limits = [
            _at_most("latency", "--max-latency-ms", max_latency_ms, 1.0),
            _at_most("disk", "--max-size-mb", max_size_mb, MEGABYTE),
            _at_most("memory", "--max-memory-mb", max_memory_mb, MEGABYTE),
            read_quality(min_quality) if min_quality is not None else None,
        ]
        assumed = min_quality is None and aim != "quality"
        if assumed:
            limits.append(Limit(axis="quality", amount=DEFAULT_KEPT, share=True))
        return cls(limits=tuple(limit for limit in limits if limit), optimise=aim, assumed=assumed)

    @property
    def axis(self) -> str:
        """What is to be best."""
        return AXIS_OF_AIM[self.optimise]


def read_quality(text: str) -> Limit:
    """Read ``97%`` (of the baseline's quality), ``0.85`` or ``85`` (points of the metric)."""
    told = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    if not told:
        raise UsageError(
            f"--min-quality {text!r}: write a share of the baseline's like 97%, or a score like 0.85 or 85"
        )
    number, share = float(told[1]), bool(told[2])
    if share and number > 100 * LARGEST_SHARE:
        raise UsageError(f"--min-quality {text!r}: more than {LARGEST_SHARE} times the baseline's cannot be shown")
    if share:
        return Limit(axis="quality", amount=number / 100, share=True)
    amount = number if number <= 1 else number / 100
    if amount > 1:
        raise UsageError(f"--min-quality {text!r}: no metric exceeds 100; nothing can reach that")
    return Limit(axis="quality", amount=amount)


def _at_most(axis: str, option: str, amount: float | None, unit: float) -> Limit | None:
    if amount is None:
        return None
    if not math.isfinite(amount) or amount <= 0:
        raise UsageError(f"{option} {amount:g}: nothing can keep to that; give a number above 0")
    return Limit(axis=axis, amount=amount * unit)
