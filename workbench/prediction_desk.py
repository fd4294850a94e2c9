"""PredictionDesk: kept encoders answer texts in a process that is started once and asked by many."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import ValidationError

from workbench.errors import WorkerError, first_line
from workbench.prediction_records import WORKER, Answer, PredictionAnswer, Record
from workbench.process_mark import mark_of
from workbench.worker_process import WorkerProcess, environment_for

# Opening a large encoder from a slow disk takes a while.
PATIENCE_SECONDS = 180.0
# As speed is measured, unless a study says otherwise.
THREADS = 1
CALLED = "the process that answers"


class DeskReply(Record):
    """What encoders answered to one text, or pair, by name; ``faults`` say why others did not.

    ``remark`` tells that the process which was asked before had died meanwhile, and how.
    """

    answers: dict[str, Answer]
    faults: dict[str, str]
    remark: str | None = None


class PredictionDesk:
    """Lends one process to all who ask, one question at a time; encoders that were opened stay open in it.

    A process that died, hung or failed is replaced when the next question comes. It ends with the desk.
    """

    def __init__(self, command: Sequence[str] = WORKER, patience: float = PATIENCE_SECONDS) -> None:
        self._command = command
        self._patience = patience
        self._turn = threading.Lock()
        self._room = TemporaryDirectory(prefix="workbench-desk-", ignore_cleanup_errors=True)
        # The one process, or none.
        self._seat: list[WorkerProcess] = []
        weakref.finalize(self, _clear, self._seat)

    @property
    def pid(self) -> int | None:
        """The id of the process that was asked last; absent while there is none."""
        return self._seat[0].pid if self._seat else None

    def ask(self, artifacts: Mapping[str, Path], texts: tuple[str, ...]) -> DeskReply:
        """Ask encoders, by name, about one text or pair; what one of them cannot answer harms no other."""
        answers, faults, remark = {}, {}, None
        for name, artifact in artifacts.items():
            # Between two encoders somebody else may have a turn.
            with self._turn:
                remark = self._last_words() or remark
                try:
                    answers[name] = self._answer(name, artifact, texts)
                except WorkerError as error:
                    faults[name] = str(error)
                    _clear(self._seat)
        return DeskReply(answers=answers, faults=faults, remark=remark)

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self._turn:
            _clear(self._seat)

    def _answer(self, name: str, artifact: Path, texts: tuple[str, ...]) -> Answer:
        if not self._seat:
            errors = Path(self._room.name) / "errors.txt"
            self._seat.append(WorkerProcess(self._command, errors, environment_for(THREADS), self._patience, CALLED))
        try:
            told = self._seat[0].ask("predict", artifacts={name: str(artifact.resolve())}, texts=[texts])
            (answered,) = PredictionAnswer.model_validate(told).answered
            return answered.answers[name]
        except (ValidationError, ValueError, KeyError) as error:
            raise WorkerError(f"{CALLED} answered nonsense ({first_line(error)})") from None
        except BaseException:
            # What was asked is still to be answered, and would be taken for the answer to the next question.
            _clear(self._seat)
            raise

    def _last_words(self) -> str | None:
        """Let a process go that died since it was asked, and tell how it died."""
        if not self._seat or mark_of(self._seat[0].pid):
            return None
        said = None
        try:
            self._seat[0].answer()
        except WorkerError as error:
            said = str(error)
        _clear(self._seat)
        return said


def _clear(seat: list[WorkerProcess]) -> None:
    while seat:
        seat.pop().end()
