"""Answers: whether an encoder that is being timed still says what it said when it was judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.campaign import Answers

# Int8 with ranges that follow each batch answers a text alone a little differently than among others. A change of
# mind counts as rounding when the judged outputs stood closer together than this share of their usual distance.
ROUNDING = 0.1
# Scores are never equal to the last bit.
SAME_SCORE = 1e-3


def compare_answers(
    timed: Sequence[Sequence[float]], judged: Sequence[Sequence[float]] | Sequence[NDArray[np.float32]]
) -> Answers:
    """Compare the outputs of timed calls with those of the quality run, text by text."""
    ours, theirs = np.asarray(timed, np.float64), np.asarray(judged, np.float64)
    # What is no number is neither near nor far, so no comparison below would notice it.
    lost = np.isnan(ours).any(axis=1) & ~np.isnan(theirs).any(axis=1)
    if theirs.shape[1] == 1:
        gap, usual = np.abs(ours - theirs)[:, 0], float(theirs.std()) or 1.0
        differing, beyond = gap > SAME_SCORE * usual, gap > ROUNDING * usual
    else:
        highest = np.sort(theirs, axis=1)
        margin = highest[:, -1] - highest[:, -2]
        differing = ours.argmax(axis=1) != theirs.argmax(axis=1)
        beyond = differing & (margin > ROUNDING * float(margin.mean()))
    return Answers(timed=len(ours), differing=int((differing | lost).sum()), beyond_rounding=int((beyond | lost).sum()))
