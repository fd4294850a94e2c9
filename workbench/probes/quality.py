"""The quality probe: the task's metrics, agreement with the baseline, and every single answer kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workbench.errors import ArtifactError, StoreError
from workbench.measurement import Measurement
from workbench.metrics import score
from workbench.predictions import Predictions, read_predictions, write_predictions
from workbench.probes.probe import Subject
from workbench.store import PREDICTIONS
from workbench.tasks.kinds import kind_of
from workbench.tasks.task import Row
from workbench.tokens import tokenize_once


class Quality:
    """Answers every test row once and judges the answers."""

    def measure(self, subject: Subject) -> list[Measurement]:
        """Give the metrics of every test part and, beside a baseline, the agreement with it."""
        answers = [self._answer(subject, part, rows) for part, rows in subject.tests.items()]
        write_predictions(subject.out / PREDICTIONS, answers)
        found = []
        for part in answers:
            found += score(subject.task, part.predictions, part.labels, part.part)
        return found + (_agreement(subject, answers, subject.reference) if subject.reference else [])

    def _answer(self, subject: Subject, part: str, rows: tuple[Row, ...]) -> Predictions:
        tokens = tokenize_once(subject.encoder.tokenizer, rows, subject.cache)
        logits = subject.encoder.logits(tokens)
        if not all(np.isfinite(row).all() for row in logits):
            raise ArtifactError(f"{subject.artifact}: some of its outputs are not finite numbers; it cannot be judged")
        predictions = kind_of(subject.task).predictions(logits)
        return Predictions(part, [row.id for row in rows], [row.label for row in rows], predictions, logits)


def _agreement(subject: Subject, answers: list[Predictions], reference: Path) -> list[Measurement]:
    theirs = read_predictions(reference)
    if [part.ids for part in answers] != [part.ids for part in theirs]:
        raise StoreError(
            f"{reference}: the baseline answered other rows than this run; run the study again from its start"
        )
    ours = [answer for part in answers for answer in part.predictions]
    return [kind_of(subject.task).agreement(ours, [answer for part in theirs for answer in part.predictions])]
