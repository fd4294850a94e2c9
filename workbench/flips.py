"""Flips: the rows whose answer changed, in which direction, and how sure the baseline had been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import softmax

from workbench.predictions import Predictions

Direction = Literal["mended", "broken", "sideways"]


class Flip(NamedTuple):
    """A row we answer otherwise than the baseline.

    ``direction``: mended (wrong, now right), broken (right, now wrong), sideways (wrong, now wrong otherwise).
    ``confidence`` is the probability the baseline gave its own answer.
    """

    seed: int
    part: str
    id: str
    label: int
    base: int
    ours: int
    direction: Direction
    confidence: float


def flips_of(seed: int, ours: Predictions, base: Predictions) -> list[Flip]:
    """The flips of one test part of a classification, the baseline's surest answers first."""
    labels, mine, theirs = (np.asarray(values, int) for values in (base.labels, ours.predictions, base.predictions))
    changed = np.flatnonzero(mine != theirs)
    if not len(changed):
        return []
    labels, mine, theirs = labels[changed], mine[changed], theirs[changed]
    outputs = np.stack([base.logits[row] for row in changed]).astype(np.float64)
    confidence = softmax(outputs, axis=-1)[np.arange(len(changed)), theirs]
    directions = np.where(mine == labels, "mended", np.where(theirs == labels, "broken", "sideways"))
    columns = (labels.tolist(), theirs.tolist(), mine.tolist(), directions.tolist(), confidence.tolist())
    found = [
        Flip(seed, base.part, base.ids[row], *values)
        for row, values in zip(changed.tolist(), zip(*columns, strict=True), strict=True)
    ]
    return sorted(found, key=lambda flip: -flip.confidence)


def count_flips(flips: Iterable[Flip]) -> dict[tuple[int, Direction], int]:
    """How many rows of each label flipped in each direction; what did not occur is absent."""
    return dict(sorted(Counter((flip.label, flip.direction) for flip in flips).items()))
