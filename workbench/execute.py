"""Execute: the straight line from a plan to kept records: base, apply, save, reload in a fresh process, measure."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from workbench.cache import Cache
from workbench.clock import now
from workbench.encoder import Encoder
from workbench.environment import Environment
from workbench.errors import DEBUG_VARIABLE, StoreError, WorkbenchError, first_line
from workbench.files import is_disk_full
from workbench.finetuned import finetuned_base
from workbench.kept_rows import keep_rows
from workbench.measurement import Measurement
from workbench.plan import Plan, PlannedRun
from workbench.progress import Reporter
from workbench.recipe import BASELINE
from workbench.run import ArtifactRecord, DataRecord, Failure, Run, Stage, StepRecord
from workbench.steps import StepMaker
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.worker import Measurer


@dataclass
class Tally:
    """What became of the runs of a plan, by id."""

    made: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


class StageError(Exception):
    """A run died in a stage; its cause says of what."""

    def __init__(self, stage: Stage, cause: Exception) -> None:
        super().__init__(stage)
        self.stage = stage
        self.cause = cause


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Note in which stage an error came up; strategies are strangers' code and may raise anything."""
    try:
        yield
    except StageError:
        raise
    except Exception as error:
        raise StageError(name, error) from error


@dataclass
class Executor:
    """Carries out the runs of a plan, one after the other, each kept as soon as it is done."""

    plan: Plan
    store: RunStore
    cache: Cache
    progress: Reporter
    command: str

    def run_all(self) -> Tally:
        """Make what is not yet there. A failed run is kept and the next one begins."""
        self.store.prepare()
        for planned in self.plan.runs:
            keep_rows(self.store.rows_file(planned.data.fingerprint), planned.data.tests)
        tally = Tally()
        lost: set[tuple[str, int]] = set()
        for number, planned in enumerate(self.plan.runs, 1):
            label = f"[{number}/{len(self.plan.runs)}] {planned.title}"
            group = (planned.data.task.name, planned.seed)
            if group in lost:
                self.progress.say(f"{label}: left out, because its baseline failed")
                tally.skipped.append(planned.id)
                continue
            self._one(planned, label, tally)
            if planned.id in tally.failed and planned.recipe.name == BASELINE:
                lost.add(group)
        return tally

    def _one(self, planned: PlannedRun, label: str, tally: Tally) -> None:
        with self.store.claim(planned.id):
            if self.store.finished(planned.id):
                self.progress.say(f"{label}: already done")
                tally.there.append(planned.id)
                return
            self.progress.say(label)
            record = self._blank(planned)
            try:
                self._make(planned, record)
                tally.made.append(planned.id)
            except StageError as error:
                if os.environ.get(DEBUG_VARIABLE):
                    traceback.print_exception(error.cause)
                kept = self._keep_failure(record, error)
                self.progress.say(f"  failed in stage '{error.stage}': {_reason(error.cause)}\n  kept as {kept}")
                tally.failed.append(planned.id)

    def _make(self, planned: PlannedRun, blank: Run) -> None:
        with stage("base"):
            base, base_record = finetuned_base(self.plan.base, planned.data, planned.seed, self.cache, self.progress)
        record = blank.model_copy(update={"base": base_record})
        with stage("save"), self.store.writing(planned.id) as folder, self.store.scratch("scratch") as scratch:
            maker = StepMaker(planned, base, scratch, self.progress, self.cache)
            with self._measurer(planned) as measurer:
                encoder, steps = self._all_steps(planned, maker, measurer)
            # What counts is measured in a process that held nothing else.
            with self._measurer(planned) as measurer:
                kept, measured = self._saved_and_measured(planned, encoder, folder, measurer)
            if steps:
                steps[-1] = steps[-1].model_copy(update={"measurements": measured})
            found = {"steps": tuple(steps), "artifact": kept, "measurements": measured}
            self.store.keep(record.model_copy(update=found), folder)

    @contextmanager
    def _measurer(self, planned: PlannedRun) -> Iterator[Measurer]:
        with self.store.scratch("scratch") as scratch, Measurer(planned.data, self.cache, scratch) as measurer:
            yield measurer

    def _all_steps(self, planned: PlannedRun, maker: StepMaker, measurer: Measurer) -> tuple[Encoder, list[StepRecord]]:
        """Apply every step; what each gave is measured at once, and the last one's as the result."""
        encoder, records = maker.base, []
        for number in range(1, len(planned.strategies) + 1):
            with stage("apply"):
                encoder, record = maker.make(number, encoder)
            if number < len(planned.strategies):
                with self.store.scratch("scratch") as folder:
                    _, measured = self._saved_and_measured(planned, encoder, folder, measurer)
                record = record.model_copy(update={"measurements": measured})
            records.append(record)
        return encoder, records

    def _saved_and_measured(
        self, planned: PlannedRun, encoder: Encoder, folder: Path, measurer: Measurer
    ) -> tuple[ArtifactRecord, tuple[Measurement, ...]]:
        artifact = folder / ARTIFACT
        artifact.mkdir()
        manifest = encoder.save(artifact)
        with stage("measure"):
            measured = measurer.measure(artifact, self._reference(planned), planned.study.run_probes, out=folder)
        return ArtifactRecord(runtime=manifest.runtime, portable=manifest.portable, files=manifest.files), measured

    def _reference(self, planned: PlannedRun) -> Path | None:
        if planned.recipe.name == BASELINE:
            return None
        (baseline,) = [
            other
            for other in self.plan.runs
            if other.recipe.name == BASELINE and other.seed == planned.seed and other.data is planned.data
        ]
        return self.store.folder(baseline.id) / PREDICTIONS

    def _blank(self, planned: PlannedRun) -> Run:
        data = planned.data
        return Run(
            id=planned.id,
            fingerprint=planned.fingerprint,
            study=planned.study.name,
            recipe=planned.recipe,
            task=data.task.name,
            metrics=data.task.metrics,
            seed=planned.seed,
            created=now(),
            command=self.command,
            environment=Environment.observe(),
            data=DataRecord(
                source=data.source,
                fingerprint=data.fingerprint,
                rows=data.counts(),
                limit=planned.study.limit,
                labels=data.task.labels,
            ),
        )

    def _keep_failure(self, record: Run, error: StageError) -> str:
        failure = Failure(stage=error.stage, message=_reason(error.cause))
        failed_id = f"{record.id}-failed-{os.urandom(3).hex()}"
        failed = record.model_copy(update={"id": failed_id, "failure": failure})
        try:
            with self.store.writing(failed_id) as folder:
                self.store.keep(failed, folder)
        except OSError as second:
            raise StoreError(
                f"run {record.id} failed ({failure.message}) and its record cannot be written to "
                f"{self.store.root} either ({second.strerror}); make room or choose another --store"
            ) from error.cause
        return failed_id


def _reason(error: Exception) -> str:
    if is_disk_full(error):
        return f"no space left while writing ({first_line(error)}); make room and run the study again"
    if isinstance(error, WorkbenchError):
        return str(error)
    return f"{type(error).__name__}: {first_line(error)}"
