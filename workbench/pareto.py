"""Pareto: which recipes nothing else beats, as far as the measurements can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from workbench.delta import Delta
from workbench.line import Line

# front: nothing measured better on every axis. tied: something did, but not beyond doubt. dominated: beyond doubt.
Standing = Literal["front", "tied", "dominated"]


def standings(lines: Sequence[Line], axes: Sequence[str]) -> dict[str, Standing]:
    """Where each recipe stands among all, by name; what was not measured on every axis is left out."""
    points = {line.recipe: found for line in lines if (found := _point(line, axes))}
    return {
        name: _standing(point, [other for rival, other in points.items() if rival != name])
        for name, point in points.items()
    }


def _point(line: Line, axes: Sequence[str]) -> list[Delta] | None:
    found = [delta for axis in axes if (delta := line.delta(axis))]
    return found if len(found) == len(axes) else None


def _standing(point: list[Delta], rivals: list[list[Delta]]) -> Standing:
    above = [rival for rival in rivals if _above(rival, point)]
    if not above:
        return "front"
    return "dominated" if any(_surely_above(rival, point) for rival in above) else "tied"


def _above(rival: list[Delta], point: list[Delta]) -> bool:
    """Whether a rival measured at least as good everywhere, and better somewhere."""
    gaps = [theirs.advantage(ours) for theirs, ours in zip(rival, point, strict=True)]
    return min(gaps) >= 0 and max(gaps) > 0


def _surely_above(rival: list[Delta], point: list[Delta]) -> bool:
    """Whether a rival is better beyond doubt somewhere, and nowhere could the point be the better one.

    Where both are known exactly, and the rival measured no worse, the point cannot be.
    """
    sides = list(zip(rival, point, strict=True))
    return any(theirs.surely_beats(ours) for theirs, ours in sides) and all(
        theirs.surely_beats(ours) or (theirs.known and ours.known and theirs.reach == ours.reach == 0)
        for theirs, ours in sides
    )
