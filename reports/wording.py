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


def bare_megabytes(value: float | None) -> str:
    """Bytes in millions, under a heading that says so."""
    return ABSENT if value is None else f"{value / 1e6:.1f}"


def with_reach(number: str, reach: float, digits: int = 1) -> str:
    """A number and how far its interval reaches to either side; one that is exact stands alone."""
    return f"{number} ±{reach:.{digits}f}" if reach else number


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


def points(value: float | None) -> str:
    """A signed difference of a metric, in points of a hundred."""
    return ABSENT if value is None else signed(100 * value, 1)


def points_between(low: float, high: float) -> str:
    """The ends of an interval of a difference, in points of a hundred."""
    return f"{points(low)} to {points(high)}"


def signed(value: float, digits: int) -> str:
    """A number with its sign; one that rounds to zero has none."""
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def chance(p: float | None) -> str:
    """A p value, to three digits after the point."""
    if p is None:
        return ABSENT
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def duration(value: float) -> str:
    """A time that was spent, however short."""
    return seconds(value) if value >= 0.05 else "< 0.1 s"


def counted(number: int, thing: str) -> str:
    """A number of things, the plural made with an s."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def sentence(text: str) -> str:
    """Words with a capital at their start and a full stop at their end."""
    return ended(f"{text[:1].upper()}{text[1:]}")


def ended(text: str) -> str:
    """Words with a full stop at their end; they may start with a name, which is written as it is."""
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."
