"""Label places: where the name of each dot is written so that names rarely cover each other or a dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

LETTER_WIDTH = 6.6
LINE_HEIGHT = 14.0
DOT = 12.0
OUTSIDE = 1000.0


class Place(NamedTuple):
    """How a label is moved away from its dot."""

    dx: float
    dy: float
    align: Literal["left", "center", "right"]


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        """The area that both cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


PLACES = (
    Place(16, 0, "left"),
    Place(-16, 0, "right"),
    Place(0, -20, "center"),
    Place(0, 20, "center"),
    Place(12, -15, "left"),
    Place(12, 15, "left"),
    Place(-12, -15, "right"),
    Place(-12, 15, "right"),
    Place(10, -28, "left"),
    Place(10, 28, "left"),
    Place(-10, -28, "right"),
    Place(-10, 28, "right"),
)


def label_places(
    dots: Sequence[tuple[float, float]], labels: Sequence[str], frame: Box, lines: Sequence[Box] = ()
) -> list[Place]:
    """A place for each label, one after the other where it covers least; all is in pixels from the upper left.

    ``lines`` are thin boxes that are drawn too and would strike a label through.
    """
    taken = [*(Box(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in dots), *lines]
    found = []
    for (x, y), label in zip(dots, labels, strict=True):
        boxes = [_box(x, y, LETTER_WIDTH * len(label), place) for place in PLACES]
        costs = [sum(box.overlap(other) for other in taken) + _outside(box, frame) for box in boxes]
        best = costs.index(min(costs))
        taken.append(boxes[best])
        found.append(PLACES[best])
    return found


def _box(x: float, y: float, length: float, place: Place) -> Box:
    start = {"left": 0.0, "center": length / 2, "right": length}[place.align]
    left, middle = x + place.dx - start, y + place.dy
    return Box(left, middle - LINE_HEIGHT / 2, left + length, middle + LINE_HEIGHT / 2)


def _outside(box: Box, frame: Box) -> float:
    """A label that leaves the frame is cut, which is worse than any cover."""
    area = (box.right - box.left) * (box.bottom - box.top)
    return OUTSIDE + area - box.overlap(frame) if box.overlap(frame) < area - 0.01 else 0.0
