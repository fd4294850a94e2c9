"""The measuring process: reloads one artifact, shows it to the probes, writes down what they saw.

Started as ``python -m workbench.worker JOB.json``, so that what is measured is what was saved, in a process that
holds nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from workbench.cache import Cache
from workbench.errors import WorkbenchError, WorkerError
from workbench.measurement import Measurement
from workbench.tasks.data import TaskData
from workbench.tasks.task import Row, Task

JOB = "job.json"
ROWS = "rows.jsonl"
RESULT = "measurements.json"
PATIENCE_SECONDS = 3600
SAID = "workbench-error: "


class MeasureJob(BaseModel):
    """What a worker is asked to measure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    artifact: Path
    task: dict[str, Any]
    rows: Path
    reference: Path | None
    out: Path
    result: Path
    probes: tuple[str, ...]
    cache: Path


def measure_in_fresh_process(
    artifact: Path,
    data: TaskData,
    reference: Path | None,
    probes: tuple[str, ...],
    out: Path,
    scratch: Path,
    cache: Cache,
) -> list[Measurement]:
    """Measure an artifact in a process of its own; what the probes keep goes to ``out``."""
    rows = scratch / ROWS
    _write_rows(rows, data.tests)
    job = MeasureJob(
        artifact=artifact.resolve(),
        task=data.task.model_dump(mode="json", exclude={"sources"}),
        rows=rows.resolve(),
        reference=reference.resolve() if reference else None,
        out=out.resolve(),
        result=(scratch / RESULT).resolve(),
        probes=probes,
        cache=cache.root.resolve(),
    )
    (scratch / JOB).write_text(job.model_dump_json(), encoding="utf-8")
    _run_worker(scratch / JOB)
    return [Measurement(**item) for item in json.loads(job.result.read_text(encoding="utf-8"))]


def _run_worker(job: Path) -> None:
    command = [sys.executable, "-m", "workbench.worker", str(job)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise WorkerError(f"the measuring process did not end within {PATIENCE_SECONDS} s and was stopped") from None
    if done.returncode == 0:
        return
    lines = done.stderr.strip().splitlines() or ["it said nothing"]
    told = next((line.removeprefix(SAID) for line in lines if line.startswith(SAID)), None)
    if told:
        raise WorkerError(told)
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    raise WorkerError(f"the measuring process died ({how}): {lines[-1][:300]}")


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


def main(path: str) -> int:
    """Carry out a job file; a failure we know is told in one line the parent understands."""
    job = MeasureJob.model_validate_json(Path(path).read_text(encoding="utf-8"))
    try:
        measured = _measure(job)
    except WorkbenchError as error:
        sys.stderr.write(f"{SAID}{' '.join(str(error).split())}\n")
        return 1
    text = json.dumps([found.model_dump(mode="json") for found in measured])
    job.result.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
