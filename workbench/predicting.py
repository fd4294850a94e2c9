"""Predicting: ask kept encoders, several beside each other, about texts of one's own."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from workbench.encoder import Encoder
from workbench.errors import ArtifactError, UsageError
from workbench.prediction_records import Answer, Answered
from workbench.tasks.task import Row
from workbench.tokens import tokenize

MOST_OPEN = 4
# Runtimes open late and settle during their first calls.
WARM_CALLS = 3


class Predictor:
    """Answers texts with artifacts; each is opened when it is first asked, and the most recently asked stay open."""

    def __init__(self, most_open: int = MOST_OPEN) -> None:
        self._most_open = most_open
        self._open: OrderedDict[Path, Encoder] = OrderedDict()

    def answers(self, artifacts: Mapping[str, Path], texts: Sequence[tuple[str, ...]]) -> tuple[Answered, ...]:
        """Ask every artifact, by its name, about every text, or pair of texts, one call each."""
        for number, given in enumerate(texts, 1):
            _check_text(number, given)
        found = {name: self._all_answers(name, path, texts) for name, path in artifacts.items()}
        return tuple(
            Answered(texts=given, answers={name: answers[number] for name, answers in found.items()})
            for number, given in enumerate(texts)
        )

    def _all_answers(self, name: str, artifact: Path, texts: Sequence[tuple[str, ...]]) -> list[Answer]:
        encoder = self._opened(artifact)
        count = encoder.lineage.text_count
        for number, given in enumerate(texts, 1):
            if len(given) != count:
                raise UsageError(f"text {number}: {name} answers {_counted(count)}, and this is {_counted(len(given))}")
        return [_answer(encoder, artifact, given) for given in texts]

    def _opened(self, artifact: Path) -> Encoder:
        place = artifact.resolve()
        if place not in self._open:
            self._open[place] = _warmed(Encoder.load(place))
        self._open.move_to_end(place)
        while len(self._open) > self._most_open:
            self._open.popitem(last=False)
        return self._open[place]


def _warmed(encoder: Encoder) -> Encoder:
    for _ in range(WARM_CALLS):
        _logits(encoder, ("warming up",) * encoder.lineage.text_count)
    return encoder


def _answer(encoder: Encoder, artifact: Path, texts: tuple[str, ...]) -> Answer:
    start = time.perf_counter_ns()
    logits = _logits(encoder, texts)
    taken = (time.perf_counter_ns() - start) / 1e6
    if not np.isfinite(logits).all():
        raise ArtifactError(f"{artifact}: its outputs are not finite numbers; make the run again")
    labels = encoder.lineage.labels
    if not labels:
        return Answer(milliseconds=taken, score=float(logits[0]))
    shares = softmax(logits.astype(np.float64)).tolist()
    best = labels[int(logits.argmax())]
    return Answer(milliseconds=taken, label=best, probabilities=dict(zip(labels, shares, strict=True)))


def _logits(encoder: Encoder, texts: tuple[str, ...]) -> NDArray[np.float32]:
    tokens = tokenize(encoder.tokenizer, [Row("", texts, None)])
    (logits,) = encoder.runtime.logits(tokens.batch([0]))
    return np.asarray(logits, np.float32)


def _check_text(number: int, texts: tuple[str, ...]) -> None:
    for text in texts:
        if not text.strip():
            raise UsageError(f"text {number} is empty")
        # JSON and the command line can spell half of a character; no tokenizer takes it.
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise UsageError(f"text {number} is not UTF-8 text")


def _counted(count: int) -> str:
    return "single texts" if count == 1 else f"{count} texts at a time"
