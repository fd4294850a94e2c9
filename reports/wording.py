"""Wording: numbers as people read them."""

from __future__ import annotations

ABSENT = "–"


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return ABSENT if value is None else f"{100 * value:.1f} %"


def score(value: float | None) -> str:
    """A metric between -1 and 1, on the scale of 100 that GLUE tables use."""
    return ABSENT if value is None else f"{100 * value:.2f}"


def megabytes(value: float | None) -> str:
    """Bytes in millions."""
    return ABSENT if value is None else f"{value / 1e6:.1f} MB"


def millions(value: float | None) -> str:
    """A count in millions."""
    return ABSENT if value is None else f"{value / 1e6:.2f} M"


def times(value: float | None) -> str:
    """How many times smaller."""
    return ABSENT if value is None else f"{value:.2f}×"


def milliseconds(value: float | None) -> str:
    """A duration of one call, to three digits."""
    return ABSENT if value is None else f"{significant(value)} ms"


def significant(value: float) -> str:
    """A number to three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2f}"


def seconds(value: float) -> str:
    """A duration; nothing was spent on the baseline beyond its training."""
    if value >= 120:
        return f"{value / 60:.1f} min"
    return f"{value:.1f} s" if value else ABSENT
