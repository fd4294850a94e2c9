"""Prediction records: what encoders answered to texts, and the process that can be asked for it."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict, FiniteFloat

# Started through a ``WorkerProcess``; ``ask("predict", artifacts=…, texts=…)`` gives a ``PredictionAnswer``.
WORKER = (sys.executable, "-m", "workbench.prediction_worker")


class Record(BaseModel):
    """A frozen part of what is asked or answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(Record):
    """One encoder's answer to one text, or pair: a label and the probability of each, or a score.

    ``milliseconds`` is the time of one call with this text alone, making tokens included.
    """

    milliseconds: FiniteFloat
    label: str | None = None
    probabilities: dict[str, FiniteFloat] | None = None
    score: FiniteFloat | None = None

    @property
    def probability(self) -> float | None:
        """The probability of the label that was answered."""
        return None if self.label is None or self.probabilities is None else self.probabilities[self.label]


class Answered(Record):
    """A text, or pair, and what every encoder answered to it, by the encoder's name."""

    texts: tuple[str, ...]
    answers: dict[str, Answer]


class PredictionRequest(Record):
    """What a prediction process is asked: which artifacts, under which names, are to answer which texts."""

    artifacts: dict[str, Path]
    texts: tuple[tuple[str, ...], ...]


class PredictionAnswer(Record):
    """What a prediction process answers, text by text."""

    answered: tuple[Answered, ...]
