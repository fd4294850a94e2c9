"""Comparison: a study's runs beside their baselines, computed from records alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Self

from workbench.recipe import BASELINE
from workbench.run import Run


@dataclass(frozen=True)
class Line:
    """One recipe on one task, over its seeds; what was not measured is absent."""

    task: str
    recipe: str
    metric: str
    seeds: tuple[int, ...]
    quality: float | None
    share: float | None
    agreement: float | None
    disk_bytes: float | None
    disk_ratio: float | None
    parameters: float | None
    parameters_ratio: float | None
    seconds: float
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """All lines of a study, the baseline of each task first."""

    study: str
    lines: tuple[Line, ...]

    @classmethod
    def of(cls, study: str, runs: Iterable[Run]) -> Self:
        """Compare the runs of one study; baselines and variants are paired by task and seed.

        Where a task was run on different rows or a run made anew, the newest counts.
        """
        groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in _current([run for run in runs if run.study == study]):
            groups[run.task, run.recipe.name].append(run)
        baselines = {
            (run.task, run.seed): run
            for group in groups.values()
            for run in group
            if run.is_baseline and not run.failure
        }
        lines = [_line(group, baselines) for group in groups.values()]
        return cls(study, tuple(sorted(lines, key=lambda line: (line.task, line.recipe != BASELINE))))


def _current(runs: list[Run]) -> list[Run]:
    """The runs on the rows that each task was last run on, and of those made twice the newest that was done."""
    oldest_first = sorted(runs, key=lambda run: run.created)
    rows = {run.task: run.data.fingerprint for run in oldest_first}
    alike = [run for run in oldest_first if run.data.fingerprint == rows[run.task]]
    done = {(run.task, run.recipe.name, run.seed): run for run in alike if not run.failure}
    return [run for run in alike if run.failure or done[run.task, run.recipe.name, run.seed] is run]


def headline(run: Run) -> float | None:
    """The run's headline quality: its first metric, averaged over test parts."""
    name = run.metrics[0]
    values = [found.value for found in run.measurements if found.metric.partition("/")[0] == name]
    return fmean(values) if values else None


def _line(group: list[Run], baselines: dict[tuple[str, int], Run]) -> Line:
    done = [run for run in group if not run.failure]
    pairs = [(run, baselines[run.task, run.seed]) for run in done if (run.task, run.seed) in baselines]
    settled = {run.seed for run in done}
    return Line(
        task=group[0].task,
        recipe=group[0].recipe.name,
        metric=group[0].metrics[0],
        seeds=tuple(sorted(settled)),
        quality=_mean(headline(run) for run in done),
        share=_ratio((headline(run), headline(base)) for run, base in pairs),
        agreement=_mean(_value(run, "agreement") for run in done),
        disk_bytes=_mean(_value(run, "disk") for run in done),
        disk_ratio=_ratio((_value(base, "disk"), _value(run, "disk")) for run, base in pairs),
        parameters=_mean(_value(run, "parameters") for run in done),
        parameters_ratio=_ratio((_value(base, "parameters"), _value(run, "parameters")) for run, base in pairs),
        seconds=sum(step.cost.wall_seconds for run in done for step in run.steps),
        failures=tuple(run.failure.message for run in group if run.failure and run.seed not in settled),
    )


def _value(run: Run, metric: str) -> float | None:
    found = run.measured(metric)
    return found.value if found else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _ratio(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    known = [(above, below) for above, below in pairs if above is not None and below]
    if not known:
        return None
    return fmean(above for above, _ in known) / fmean(below for _, below in known)
