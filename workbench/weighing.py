"""Weighing: the memory of every contestant, each in a fresh process of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.campaign import TWIN
from workbench.coordinator import Field, write_job
from workbench.errors import WorkerError
from workbench.measurement import Measurement
from workbench.measuring import Measuring
from workbench.process_memory import SAMPLED, Phase
from workbench.progress import Reporter
from workbench.worker_process import WorkerProcess, environment_for

MEMORY = (sys.executable, "-m", "workbench.probes.memory")


class Weighing:
    """What was weighed, by contestant, and a sentence for each thing that went wrong."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[Measurement, ...]] = {}
        self.remarks: list[str] = []

    def note(self, name: str, told: dict[str, Any]) -> None:
        """Note the phases a contestant went through."""
        self.found[name] = memory_of([Phase.model_validate(phase) for phase in told["phases"]])
        remark = f"memory on this system is {SAMPLED}"
        if told["how"] == SAMPLED and remark not in self.remarks:
            self.remarks.append(remark)


def weigh_all(
    field: Field, settings: Measuring, scratch: Path, progress: Reporter, command: Sequence[str] = MEMORY
) -> Weighing:
    """Weigh every contestant once; one that fails is told of and the others go on."""
    weighing = Weighing()
    names = [name for name in field.artifacts if name != TWIN]
    with progress.bar("weighing", len(names)) as advance:
        for number, name in enumerate(names):
            try:
                weighing.note(name, _weighed(field, name, settings, scratch / f"memory-{number}", command))
            except WorkerError as error:
                weighing.remarks.append(f"{name}: its memory could not be measured: {error}")
            advance(number + 1)
    return weighing


def memory_of(phases: Sequence[Phase]) -> tuple[Measurement, ...]:
    """The model's own memory: what every phase held beyond the imports."""
    start, *later = phases
    own = [max(0, phase.peak_bytes - start.end_bytes) for phase in later]
    found = [_bytes("memory", max(own)), _bytes("memory/imports", start.end_bytes)]
    found += [_bytes(f"memory/{phase.name}", size) for phase, size in zip(later, own, strict=True)]
    found.append(_bytes("memory/process", max(phase.peak_bytes for phase in later)))
    last = later[-1]
    if None not in (last.anonymous_bytes, last.file_bytes, start.anonymous_bytes, start.file_bytes):
        found.append(_bytes("memory/anonymous", (last.anonymous_bytes or 0) - (start.anonymous_bytes or 0)))
        found.append(_bytes("memory/file-backed", (last.file_bytes or 0) - (start.file_bytes or 0)))
    return tuple(found)


def _weighed(field: Field, name: str, settings: Measuring, folder: Path, command: Sequence[str]) -> dict[str, Any]:
    job = write_job(folder, field.artifacts[name], field.texts, settings.threads)
    environment = environment_for(settings.threads)
    with WorkerProcess((*command, str(job)), folder / "errors.txt", environment, settings.patience) as worker:
        return worker.answer()


def _bytes(metric: str, size: float) -> Measurement:
    return Measurement.single(metric, "bytes", "lower", size)
