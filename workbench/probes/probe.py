"""Probe: the contract of everything that measures, and what it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.measurement import Measurement
from workbench.tasks.task import Row, Task


@dataclass(frozen=True)
class Subject:
    """What a probe is shown: the artifact reloaded in a fresh process, the test rows, and the baseline's answers.

    ``reference`` is absent when the subject is the baseline itself. A probe may leave files in ``out``.
    """

    encoder: Encoder
    artifact: Path
    task: Task
    tests: Mapping[str, tuple[Row, ...]]
    reference: Path | None
    out: Path
    cache: Cache


class Probe(Protocol):
    """Something that observes."""

    def measure(self, subject: Subject) -> list[Measurement]:
        """Say what was observed."""
