"""Started studies: what is written down of a study that runs in a process of its own, and of how it ended.

Each has a folder below ``started`` in its store::

    study.yaml      the study
    order.json      what the supervisor is asked to do
    process.json    who carries it out; written by the supervisor once it is started
    stop.json       when somebody asked it to stop
    end.json        how it ended; written by the supervisor
    log.txt         all that was said
    progress.jsonl  how far it is
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import StoppedError
from workbench.files import write_text_whole
from workbench.process_mark import boot_of, is_alive

STUDY, LOG, PROGRESS = "study.yaml", "log.txt", "progress.jsonl"
ORDER, PROCESS, STOP, END = "order.json", "process.json", "stop.json", "end.json"

State = Literal["running", "done", "failed", "stopped", "lost"]


class Note(BaseModel):
    """A record in a started study's folder, written whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read a note; absent when it is not there or not one of ours."""
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def keep(self, path: Path) -> None:
        """Write a note in one step."""
        write_text_whole(path, self.model_dump_json(indent=1) + "\n")


class Order(Note):
    """What a supervisor is asked to do; ``grace`` is how many seconds each way of stopping is given."""

    id: str
    study: str
    command: tuple[str, ...]
    grace: float


class StartedStudy(Note):
    """Who carries a study out: the process itself and its supervisor, each with the mark that tells it from others."""

    id: str
    study: str
    command: tuple[str, ...]
    grace: float
    started: str
    machine: str
    pid: int = Field(gt=1)
    mark: str
    supervisor: int = Field(gt=1)
    supervisor_mark: str

    @property
    def is_alive(self) -> bool:
        """Whether anybody is still at work on it."""
        return is_alive(self.supervisor, self.supervisor_mark) or is_alive(self.pid, self.mark)


class Stop(Note):
    """That somebody asked a study to stop, and when."""

    asked: str


class Ending(Note):
    """How a study ended; a negative code is the signal that ended it."""

    exit_code: int
    ended: str


class StudyStatus(BaseModel):
    """Where a started study stands, with a sentence for a person.

    ``exit_code`` and ``ended`` are absent while it runs, and where nobody was left to see its end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: State
    said: str
    exit_code: int | None = None
    ended: str | None = None
    stopping: bool = False


def status_of(started: StartedStudy, folder: Path) -> StudyStatus:
    """Where a study stands, from what is in its folder and whether anybody is at work on it."""
    ending = Ending.read(folder / END)
    if ending is None and started.is_alive:
        stopping = (folder / STOP).exists()
        return StudyStatus(state="running", said="is being stopped" if stopping else "runs", stopping=stopping)
    # It may have ended between the two looks.
    ending = ending or Ending.read(folder / END)
    asked = Stop.read(folder / STOP)
    return _ended(ending, asked) if ending else _unseen_end(started, asked)


def _ended(ending: Ending, asked: Stop | None) -> StudyStatus:
    code = ending.exit_code
    facts = {"exit_code": code, "ended": ending.ended}
    if code == 0:
        return StudyStatus(state="done", said="is done", **facts)
    if asked or code == StoppedError.exit_code:
        return StudyStatus(state="stopped", said="was stopped; what was finished is kept", **facts)
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return StudyStatus(state="failed", said=f"{how}; its log says why", **facts)


def _unseen_end(started: StartedStudy, asked: Stop | None) -> StudyStatus:
    if asked:
        return StudyStatus(state="stopped", said="was stopped; what was finished is kept")
    if started.machine != platform.node():
        said = f"was started on {started.machine}, which cannot be seen from here"
    elif started.mark.partition("/")[0] != boot_of():
        said = "was lost when the machine was restarted; what was finished is kept, start it again to go on"
    else:
        said = "was killed together with its supervisor; what was finished is kept, start it again to go on"
    return StudyStatus(state="lost", said=said)
