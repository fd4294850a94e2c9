"""The measuring process: reloads artifacts one after the other, shows them to the probes, tells what they saw.

Started as ``python -m workbench.worker``, so that what is measured is what was saved, in a process that did not make
it. Each line of its input names the file of a ``MeasureJob``; to each it answers one line, ``{"measurements": …}``
or ``{"error": …}``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from workbench.cache import Cache
from workbench.errors import WorkbenchError
from workbench.measurement import Measurement
from workbench.tasks.data import TaskData
from workbench.tasks.task import Row, Task
from workbench.worker_process import WorkerProcess

JOB = "job.json"
ROWS = "rows.jsonl"
ERRORS = "errors.txt"
PATIENCE_SECONDS = 3600.0


class MeasureJob(BaseModel):
    """What a worker is asked to measure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    artifact: Path
    task: dict[str, Any]
    rows: Path
    reference: Path | None
    out: Path
    probes: tuple[str, ...]
    cache: Path


class Measurer:
    """Measures artifacts on the test rows of one task in a process of its own.

    It is started at the first artifact and stays for those that follow, because importing what it needs takes longer
    than measuring a small encoder. It ends with the measurer.
    """

    def __init__(self, data: TaskData, cache: Cache, scratch: Path) -> None:
        self._data = data
        self._cache = cache
        self._scratch = scratch
        self._process: WorkerProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.end()

    def measure(
        self, artifact: Path, reference: Path | None, probes: tuple[str, ...], out: Path
    ) -> tuple[Measurement, ...]:
        """Measure an artifact beside the baseline's answers; what the probes keep goes to ``out``."""
        self._process = self._process or self._started()
        job = MeasureJob(
            artifact=artifact.resolve(),
            task=self._data.task.model_dump(mode="json", exclude={"sources"}),
            rows=(self._scratch / ROWS).resolve(),
            reference=reference.resolve() if reference else None,
            out=out.resolve(),
            probes=probes,
            cache=self._cache.root.resolve(),
        )
        path = (self._scratch / JOB).resolve()
        path.write_text(job.model_dump_json(), encoding="utf-8")
        told = self._process.ask("measure", job=str(path))
        return tuple(Measurement(**item) for item in told["measurements"])

    def _started(self) -> WorkerProcess:
        _write_rows(self._scratch / ROWS, self._data.tests)
        command = [sys.executable, "-m", "workbench.worker"]
        return WorkerProcess(command, self._scratch / ERRORS, os.environ, PATIENCE_SECONDS)


def _write_rows(path: Path, tests: dict[str, tuple[Row, ...]]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for part, rows in tests.items():
            for row in rows:
                stream.write(json.dumps([part, *row], ensure_ascii=False) + "\n")


def _read_rows(path: Path) -> dict[str, tuple[Row, ...]]:
    tests: dict[str, list[Row]] = {}
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            part, name, texts, label = json.loads(line)
            tests.setdefault(part, []).append(Row(name, tuple(texts), label))
    return {part: tuple(rows) for part, rows in tests.items()}


def _measure(job: MeasureJob) -> list[Measurement]:
    # Only the worker itself needs the heavy side; whoever starts it does not.
    from workbench.encoder import Encoder
    from workbench.probes.probe import Subject
    from workbench.probes.register import PROBES

    subject = Subject(
        encoder=Encoder.load(job.artifact),
        artifact=job.artifact,
        task=Task(**job.task, sources=()),
        tests=_read_rows(job.rows),
        reference=job.reference,
        out=job.out,
        cache=Cache(job.cache),
    )
    return [found for name in job.probes for found in PROBES[name].measure(subject)]


def serve() -> int:
    """Carry out jobs until whoever asks hangs up; a failure we know is told in one line."""
    from workbench.probes.opening import take_over_output

    pipe = take_over_output()
    for line in sys.stdin:
        job = MeasureJob.model_validate_json(Path(json.loads(line)["job"]).read_bytes())
        try:
            answer: dict[str, Any] = {"measurements": [found.model_dump(mode="json") for found in _measure(job)]}
        except WorkbenchError as error:
            answer = {"error": " ".join(str(error).split())}
        pipe.write(json.dumps(answer) + "\n")
        pipe.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(serve())
