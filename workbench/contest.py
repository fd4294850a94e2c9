"""Contest: the encoders that a campaign measures beside each other, and the texts it measures them on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.campaign import TWIN
from workbench.coordinator import Field
from workbench.errors import StoreError, UsageError
from workbench.files import hash_of
from workbench.kept_rows import read_rows
from workbench.predictions import read_predictions
from workbench.recipe import BASELINE
from workbench.run import Run
from workbench.run_index import RunHead, RunIndex
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.tasks.task import Row


@dataclass(frozen=True)
class Contestant:
    """An artifact under a name of its own."""

    name: str
    run: Run
    artifact: Path
    predictions: Path

    @property
    def artifact_hash(self) -> str:
        """A hash of everything in the artifact, as its record tells."""
        return hash_of(self.run.artifact.files if self.run.artifact else {})

    def kept_logits(self, ids: Sequence[str]) -> list[NDArray[np.float32]]:
        """What the quality run answered to some rows."""
        known = {
            name: row
            for part in read_predictions(self.predictions)
            for name, row in zip(part.ids, part.logits, strict=True)
        }
        missing = [name for name in ids if name not in known]
        if missing:
            raise StoreError(f"{self.predictions}: it has no answer to row {missing[0]!r}; the run is damaged")
        return [known[name] for name in ids]


@dataclass(frozen=True)
class Contest:
    """Contestants of one task and seed that answered the same rows; the baseline is entered twice."""

    contestants: tuple[Contestant, ...]
    rows: tuple[Row, ...]

    @property
    def baseline(self) -> Contestant:
        """What the others are measured against."""
        return self.contestants[0]

    @property
    def field(self) -> Field:
        """What measuring needs to know of it."""
        artifacts = {contestant.name: contestant.artifact for contestant in self.contestants}
        return Field(artifacts, [row.texts for row in self.rows])


def contest_of(runs: Sequence[Run], store: RunStore, texts: int) -> Contest:
    """Enter runs and their baseline; runs that cannot stand beside each other are refused in words."""
    done = _comparable(runs)
    baseline = next((run for run in done if run.is_baseline), None) or _baseline_of(done[0], store)
    others = [run for run in done if not run.is_baseline]
    names = [BASELINE, TWIN, *_names(others)]
    contestants = tuple(
        Contestant(name, run, store.folder(run.id) / ARTIFACT, store.folder(run.id) / PREDICTIONS)
        for name, run in zip(names, (baseline, baseline, *others), strict=True)
    )
    tests = read_rows(store.rows_file(baseline.data.fingerprint))
    return Contest(contestants, spread_over_lengths([row for part in tests.values() for row in part], texts))


def spread_over_lengths(rows: Sequence[Row], count: int) -> tuple[Row, ...]:
    """Rows whose lengths are distributed like those of all: evenly spaced ones of the rows in order of length."""
    ordered = sorted(rows, key=lambda row: (sum(map(len, row.texts)), row.id))
    chosen = min(count, len(ordered))
    places = ((np.arange(chosen) + 0.5) * len(ordered) / chosen).astype(int)
    return tuple(ordered[place] for place in places)


def _comparable(runs: Sequence[Run]) -> list[Run]:
    distinct = list({run.id: run for run in runs}.values())
    for run in distinct:
        if run.failure:
            raise UsageError(f"run {run.id} failed ({run.failure.message}); there is nothing to measure")
    first = distinct[0]
    for other in distinct[1:]:
        if other.task != first.task or other.data.fingerprint != first.data.fingerprint:
            raise UsageError(
                f"{first.id} answers {first.task} and {other.id} {other.task} on other rows; "
                "measure runs of different tasks or rows one task at a time"
            )
        if other.seed != first.seed:
            raise UsageError(f"{first.id} and {other.id} have different seeds; measure one seed at a time")
    return distinct


def kept_baseline(run: Run, store: RunStore) -> Run | None:
    """The baseline that a run is compared with: of the same study, task, rows and seed; absent if none is kept.

    Where a study was changed and run again there may be several: then the newest of the same fine-tuned base.
    """
    heads, _ = RunIndex(store).heads()
    group = RunHead.of(run.id, run).group
    fitting, _ = store.runs_of(
        head.id for head in heads if head.is_baseline and head.status == "done" and head.group == group
    )
    alike = [other for other in fitting if run.base and other.base and other.base.key == run.base.key]
    return next(reversed(alike or fitting), None)


def _baseline_of(run: Run, store: RunStore) -> Run:
    found = kept_baseline(run, store)
    if found is None:
        raise UsageError(
            f"run {run.id} has no baseline in {store.root}; run its study again, or name the store that holds it"
        )
    return found


def _names(runs: Sequence[Run]) -> list[str]:
    recipes = [run.recipe.name for run in runs]
    return [run.recipe.name if recipes.count(run.recipe.name) == 1 else run.id for run in runs]
