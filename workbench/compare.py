"""Comparison: a study's runs beside their baselines, with doubts, computed from records alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict

from workbench.campaign import Campaign
from workbench.caveats import comparison_caveats, line_caveats
from workbench.judged import Judged
from workbench.line import Line, mean_line, task_line
from workbench.pareto import Standing, standings
from workbench.recipe import BASELINE
from workbench.run import Run
from workbench.statistics import DOUBT, holm

JudgedLines = Mapping[tuple[str, str], Judged]
FRONT_AXES = ("quality", "latency", "disk")


class Comparison(BaseModel):
    """All lines of a study, the baseline of each task first; with several tasks, their means in ``means``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: str
    lines: tuple[Line, ...]
    means: tuple[Line, ...] = ()
    caveats: tuple[str, ...] = ()
    campaigns: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        study: str,
        runs: Iterable[Run],
        judged: JudgedLines | None = None,
        campaigns: Sequence[Campaign] = (),
        remarks: Sequence[str] = (),
    ) -> Self:
        """Compare the runs of one study; baselines and variants are paired by task and seed.

        Where a task was run on different rows or a run made anew, the newest counts. ``judged`` is what the answers
        came to, by task and recipe; ``campaigns`` are the timings, newest last, of one machine.
        """
        current = current_runs([run for run in runs if run.study == study])
        lines = _lines(current, judged or {}, campaigns)
        lines = [line.model_copy(update={"caveats": line_caveats(line, lines)}) for line in lines]
        means = _means(lines)
        return cls(
            study=study,
            lines=tuple(lines),
            means=tuple(means),
            caveats=(*remarks, *comparison_caveats(lines, current, campaigns)),
            campaigns=tuple(campaign.id for campaign in campaigns),
        )

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order of the lines."""
        return list(dict.fromkeys(line.task for line in self.lines))

    def of_task(self, task: str | None) -> list[Line]:
        """The lines of one task; without a name, those of the only task or the means over all."""
        if task is None:
            return list(self.lines if len(self.tasks) < 2 else self.means)
        return [line for line in self.lines if line.task == task]

    def front(self, task: str | None = None, axes: Sequence[str] = FRONT_AXES) -> dict[str, Standing]:
        """Where each recipe of a task stands among all, by its name; those not measured on all axes are left out."""
        return standings(self.of_task(task), axes)


def current_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs on the rows that each task was last run on, and of those made twice the newest that was done.

    They come in the order they were given.
    """
    oldest_first = sorted(runs, key=lambda run: run.created)
    rows = {run.task: run.data.fingerprint for run in oldest_first}
    alike = [run for run in oldest_first if run.data.fingerprint == rows[run.task]]
    done = {(run.task, run.recipe.name, run.seed): run for run in alike if not run.failure}
    counting = {run.id for run in alike if run.failure or done[run.task, run.recipe.name, run.seed] is run}
    return [run for run in runs if run.id in counting]


def pairs_of(runs: Iterable[Run]) -> dict[tuple[str, str], list[tuple[Run, Run]]]:
    """Each finished run beside the baseline of its task and seed, by task and recipe."""
    done = [run for run in runs if not run.failure]
    baselines = {(run.task, run.seed): run for run in done if run.is_baseline}
    pairs: dict[tuple[str, str], list[tuple[Run, Run]]] = defaultdict(list)
    for run in done:
        if (run.task, run.seed) in baselines:
            pairs[run.task, run.recipe.name].append((run, baselines[run.task, run.seed]))
    return dict(pairs)


def _lines(runs: Sequence[Run], judged: JudgedLines, campaigns: Sequence[Campaign]) -> list[Line]:
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.task, run.recipe.name].append(run)
    pairs = pairs_of(runs)
    chosen = {task: _campaigns_of(task, runs, campaigns) for task, _ in groups}
    lines = [
        task_line(group, pairs.get(key, []), judged.get(key), _measuring(group, chosen[key[0]]))
        for key, group in groups.items()
    ]
    return _adjusted(sorted(lines, key=lambda line: (line.task, line.recipe != BASELINE)))


def _campaigns_of(task: str, runs: Sequence[Run], campaigns: Sequence[Campaign]) -> list[Campaign]:
    """The campaigns of a task that may stand in one table, the one to prefer first.

    That is the newest of those that measured most of the runs beside each other, rather one that timed them, and
    with a sound control. A later look at a few runs, or with other threads, does not tear the table apart.
    """
    ids = {run.id for run in runs if run.task == task}
    found = [(len(ids & _measured(campaign)), campaign) for campaign in campaigns]
    newest_first = [(count, campaign) for count, campaign in reversed(found) if count]
    ordered = sorted(newest_first, key=lambda item: (not item[1].was_timed, item[1].fault is not None, -item[0]))
    chosen = [campaign for _, campaign in ordered]
    return [campaign for campaign in chosen if campaign.settings.threads == chosen[0].settings.threads]


def _measuring(group: Sequence[Run], campaigns: Sequence[Campaign]) -> Campaign | None:
    """The first campaign that measured a run of the group."""
    ids = {run.id for run in group}
    return next((campaign for campaign in campaigns if ids & _measured(campaign)), None)


def _measured(campaign: Campaign) -> set[str]:
    return {entry.run for entry in campaign.entries if entry.measurements}


def _adjusted(lines: list[Line]) -> list[Line]:
    """Adjust p over the tasks of each recipe; what several looks make likely to be seen by chance is unclear."""
    tests: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines:
        if line.judged and line.recipe != BASELINE:
            tests[line.recipe][line.task] = line.judged.p
    found = []
    for line in lines:
        adjusted = holm(tests[line.recipe]).get(line.task) if line.recipe in tests else None
        changes: dict[str, object] = {"p_adjusted": adjusted}
        if adjusted is not None and adjusted >= DOUBT and len(tests[line.recipe]) > 1 and line.quality:
            told = line.quality.verdict in ("better", "worse")
            changes["quality"] = line.quality.model_copy(update={"verdict": "unclear"}) if told else line.quality
        found.append(line.model_copy(update=changes))
    return found


def _means(lines: Sequence[Line]) -> list[Line]:
    """The means of the recipes that every task has, where there are several tasks."""
    tasks = {line.task for line in lines}
    if len(tasks) < 2:
        return []
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        if line.quality:
            groups[line.recipe].append(line)
    return [mean_line(group) for group in groups.values() if len(group) == len(tasks)]
