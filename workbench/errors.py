"""The exception family: every failure a person can meet has a place here.

WorkbenchError            something went wrong; exit code 1
├── UsageError            the request itself cannot be served as written; exit code 2
│   ├── StudyError        a study or recipe file says something we cannot read
│   ├── UnknownNameError  no strategy, task, recipe or run of that name
│   └── PlanError         a recipe's steps do not fit the encoder, the task or each other
├── BaseModelError        a base cannot be found, opened or understood
├── DataError             a data file or row is not what its task declares
│   └── NoSourceError     no source could serve a task's data
├── PluginError           a plugin is broken, missing or named twice
├── ArtifactError         a saved encoder is incomplete, altered or needs what is not installed
├── StoreError            the run store cannot be read or written
├── WorkerError           a measuring process died, hung or answered nonsense
└── StoppedError          the person stopped the work; exit code 130
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Set to anything by `workbench --debug`: tracebacks are shown.
DEBUG_VARIABLE = "WORKBENCH_DEBUG"


class WorkbenchError(Exception):
    """A failure with a sentence for the person: what, where, and the way out."""

    exit_code = 1


class UsageError(WorkbenchError):
    """The request cannot be served as written."""

    exit_code = 2


class StudyError(UsageError):
    """A study or recipe file says something we cannot read."""


class UnknownNameError(UsageError):
    """A name that nothing installed answers to; the message lists what does."""

    def __init__(self, what: str, name: str, known: Iterable[str], *, where: str = "") -> None:
        choices = sorted(known)
        super().__init__(f"{where}no {what} {name!r}; {nearest(name, choices)}")


class PlanError(UsageError):
    """A recipe's steps do not fit the encoder, the task or each other."""


class BaseModelError(WorkbenchError):
    """A base cannot be found, opened or understood."""


class DataError(WorkbenchError):
    """A data file or row is not what its task declares."""


class NoSourceError(DataError):
    """No source could serve a task's data; the message says what was tried."""


class PluginError(WorkbenchError):
    """A plugin is broken, missing or named twice."""


class ArtifactError(WorkbenchError):
    """A saved encoder is incomplete, altered or needs what is not installed."""


class StoreError(WorkbenchError):
    """The run store cannot be read or written."""


class WorkerError(WorkbenchError):
    """A measuring process died, hung or answered nonsense."""


class StoppedError(WorkbenchError):
    """The person stopped the work."""

    exit_code = 130


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name is meant, if one is close, and list them all."""
    choices = list(known)
    if not choices:
        return "none are known"
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.6)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return f"{meant}known: {', '.join(choices)}"


def first_line(error: BaseException) -> str:
    """What a library's error says, cut to one line a person can take in."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
