"""Summary: what the timed calls of one contestant come to."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from workbench.answers import compare_answers
from workbench.campaign import Answers, Entry
from workbench.contest import Contest, Contestant
from workbench.errors import StoreError
from workbench.logbook import Logbook, Seen
from workbench.measurement import Measurement
from workbench.ratios import interval_over_processes, ratio_of
from workbench.timings import Timings

PARTS = {"latency": "model", "tokenization": "tokenize", "end-to-end": "both"}


def entry_of(
    contestant: Contestant, contest: Contest, log: Logbook, timings: Timings, memory: tuple[Measurement, ...]
) -> Entry:
    """Sum up one contestant; one that failed has its failure and no numbers of time."""
    seen = log.seen[contestant.name]
    blank = Entry(
        name=contestant.name,
        run=contestant.run.id,
        recipe=contestant.run.recipe.name,
        artifact=contestant.artifact_hash,
        runtime=contestant.run.artifact.runtime if contestant.run.artifact else "unknown",
        measurements=memory,
        failure=seen.failure,
    )
    if seen.failure or not seen.samples:
        return blank
    baseline = contest.baseline.name
    return blank.model_copy(
        update={
            "measurements": (*times_of(contestant.name, seen, timings), *memory),
            "ratio": ratio_of(timings.log_ratios(baseline, contestant.name)),
            "end_to_end": ratio_of(timings.log_ratios(baseline, contestant.name, "both")),
            **_checked(contestant, contest, seen),
        }
    )


def times_of(name: str, seen: Seen, timings: Timings) -> tuple[Measurement, ...]:
    """Median calls with their intervals, tails where there are calls enough, throughput, cold start, processor time."""
    found = [in_milliseconds(metric, timings.process_medians(name, what)) for metric, what in PARTS.items()]
    for share in (90, 99):
        value = timings.percentile(name, share)
        if value is not None:
            found.append(Measurement.single(f"latency/p{share}", "ms", "lower", value))
    rates = timings.samples_a_second(name)
    found.append(Measurement(metric="throughput", unit="samples/s", better="higher", values=tuple(rates)))
    for metric, values in (("cold-start/load", seen.load_ns), ("cold-start/first-call", seen.first_call_ns)):
        found.append(in_milliseconds(metric, [value / 1e6 for value in values]))
    cpu = 1000 * seen.cpu_seconds / seen.samples
    found.append(Measurement.single("processor-time", "s per 1,000 samples", "lower", cpu))
    return (*found, *_shapes(name, timings))


def in_milliseconds(metric: str, values: Sequence[float]) -> Measurement:
    """One value for each process, with an interval over processes where there are several."""
    spread = interval_over_processes([[math.log(value)] for value in values])
    interval = (math.exp(spread[0] - spread[1]), math.exp(spread[0] + spread[1])) if spread else None
    return Measurement(metric=metric, unit="ms", better="lower", values=tuple(values), interval=interval)


def _shapes(name: str, timings: Timings) -> list[Measurement]:
    calls = timings.calls(name, "grid")
    found = []
    for (batch, length), group in calls.groupby(["samples", "tokens"]):
        medians = group["model_ns"].groupby(group["process"]).median() / 1e6
        found.append(in_milliseconds(f"latency/{batch}x{length}", [float(value) for value in medians]))
    return found


def _checked(contestant: Contestant, contest: Contest, seen: Seen) -> dict[str, Answers | str]:
    """Compare with the quality run; answers that changed from call to call count as wrong ones."""
    try:
        judged = contestant.kept_logits([row.id for row in contest.rows])
    except StoreError as error:
        return {"unchecked": str(error)}
    found = compare_answers(np.asarray(seen.logits).tolist(), judged)
    wrong = min(found.timed, found.beyond_rounding + seen.unsteady)
    return {"answers": found.model_copy(update={"beyond_rounding": wrong})}
