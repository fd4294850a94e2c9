"""Kinds: what a family of tasks has in common: how a label is read, what head it needs, what an output means.

The core asks a kind and never looks inside a label, so that kinds with many labels a text can join.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from workbench.errors import UnknownNameError
from workbench.measurement import Measurement
from workbench.tasks.task import Task

Logits = Sequence[NDArray[np.float32]]


class Kind(ABC):
    """How tasks of one kind read labels, shape a head and interpret its outputs."""

    name: str
    auto_class: str
    export_task: str
    label_type: str

    @abstractmethod
    def label(self, raw: Any, task: Task) -> Any:
        """Read a label as written; ValueError says why it cannot be one."""

    @abstractmethod
    def head(self, task: Task) -> dict[str, Any]:
        """The configuration of a transformers head for the task."""

    @abstractmethod
    def predictions(self, logits: Logits) -> list[Any]:
        """Turn outputs, one array an example, into predictions in the form of labels."""

    @abstractmethod
    def agreement(self, ours: list[Any], theirs: list[Any]) -> Measurement:
        """Say how far two lists of predictions agree, whatever the truth."""

    @abstractmethod
    def divergence(self, ours: Logits, theirs: Logits) -> float:
        """Say how far outputs are from those of a reference; zero when they are equal."""


class Classification(Kind):
    """One label of a fixed set for each text or pair."""

    name = "classification"
    auto_class = "AutoModelForSequenceClassification"
    export_task = "text-classification"
    label_type = "int64"

    def label(self, raw: Any, task: Task) -> int:
        """Find the label's place in the task's label set."""
        try:
            return task.labels.index(str(raw))
        except ValueError:
            raise ValueError(f"label {raw!r} is not one of {', '.join(task.labels)}") from None

    def head(self, task: Task) -> dict[str, Any]:
        """One output for each label, under its name."""
        names = dict(enumerate(task.labels))
        return {
            "num_labels": len(task.labels),
            "id2label": names,
            "label2id": {label: index for index, label in names.items()},
            "problem_type": "single_label_classification",
        }

    def predictions(self, logits: Logits) -> list[int]:
        """Take the label with the highest output."""
        return [int(row.argmax()) for row in logits]

    def agreement(self, ours: list[Any], theirs: list[Any]) -> Measurement:
        """Count the share of equal predictions."""
        equal = [float(a == b) for a, b in zip(ours, theirs, strict=True)]
        return Measurement.single("agreement", "share", "higher", float(np.mean(equal)))

    def divergence(self, ours: Logits, theirs: Logits) -> float:
        """The mean Kullback-Leibler divergence of our label probabilities from theirs."""
        log_ours, log_theirs = (log_softmax(np.asarray(logits, np.float64), axis=-1) for logits in (ours, theirs))
        return float((np.exp(log_theirs) * (log_theirs - log_ours)).sum(-1).mean())


class Regression(Kind):
    """One number for each text or pair."""

    name = "regression"
    auto_class = "AutoModelForSequenceClassification"
    export_task = "text-classification"
    label_type = "float32"

    def label(self, raw: Any, task: Task) -> float:
        """Read a finite number."""
        try:
            value = float(raw)
        except (TypeError, ValueError):
            raise ValueError(f"label {raw!r} is not a number") from None
        if not np.isfinite(value):
            raise ValueError(f"label {raw!r} is not a finite number")
        return value

    def head(self, task: Task) -> dict[str, Any]:
        """A single output."""
        return {
            "num_labels": 1,
            "id2label": {0: "score"},
            "label2id": {"score": 0},
            "problem_type": "regression",
        }

    def predictions(self, logits: Logits) -> list[float]:
        """Take the output as it is."""
        return [float(row[0]) for row in logits]

    def agreement(self, ours: list[Any], theirs: list[Any]) -> Measurement:
        """Correlate the two lists; two constant lists agree when they are equal."""
        if np.ptp(ours) == 0 or np.ptp(theirs) == 0:
            return Measurement.single("agreement", "correlation", "higher", float(np.allclose(ours, theirs)))
        return Measurement.single("agreement", "correlation", "higher", float(np.corrcoef(ours, theirs)[0, 1]))

    def divergence(self, ours: Logits, theirs: Logits) -> float:
        """The mean squared distance of our scores from theirs."""
        return float(np.square(np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)).mean())


KINDS: dict[str, Kind] = {kind.name: kind for kind in (Classification(), Regression())}


def kind_of(task: Task) -> Kind:
    """Find the kind of a task."""
    if task.kind not in KINDS:
        raise UnknownNameError("task kind", task.kind, KINDS, where=f"task {task.name!r}: ")
    return KINDS[task.kind]
