"""Study processes: studies started in processes of their own, watched, stopped, and found again by anyone.

Everything known of them is in the store, so that whoever asks need not be who started them. No shell is involved.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workbench.clock import now
from workbench.errors import StoreError, UnknownNameError, UsageError, WorkbenchError
from workbench.files import write_text_whole
from workbench.log_text import last_lines
from workbench.names import NAME_RULE
from workbench.process_mark import is_alive
from workbench.progress import Standing, last_standing
from workbench.started_study import (
    LOG,
    ORDER,
    PROCESS,
    PROGRESS,
    STOP,
    STUDY,
    Order,
    StartedStudy,
    Stop,
    StudyStatus,
    status_of,
)
from workbench.store import RunStore
from workbench.study import Study
from workbench.study_draft import StudyDraft
from workbench.study_outlook import AS_WRITTEN, Outlook, RunOptions, outlook_of
from workbench.study_supervisor import LOCKS, end_group

WORKBENCH = (sys.executable, "-m", "workbench.cli")
SUPERVISOR = (sys.executable, "-m", "workbench.study_supervisor")
STARTED = "started"
# File systems take 255 bytes; the name of a started study's folder has more in it.
LONGEST_NAME = 100
GRACE_SECONDS = 20.0
START_SECONDS = 60.0
LOOK_SECONDS = 0.1


class StudyProcesses:
    """The studies that were started from one store. ``command`` is how the workbench itself is started."""

    def __init__(self, store: RunStore, command: Sequence[str] = WORKBENCH, grace: float = GRACE_SECONDS) -> None:
        self.store = store
        self.root = store.root.resolve()
        self._command = command
        self._grace = grace

    def start(self, asked: StudyDraft | Path, options: RunOptions = AS_WRITTEN) -> StartedStudy:
        """Carry out a draft or a study file in a process of its own; relative paths of a draft are relative to here.

        While a study of the same name runs, another is refused.
        """
        draft = _drafted(asked)
        name = draft.study().name
        if len(name) > LONGEST_NAME:
            raise UsageError(f"the name of a study is {LONGEST_NAME} characters at most, to be used in file names")
        already = next((found for found in self.running() if found.study == name), None)
        if already:
            raise UsageError(_already(name, already.id))
        folder = self._new_folder(name)
        try:
            write_text_whole(folder / STUDY, draft.text())
            words = (*self._command, *options.words(folder / STUDY, self.root))
            Order(id=folder.name, study=name, command=words, grace=self._grace).keep(folder / ORDER)
            _launch(folder, name)
        except BaseException:
            if not (folder / PROCESS).exists():
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return self.read(folder.name)

    def read(self, process_id: str) -> StartedStudy:
        """Find a started study by its id."""
        ids = self._ids()
        found = self._record(process_id) if process_id in ids else None
        if found is None:
            raise UnknownNameError(f"started study in {self.root}", process_id, ids)
        return found

    def all(self) -> list[StartedStudy]:
        """Every study that was ever started from this store, oldest first."""
        found = map(self._record, self._ids())
        return sorted(filter(None, found), key=lambda started: (started.started, started.id))

    def running(self) -> list[StartedStudy]:
        """Those that still run, oldest first."""
        return [started for started in self.all() if self.status(started).state == "running"]

    def find(self, study: str) -> StartedStudy | None:
        """The last start of a study, if there was one."""
        return next((started for started in reversed(self.all()) if started.study == study), None)

    def status(self, started: StartedStudy) -> StudyStatus:
        """Where a study stands."""
        return status_of(started, self._folder(started.id))

    def tail(self, started: StartedStudy, lines: int = 50) -> list[str]:
        """The last lines of what a study said, as plain text."""
        return last_lines(self._folder(started.id) / LOG, lines)

    def progress(self, started: StartedStudy) -> Standing | None:
        """How far a study is; absent until it says."""
        return last_standing(self._folder(started.id) / PROGRESS)

    def stop(self, started: StartedStudy, patience: float | None = None) -> StudyStatus:
        """End a study, what it finished being kept; wait ``patience`` seconds, by default until it must have ended.

        Only ever the process that was started is ended, never one that has got its number since.
        """
        if self.status(started).state != "running":
            return self.status(started)
        with suppress(OSError):
            Stop(asked=now()).keep(self._folder(started.id) / STOP)
        if is_alive(started.supervisor, started.supervisor_mark):
            with suppress(ProcessLookupError):
                os.kill(started.supervisor, signal.SIGTERM)
        else:
            end_group(started.pid, started.mark, started.grace)
        until = time.monotonic() + (3 * started.grace if patience is None else patience)
        while (status := self.status(started)).state == "running" and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        return status

    def check(self, asked: StudyDraft | Path, options: RunOptions = AS_WRITTEN) -> str | None:
        """Why a study cannot be carried out, as a full plan in a process of its own finds; absent when it can."""
        return self.outlook(asked, options).complaint

    def outlook(self, asked: StudyDraft | Path, options: RunOptions = AS_WRITTEN) -> Outlook:
        """Make the full plan of a study in a process of its own, and do none of it."""
        return outlook_of(_drafted(asked), self.root, options, self._command)

    def _ids(self) -> list[str]:
        """The names of the folders of started studies; links are none of ours."""
        try:
            with os.scandir(self._home()) as items:
                return sorted(
                    item.name
                    for item in items
                    if item.is_dir(follow_symlinks=False) and item.name != LOCKS and NAME_RULE.fullmatch(item.name)
                )
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"store {self.root} cannot be read ({error.strerror})") from None

    def _record(self, process_id: str) -> StartedStudy | None:
        found = StartedStudy.read(self._folder(process_id) / PROCESS)
        # A record that was copied or altered must not speak for another.
        return found if found and found.id == process_id else None

    def _home(self) -> Path:
        home = self.root / STARTED
        for place in (home, home / LOCKS):
            if place.is_symlink():
                raise StoreError(f"{place} is a link; started studies are kept in the store itself, remove the link")
        return home

    def _folder(self, process_id: str) -> Path:
        if not NAME_RULE.fullmatch(process_id):
            raise UnknownNameError(f"started study in {self.root}", process_id, self._ids())
        return self._home() / process_id

    def _new_folder(self, study: str) -> Path:
        self.store.prepare()
        stamp = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(3).hex()}"
        folder = self._folder(f"{study}-{stamp}")
        try:
            folder.parent.mkdir(exist_ok=True)
            folder.mkdir()
        except OSError as error:
            raise StoreError(f"store {self.root} cannot be written ({error.strerror})") from None
        return folder


def _drafted(asked: StudyDraft | Path) -> StudyDraft:
    return asked.anchored(Path.cwd()) if isinstance(asked, StudyDraft) else StudyDraft.of(Study.load(asked))


def _launch(folder: Path, study: str) -> None:
    """Start a supervisor and wait until it says that the study runs."""
    with (folder / LOG).open("xb") as log:
        supervisor = subprocess.Popen(
            [*SUPERVISOR, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    # Somebody must notice its end, or its number stays taken for as long as this process lives.
    threading.Thread(target=supervisor.wait, daemon=True).start()
    told = _answer_of(supervisor)
    if told is None:
        supervisor.terminate()
        raise WorkbenchError(f"study {study!r} did not start within {START_SECONDS:.0f} s and was given up")
    if "refused" in told:
        raise UsageError(_already(study, told["refused"]))
    if "started" not in told:
        last = last_lines(folder / LOG, 1) or ["its supervisor said nothing"]
        raise WorkbenchError(f"study {study!r} could not be started: {told.get('failed', last[0])}")


def _answer_of(supervisor: subprocess.Popen[bytes]) -> dict[str, str] | None:
    """What a supervisor says, nothing if it dies before; absent when it keeps silent for too long."""
    assert supervisor.stdout is not None
    with supervisor.stdout as answers, selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        if not selector.select(START_SECONDS):
            return None
        try:
            return dict(json.loads(answers.readline()))
        except (ValueError, TypeError):
            return {}


def _already(study: str, process_id: str) -> str:
    return (
        f"study {study!r} is running already ({process_id or 'it was started just now'}); "
        "wait for its end or stop it first, or choose another name"
    )
