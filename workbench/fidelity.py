"""Fidelity: how far two encoders answer the same rows alike, whatever the truth."""

from __future__ import annotations

import numpy as np

from workbench.measurement import Measurement
from workbench.tasks.kinds import Kind, Logits


def agreement(kind: Kind, ours: Logits, theirs: Logits) -> Measurement:
    """Say how far predictions agree: the share of equal ones, or the correlation of scores."""
    return kind.agreement(kind.predictions(ours), kind.predictions(theirs))


def distance(ours: Logits, theirs: Logits) -> float:
    """The root mean square difference of the outputs themselves, which tells apart what predictions cannot."""
    return float(np.sqrt(np.mean((np.stack(ours) - np.stack(theirs)) ** 2)))
