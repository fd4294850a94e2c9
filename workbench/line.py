"""Line: one recipe on one task, over its seeds, beside its baseline: what a row of every table is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from workbench.campaign import Campaign, Entry
from workbench.delta import MEMORY_WITHIN, WORDS, Delta, Scale, averaged
from workbench.judged import Judged
from workbench.measurement import headline_of
from workbench.run import Run
from workbench.statistics import Interval, verdict

ALL_TASKS = "all tasks"
Pairs = Sequence[tuple[Run, Run]]
# Differences of quality below this share of the baseline's are of no consequence to anybody.
QUALITY_WITHIN = 0.01


class Line(BaseModel):
    """What is known of a recipe on a task; what was not measured is absent.

    ``runs`` are the ids of its finished runs, one a seed. ``entry`` is its name in the campaign that timed it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    recipe: str
    control_of: str = ""
    metric: str
    seeds: tuple[int, ...]
    runs: tuple[str, ...]
    runtime: str | None = None
    portable: bool | None = None
    quality: Delta | None = None
    latency: Delta | None = None
    memory: Delta | None = None
    disk: Delta | None = None
    parameters: Delta | None = None
    macs: Delta | None = None
    zeroed: float | None = None
    agreement: float | None = None
    judged: Judged | None = None
    p_adjusted: float | None = None
    campaign: str | None = None
    entry: str | None = None
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()

    def delta(self, axis: str) -> Delta | None:
        """One of the deltas by its name."""
        found = getattr(self, axis)
        return found if isinstance(found, Delta) else None


AXES = ("quality", "latency", "memory", "disk", "parameters", "macs")


def headline(run: Run) -> float | None:
    """The run's headline quality: its first metric, averaged over test parts."""
    return headline_of(run.metrics[0], run.measurements)


def task_line(group: Sequence[Run], pairs: Pairs, judged: Judged | None, campaign: Campaign | None) -> Line:
    """Make the line of all runs of one recipe on one task; ``pairs`` are those that have a baseline."""
    done = [run for run in group if not run.failure]
    settled = {run.seed for run in done}
    artifact = done[-1].artifact if done else None
    return Line(
        task=group[0].task,
        recipe=group[0].recipe.name,
        control_of=group[0].recipe.control_of,
        metric=group[0].metrics[0],
        seeds=tuple(sorted(settled)),
        runs=tuple(run.id for run in sorted(done, key=lambda run: run.seed)),
        runtime=artifact.runtime if artifact else None,
        portable=artifact.portable if artifact else None,
        quality=_quality(done, pairs, judged),
        **{axis: _counted(axis, done, pairs) for axis in ("disk", "parameters", "macs")},
        zeroed=_zeroed(done),
        agreement=_mean(_value(run, "agreement") for run in done),
        judged=judged,
        seconds=sum(step.cost.wall_seconds for run in done for step in run.steps),
        failures=tuple(run.failure.message for run in group if run.failure and run.seed not in settled),
        **(_campaign_facts(done, campaign) if campaign else {}),
    )


def mean_line(lines: Sequence[Line]) -> Line:
    """The mean of one recipe over tasks: qualities as in GLUE, times by their geometric mean."""
    first = lines[0]

    def over(axis: str, scale: Scale = "ratio") -> Delta | None:
        deltas = [delta for delta in (line.delta(axis) for line in lines) if delta]
        return averaged(deltas, scale) if len(deltas) == len(lines) else None

    quality, latency = over("quality", "difference"), over("latency")
    metric = "mean of " + ", ".join(dict.fromkeys(line.metric for line in lines))
    return Line(
        task=ALL_TASKS,
        recipe=first.recipe,
        control_of=first.control_of,
        metric=metric,
        seeds=tuple(sorted({seed for line in lines for seed in line.seeds})),
        runs=tuple(run for line in lines for run in line.runs),
        runtime=first.runtime,
        portable=None if any(line.portable is None for line in lines) else all(line.portable for line in lines),
        quality=_with_verdict(quality, metric) if quality else None,
        latency=_speed_verdict(latency) if latency else None,
        **{axis: _counted_mean(over(axis)) for axis in ("memory", "disk", "parameters", "macs")},
        agreement=_mean(line.agreement for line in lines),
        seconds=sum(line.seconds for line in lines),
        caveats=tuple(f"{line.task}: {caveat}" for line in lines for caveat in line.caveats),
    )


def _quality(done: Sequence[Run], pairs: Pairs, judged: Judged | None) -> Delta | None:
    if judged:
        facts = {"value": judged.ours, "base": judged.base, "verdict": judged.verdict}
        ends = {"low": judged.base + judged.low, "high": judged.base + judged.high, "alone": judged.alone}
        return Delta(metric=judged.metric, unit="score", better="higher", **facts, **ends)
    paired = [(headline(run), headline(base)) for run, base in pairs]
    known = [(ours, base) for ours, base in paired if ours is not None and base is not None]
    value = fmean(ours for ours, _ in known) if known else _mean(headline(run) for run in done)
    if value is None:
        return None
    base = fmean(base for _, base in known) if known else None
    # Beside itself the baseline is where it is, whoever can tell of its answers.
    ends = {"low": value, "high": value} if known and done[0].is_baseline else {}
    return Delta(metric=done[0].metrics[0], unit="score", better="higher", value=value, base=base, **ends)


def _counted(axis: str, done: Sequence[Run], pairs: Pairs) -> Delta | None:
    known = [(_value(run, axis), _value(base, axis)) for run, base in pairs]
    both = [(ours, base) for ours, base in known if ours is not None and base is not None]
    value = fmean(ours for ours, _ in both) if both else _mean(_value(run, axis) for run in done)
    if value is None:
        return None
    unit = next(found.unit for run in done for found in run.measurements if found.metric == axis)
    return Delta.counted(axis, unit, value, fmean(base for _, base in both) if both else None)


def _zeroed(done: Sequence[Run]) -> float | None:
    """The share of parameters that are there and zero."""
    zeroed, whole = (_mean(_value(run, metric) for run in done) for metric in ("parameters/zeroed", "parameters"))
    return zeroed / whole if zeroed is not None and whole else None


def _campaign_facts(done: Sequence[Run], campaign: Campaign) -> dict[str, object]:
    entries = [entry for run in done if (entry := campaign.entry_of(run.id))]
    base = campaign.entry(campaign.baseline)
    if not entries or base is None:
        return {}
    entry = entries[0]
    return {
        "campaign": campaign.id,
        "entry": entry.name,
        "latency": _latency(entry, base, campaign),
        "memory": _memory(entry, base),
    }


def _latency(entry: Entry, base: Entry, campaign: Campaign) -> Delta | None:
    mine, theirs, word = entry.measured("latency"), base.measured("latency"), campaign.verdict(entry)
    if mine is None or theirs is None:
        return None
    noise = campaign.control.noise if campaign.control else 1.0
    alone = (mine.interval[0] / noise, mine.interval[1] * noise) if mine.interval else None
    doubts = {"alone": alone, "doubted": not campaign.trusts(entry)}
    if entry.ratio is not None and word is not None:
        return Delta.timed("latency", "ms", mine.value, theirs.value, entry.ratio, word, noise, **doubts)
    ends = {"low": mine.value, "high": mine.value} if entry == base else {}
    return Delta(metric="latency", unit="ms", better="lower", value=mine.value, base=theirs.value, **ends, **doubts)


def _memory(entry: Entry, base: Entry) -> Delta | None:
    mine, theirs = entry.measured("memory"), base.measured("memory")
    if mine is None:
        return None
    return Delta.counted("memory", "bytes", mine.value, theirs.value if theirs else None, MEMORY_WITHIN)


def _with_verdict(quality: Delta, metric: str) -> Delta:
    named = quality.model_copy(update={"metric": metric})
    if quality.base is None or quality.low is None or quality.high is None:
        return named
    interval = Interval(quality.low - quality.base, quality.high - quality.base)
    return named.model_copy(update={"verdict": verdict(interval, QUALITY_WITHIN * abs(quality.base))})


def _speed_verdict(latency: Delta) -> Delta:
    """The word for the mean; where a campaign is noisy or in doubt, the mean over it is as well."""
    ratio = latency.paired
    if ratio is None or latency.low is None or latency.high is None:
        return latency
    ends = {"low": ratio.value * latency.value / latency.high, "high": ratio.value * latency.value / latency.low}
    word = "unclear" if latency.doubted else WORDS[ratio.model_copy(update=ends).verdict]
    return latency.model_copy(update={"verdict": word})


def _counted_mean(mean: Delta | None) -> Delta | None:
    if mean is None:
        return None
    return Delta.counted(mean.metric, mean.unit, mean.value, mean.base, mean.within or 0.0)


def _value(run: Run, metric: str) -> float | None:
    found = run.measured(metric)
    return found.value if found else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
