"""Records of runs and campaigns that nobody made, for tests of what is done with records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.campaign import TWIN, Campaign, Entry
from workbench.campaign_store import CampaignStore
from workbench.compare import Comparison
from workbench.delta import Delta
from workbench.judged import Judged
from workbench.kept_rows import keep_rows
from workbench.line import Line
from workbench.predictions import Predictions, write_predictions
from workbench.ratios import Ratio
from workbench.run import Run
from workbench.store import PREDICTIONS, RunStore
from workbench.tasks.task import Row
from workbench.timings import Timings

MACHINE = {
    **{"system": "Linux 6.8", "machine": "x86_64", "python": "3.11", "cores": 2, "cpu": "Xeon"},
    **{"flags": ["avx2", "avx512_vnni"], "versions": {"torch": "2"}},
}
UNITS = {"throughput": ("samples/s", "higher"), "memory": ("bytes", "lower")}
EVEN = Ratio(value=1.0, low=0.99, high=1.01, processes=3)


def a_run(run_id: str = "reviews-baseline", recipe: str = "baseline", **changes: Any) -> Run:
    """A finished run of a study ``s`` on a task ``reviews``."""
    steps = [] if recipe == "baseline" else [{"use": "layer-drop", "options": {"keep": [0]}}]
    facts: dict[str, Any] = {
        "id": run_id,
        "fingerprint": "f" * 64,
        "study": "s",
        "recipe": {"name": recipe, "steps": steps},
        "task": "reviews",
        "metrics": ["accuracy"],
        "seed": 0,
        "created": "2026-01-01T00:00:00.000+00:00",
        "command": "workbench run s.yaml",
        "environment": MACHINE,
        "data": {"source": "files", "fingerprint": "rows", "rows": {"train": 10, "test": 2}},
    }
    return Run.model_validate({**facts, **changes})


def an_entry(name: str, ratio: Ratio | None = None, measured: dict[str, float] | None = None, **changes: Any) -> Entry:
    """What a campaign found out about one encoder; by default it was timed and weighed and answered rightly."""
    values = {"latency": 12.5, "memory": 64e6} if measured is None else measured
    found = [
        {"metric": metric, "unit": unit, "better": better, "values": [value]}
        for metric, value in values.items()
        for unit, better in [UNITS.get(metric, ("ms", "lower"))]
    ]
    facts: dict[str, Any] = {
        **{"name": name, "run": f"run-of-{name}", "recipe": name, "artifact": "a", "runtime": "torch"},
        **{"measurements": found, "ratio": ratio, "end_to_end": ratio},
        "answers": {"timed": 8, "differing": 0, "beyond_rounding": 0},
    }
    return Entry.model_validate({**facts, **changes})


def a_failed_entry(name: str, failure: str) -> Entry:
    return an_entry(name, measured={}, answers=None, failure=failure)


def a_round(number: int = 0, **changes: Any) -> dict[str, Any]:
    told = {"load": 0.1, "steal_share": 0.0, "others_cores": 0.0, "involuntary_switches": 0}
    return {"process": 0, "round": number, "seconds": 1.0, **told, "quiet": True, "kept": True, **changes}


def a_campaign(*others: Entry, control: Ratio | None = EVEN, **changes: Any) -> Campaign:
    """A baseline, its twin, and others beside them."""
    twin = an_entry(TWIN, control) if control else a_failed_entry(TWIN, "it crashed")
    facts: dict[str, Any] = {
        **{"id": "reviews-1", "created": "2026-01-01T00:00:00.000+00:00", "command": "workbench measure x"},
        **{"task": "reviews", "seed": 0, "rows": "rows", "baseline": "baseline"},
        **{"environment": MACHINE, "settings": {}, "rounds": [a_round()]},
        "entries": (an_entry("baseline", Ratio(value=1, low=1, high=1, processes=3)), twin, *others),
        **{"mean_tokens": 21.0, "raw_kept": True, "cost": {"wall_seconds": 9.0, "cpu_seconds": 0.5}},
    }
    return Campaign.model_validate({**facts, **changes})


SIZES = {"disk": "bytes", "parameters": "count", "macs": "MACs", "memory": "bytes"}
LABELS = ("negative", "positive")


def observed(**values: float) -> list[dict[str, Any]]:
    """Measurements of a run by their names, in which ``__`` stands for a slash."""
    found = []
    for name, value in values.items():
        metric = name.replace("__", "/")
        unit = SIZES.get(metric.partition("/")[0], "score")
        better = "higher" if unit == "score" else "lower"
        found.append({"metric": metric, "unit": unit, "better": better, "values": [value]})
    return found


def a_step(seconds: float = 1.0, **values: float) -> dict[str, Any]:
    """A step that was carried out, and what was measured after it."""
    cost = {"wall_seconds": seconds, "cpu_seconds": 2 * seconds}
    facts = {"use": "layer-drop", "options": {}, "provider": "p", "version": "1", "detail": {}, "cost": cost}
    return {**facts, "measurements": observed(**values)}


def a_failed_run(run_id: str, recipe: str, message: str, **changes: Any) -> Run:
    return a_run(run_id, recipe, failure={"stage": "apply", "message": message}, **changes)


def a_ratio(value: float, reach: float = 0.02, processes: int = 5) -> Ratio:
    """A ratio whose interval reaches by a share to either side."""
    return Ratio(value=value, low=value / (1 + reach), high=value * (1 + reach), processes=processes)


def answers(both: int, mended: int, broken: int, neither: int) -> tuple[Predictions, Predictions]:
    """Our answers and the baseline's to rows that both, only we, only the baseline, and neither have right.

    The rows that the baseline has right come first, so that one baseline serves several of ours.
    """
    counts = [both, broken, mended, neither]
    truth = np.arange(sum(counts)) % 2
    ours = np.where(np.repeat([1, 0, 1, 0], counts), truth, 1 - truth)
    base = np.where(np.repeat([1, 1, 0, 0], counts), truth, 1 - truth)
    return answered(ours, truth, sure=1.5), answered(base, truth)


def answered(guesses: Sequence[int], truth: Sequence[int], labels: int = 2, sure: float = 2.0) -> Predictions:
    """Answers to rows ``r0``, ``r1`` and so on, each as sure as the other."""
    logits = (sure * np.eye(labels)[np.asarray(guesses)]).astype(np.float32)
    ids = [f"r{row}" for row in range(len(truth))]
    return Predictions("test", ids, np.asarray(truth).tolist(), np.asarray(guesses).tolist(), list(logits))


def keep_run(store: RunStore, run: Run, given: Predictions | None = None) -> Run:
    """Keep a record, and the answers that were judged, where there are some."""
    with store.writing(run.id) as folder:
        if given:
            write_predictions(folder / PREDICTIONS, [given])
        store.keep(run, folder)
    return run


def keep_study(
    store: RunStore,
    recipes: Mapping[str, tuple[int, int]],
    tasks: Sequence[str] = ("reviews",),
    seeds: Sequence[int] = (0,),
    study: str = "s",
    **changes: Any,
) -> list[Run]:
    """Keep a study of 400 rows a task, of which the baseline has 320 right.

    ``recipes`` are named with how many of them they mend and break. Runs are called TASK-RECIPE-sSEED, with the study
    before it unless that is ``s``.
    """
    store.prepare()
    kept = []
    for task in tasks:
        texts = {"test": tuple(Row(f"r{row}", (f"text {row} of {task}",), row % 2) for row in range(400))}
        keep_rows(store.rows_file(f"rows of {task}"), texts)
        for seed in seeds:
            for place, (recipe, counts) in enumerate({"baseline": (0, 0), **recipes}.items()):
                facts = {
                    "task": task,
                    "seed": seed,
                    "study": study,
                    "created": f"2026-01-01T00:00:{place:02}.000+00:00",
                }
                run_id = f"{'' if study == 's' else f'{study}-'}{task}-{recipe}-s{seed}"
                kept.append(_keep_variant(store, run_id, recipe, place, counts, {**facts, **changes}))
    return kept


def _keep_variant(
    store: RunStore, run_id: str, recipe: str, place: int, counts: tuple[int, int], changes: dict[str, Any]
) -> Run:
    mended, broken = counts
    ours, base = answers(320 - broken, mended, broken, 80 - mended)
    size = 100e6 / (1 + place)
    sizes = {"disk": size, "parameters": size / 4, "parameters__zeroed": 0.0, "macs": size}
    agreement = {} if recipe == "baseline" else {"agreement": 1 - (mended + broken) / 400}
    rows = f"rows of {changes['task']}"
    facts = {
        "data": {"source": "files", "fingerprint": rows, "rows": {"test": 400}, "labels": LABELS},
        "artifact": {"runtime": "torch", "portable": True, "files": {}},
        "measurements": observed(accuracy=0.8 + (mended - broken) / 400, **agreement, **sizes),
        "steps": [] if recipe == "baseline" else [a_step(2.0, accuracy=0.7, disk=size)],
    }
    given = base if recipe == "baseline" else ours
    return keep_run(store, a_run(run_id, recipe, **{**facts, **changes}), given)


def keep_timings(
    store: RunStore, runs: Sequence[Run], speeds: Mapping[str, float], calls: int = 64, **changes: Any
) -> Campaign:
    """Keep a campaign over the runs of one task and seed; ``speeds`` say how many times faster than 20 ms each is."""
    entries = []
    table = []
    for run in runs:
        faster = speeds.get(run.recipe.name, 1.0)
        names = ["baseline", TWIN] if run.is_baseline else [run.recipe.name]
        for name in names:
            measured = {"latency": 20 / faster, "memory": 200e6 / faster}
            ratio = EVEN if name == TWIN else a_ratio(1, 0.0) if run.is_baseline else a_ratio(faster)
            entry = an_entry(name, ratio, measured, run=run.id, recipe=run.recipe.name)
            latency = entry.measurements[0].model_copy(update={"interval": (19 / faster, 21 / faster)})
            entries.append(entry.model_copy(update={"measurements": (latency, *entry.measurements[1:])}))
            table += [_a_call(name, number, 20e6 / faster) for number in range(calls)]
    task = runs[0].task
    facts = {"id": f"{task}-1", "task": task, "entries": entries, "rows": runs[0].data.fingerprint}
    campaign = Campaign.model_validate({**a_campaign().model_dump(), **facts, **changes})
    return CampaignStore(store).keep(campaign, Timings.of(table))


def _a_call(entry: str, number: int, nanoseconds: float) -> dict[str, object]:
    facts = {"entry": entry, "process": number % 2, "sort": "natural", "round": number // 8, "place": number % 8}
    spread = round(nanoseconds * (0.9 + 0.2 * (number % 8) / 7))
    counts = {"text": number % 8, "samples": 1, "tokens": 21, "tokenize_ns": 50_000, "model_ns": spread}
    return {**facts, **counts, "kept": True}


def a_judged(**changes: Any) -> Judged:
    """A judgement of 400 rows: a loss of 1 point that may be 3 or none."""
    facts: dict[str, Any] = {
        **{"metric": "accuracy", "rows": 400, "seeds": (0,), "ours": 0.79, "base": 0.8, "low": -0.03, "high": 0.01},
        **{"alone": (0.75, 0.83), "p": 0.3, "test": "exact McNemar", "agreement": 0.98},
        **{"divergence": 0.01, "divergence_unit": "nats", "largest_share": 0.96, "verdict": "unclear", "flips": ()},
    }
    return Judged.model_validate({**facts, **changes})


def a_quality(value: float, reach: float | None = 0.01, base: float | None = 0.8, **changes: Any) -> Delta:
    """A quality with an interval beside its baseline, and one three times as wide by itself."""
    ends: dict[str, Any] = {}
    if reach is not None:
        ends = {"low": value - reach, "high": value + reach, "alone": (value - 3 * reach, value + 3 * reach)}
    facts = {"metric": "accuracy", "unit": "score", "better": "higher", "value": value, "base": base}
    return Delta.model_validate({**facts, **ends, **changes})


def a_time(value: float, reach: float = 0.02, base: float = 20.0, **changes: Any) -> Delta:
    """A latency in ms whose ratio to the baseline's is known within a share, and itself within three times as much."""
    ratio = a_ratio(base / value, reach)
    alone = (value / (1 + 3 * reach), value * (1 + 3 * reach))
    return Delta.timed("latency", "ms", value, base, ratio, ratio.verdict, **{"alone": alone, **changes})


def a_line(recipe: str, quality: Delta | float | None = 0.8, ms: float | None = None, **changes: Any) -> Line:
    """A line of a recipe on a task; plain numbers become deltas with the usual reach."""
    facts: dict[str, Any] = {"task": "reviews", "recipe": recipe, "metric": "accuracy", "seeds": (0,)}
    facts |= {"runs": (f"run-of-{recipe}",), "latency": None if ms is None else a_time(ms)}
    facts["quality"] = a_quality(quality) if isinstance(quality, float) else quality
    if "disk" in changes and not isinstance(changes["disk"], Delta):
        changes["disk"] = Delta.counted("disk", "bytes", changes["disk"], 100e6)
    return Line(**{**facts, **changes})


def a_comparison(*lines: Line, **changes: Any) -> Comparison:
    return Comparison(study="s", lines=lines, **changes)
