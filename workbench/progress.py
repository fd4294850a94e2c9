"""Progress: long work shows a bar with the time it still needs; tests and pipes stay quiet.

Whoever started a command may name a file in ``WORKBENCH_PROGRESS``; how far the work is goes there too, a JSON line
each time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from workbench.clock import now

Advance = Callable[[int], None]

PROGRESS_VARIABLE = "WORKBENCH_PROGRESS"
# Seconds between two notes of a bar; longer while something is timed.
NOTE_EVERY = 1.0
CALM_NOTE_EVERY = 5.0
# What is said when a run of a study begins: ``[2/6] sst2 seed 0: int8``.
RUN_BEGINS = re.compile(r"\[(\d+)/(\d+)\] ")
LAST_BYTES = 1 << 14
LONGEST = 300


class Reporter(Protocol):
    """Whoever tells the person how far the work is."""

    def say(self, text: str) -> None:
        """Tell one thing."""

    @contextmanager
    def bar(self, label: str, total: int, calm: bool = False) -> Iterator[Advance]:
        """Lend a function that takes how many of ``total`` are done.

        A ``calm`` bar moves only when told, so that it takes no processor time from what is being timed.
        """
        yield lambda done: None


class Quiet:
    """Says nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""

    @contextmanager
    def bar(self, label: str, total: int, calm: bool = False) -> Iterator[Advance]:
        """Show nothing."""
        yield lambda done: None


class OnConsole:
    """Bars and lines on a terminal; into a pipe or file, lines only."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def bar(self, label: str, total: int, calm: bool = False) -> Iterator[Advance]:
        """Show a bar that ends with how long the work took."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
        )
        if not self.console.is_terminal:
            self.say(f"{label} …")
        hidden = not self.console.is_terminal
        with Progress(*columns, console=self.console, disable=hidden, auto_refresh=not calm) as shown:
            task = shown.add_task(label, total=total)
            yield lambda done: shown.update(task, completed=done, refresh=calm)


class Standing(BaseModel):
    """How far a command is: what it said last, which run of how many it makes, and the bar it shows.

    What does not apply is absent. While ``calm``, something is being timed, and whoever looks should seldom look.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    time: str
    said: str | None = None
    run: int | None = None
    runs: int | None = None
    label: str | None = None
    done: int | None = None
    total: int | None = None
    calm: bool = False


class InFile:
    """Tells another reporter, and notes in a file how far the work is: seldom, and never in the way of the work."""

    def __init__(self, told: Reporter, path: Path) -> None:
        self.told = told
        self.path = path
        self._standing = Standing(time=now())

    def say(self, text: str) -> None:
        """Pass a line on and note it."""
        self.told.say(text)
        run = RUN_BEGINS.match(text)
        numbers = {"run": int(run[1]), "runs": int(run[2])} if run else {}
        self._note(said=text[:LONGEST], label=None, done=None, total=None, calm=False, **numbers)

    @contextmanager
    def bar(self, label: str, total: int, calm: bool = False) -> Iterator[Advance]:
        """Pass a bar on, and note where it stands at its beginning, now and then, and at its end."""
        last, noted, pause = 0, time.monotonic(), CALM_NOTE_EVERY if calm else NOTE_EVERY
        self._note(label=label[:LONGEST], done=0, total=total, calm=calm)
        with self.told.bar(label, total, calm) as advance:

            def pass_on(done: int) -> None:
                nonlocal last, noted
                advance(done)
                last = done
                if time.monotonic() - noted >= pause:
                    noted = time.monotonic()
                    self._note(done=done)

            yield pass_on
        self._note(done=last, calm=False)

    def _note(self, **changes: str | int | None) -> None:
        self._standing = self._standing.model_copy(update={"time": now(), **changes})
        # A full disk must not end what is only being told of.
        with suppress(OSError), self.path.open("a", encoding="utf-8") as stream:
            stream.write(self._standing.model_dump_json(exclude_none=True) + "\n")


def reporter_on(console: Console) -> Reporter:
    """Somebody who tells a person of the work, and the file in ``WORKBENCH_PROGRESS``, where it names one."""
    noted = os.environ.get(PROGRESS_VARIABLE)
    return InFile(OnConsole(console), Path(noted)) if noted else OnConsole(console)


def last_standing(path: Path) -> Standing | None:
    """The last thing that was noted in a file; absent when there is nothing yet."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = stream.read().splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        # The last line may still be on its way.
        with suppress(ValueError):
            return Standing.model_validate_json(line)
    return None
