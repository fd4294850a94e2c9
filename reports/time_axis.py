"""The axis of times and sizes: plain where values are near each other, logarithmic where they differ much."""

from __future__ import annotations

import altair as alt

# Beyond this, what stands at the lower end of a plain axis crowds.
PLAIN_WITHIN = 4.0
STEPS = (1, 1.5, 2, 3, 4, 5, 7)
# Several powers of ten need fewer steps within each.
FEW_WITHIN, FEW_STEPS = 40.0, (1, 2, 5)


def is_wide(low: float, high: float) -> bool:
    """Whether values from low to high need a logarithmic axis."""
    return 0 < PLAIN_WITHIN * low < high


def wide_axis(field: str, title: str, low: float, high: float, room: int, zero: bool) -> alt.X:
    """An axis for values from low to high, with room beside them in pixels; a plain one may start at zero."""
    if not is_wide(low, high):
        plain = alt.Scale(zero=zero, padding=0 if zero else room, nice=zero)
        return alt.X(field, title=title, scale=plain, axis=alt.Axis(format="~g", labelOverlap=True))
    marks = alt.Axis(values=log_ticks(low / 1.5, high * 1.5), format="~g", labelOverlap=True)
    return alt.X(field, title=title, scale=alt.Scale(type="log", padding=room, nice=False), axis=marks)


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends, about evenly spaced on a logarithmic axis."""
    steps = STEPS if high < FEW_WITHIN * low else FEW_STEPS
    every = (round(step * 10.0**power, 9) for power in range(-6, 13) for step in steps)
    return [value for value in every if low <= value <= high]
