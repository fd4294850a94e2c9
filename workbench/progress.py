"""Progress: long work shows a bar with the time it still needs; tests and pipes stay quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Advance = Callable[[int], None]


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
