"""Caveats: what a reader must know before believing a comparison, in sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from workbench.campaign import Campaign, Entry
from workbench.environment import TIMING_PACKAGES
from workbench.line import Line
from workbench.recipe import BASELINE
from workbench.run import Run
from workbench.settings_apart import made_apart

# Less than this share of exact zeroes comes about by itself.
ZEROED_FROM = 0.07
# Where fewer than this share of answers agree, equal scores hide that other rows are answered well.
HIDDEN_BELOW = 0.95


def line_caveats(line: Line, lines: Sequence[Line]) -> tuple[str, ...]:
    """What to think of one line among all."""
    if line.recipe == BASELINE:
        return ()
    found = (
        _too_few_rows(line),
        _many_looks(line),
        _zeroed(line),
        _hidden_damage(line),
        _control(line, lines),
        _untimed(line, lines),
        _timed_apart(line, lines),
    )
    return tuple(sentence for sentence in found if sentence)


def comparison_caveats(lines: Sequence[Line], runs: Sequence[Run], campaigns: Sequence[Campaign]) -> list[str]:
    """What to think of the whole comparison."""
    used = [campaign for campaign in campaigns if campaign.id in {line.campaign for line in lines}]
    return [
        *_blind_baselines(lines),
        *_few_seeds(lines),
        *made_apart(runs),
        *_mixed_versions(runs),
        *_imported(runs),
        *_of_campaigns(used),
        *_without_int8_instructions(runs, used),
    ]


def _too_few_rows(line: Line) -> str | None:
    judged = line.judged
    if not judged or judged.verdict != "unclear":
        return None
    told = f"quality may lie {100 * judged.low:+.1f} to {100 * judged.high:+.1f} points from the baseline's"
    seeds = f" and {len(judged.seeds)} seeds" if len(judged.seeds) > 1 else ""
    return f"{told}: {judged.rows:,} test rows{seeds} cannot tell such a difference from none"


def _many_looks(line: Line) -> str | None:
    """Whether a difference that one task alone would show is lost among several."""
    judged, quality = line.judged, line.quality
    if not judged or not quality or quality.verdict != "unclear" or judged.verdict == "unclear":
        return None
    return (
        f"by itself its quality would be {judged.verdict}, but looking at several tasks, one such difference "
        f"comes about by chance too often (p {judged.p:.2g}, adjusted {line.p_adjusted or 1.0:.2g})"
    )


def _zeroed(line: Line) -> str | None:
    if line.zeroed is None or line.zeroed < ZEROED_FROM:
        return None
    told = f"{100 * line.zeroed:.0f} % of its parameters are zeroed, not removed"
    return f"{told}: they take their space and time all the same"


def _hidden_damage(line: Line) -> str | None:
    judged = line.judged
    same = line.quality is not None and line.quality.verdict in ("equivalent", "unclear", "better")
    # Scores all differ a little, so nothing can be said of a share of them.
    if not judged or not same or judged.agreement >= HIDDEN_BELOW or judged.divergence_unit != "nats":
        return None
    return (
        f"it answers {100 * (1 - judged.agreement):.1f} % of the test rows otherwise than the baseline, "
        "more than the difference in quality shows"
    )


def _control(line: Line, lines: Sequence[Line]) -> str | None:
    """Whether a distilled student beats the same student without a teacher."""
    control = next((other for other in lines if (other.task, other.control_of) == (line.task, line.recipe)), None)
    if not control or not control.quality or not line.quality or line.quality.surely_beats(control.quality):
        return None
    gap = 100 * (line.quality.value - control.quality.value)
    return (
        f"the teacher's help is not shown: the same recipe without it ({control.recipe}) comes out "
        f"{abs(gap):.1f} points {'lower' if gap > 0 else 'higher'}, which is within doubt or worse"
    )


def _untimed(line: Line, lines: Sequence[Line]) -> str | None:
    others = [other for other in lines if other.task == line.task and other.latency]
    if line.latency or not others or not line.runs:
        return None
    return "it was not timed beside the others: workbench measure RUN times it"


def _timed_apart(line: Line, lines: Sequence[Line]) -> str | None:
    base = next((other for other in lines if (other.task, other.recipe) == (line.task, BASELINE)), None)
    if not line.latency or not base or base.campaign in (None, line.campaign):
        return None
    return "it was timed apart from the others: compare how many times faster it is, not its milliseconds"


def _blind_baselines(lines: Sequence[Line]) -> Iterator[str]:
    """Tasks that the baseline itself has not learnt, so that keeping its quality is keeping little."""
    for task in dict.fromkeys(line.task for line in lines):
        judged = next((line.judged for line in lines if line.task == task and line.judged), None)
        if judged and judged.blind is not None and not judged.beats_blindness:
            yield (
                f"{task}: the baseline ({judged.metric} {100 * judged.base:.1f}) is not shown to be better than giving "
                f"every text the same label ({100 * judged.blind:.1f}), so keeping its quality says little"
            )


def _few_seeds(lines: Sequence[Line]) -> Iterator[str]:
    counts: dict[str, set[int]] = defaultdict(set)
    for line in lines:
        if line.seeds:
            counts[line.task].add(len(line.seeds))
    single = [task for task, found in counts.items() if found == {1}]
    if single:
        where = "" if len(single) == len(counts) else f" on {', '.join(single)}"
        yield (
            f"one seed only{where}: the intervals tell of other test rows, not of training again, "
            "which often moves quality by a point or more"
        )
    for task, found in counts.items():
        if len(found) > 1:
            yield (
                f"{task}: the recipes have different numbers of seeds; "
                "only the seeds that a baseline has too are compared"
            )


def _mixed_versions(runs: Sequence[Run]) -> Iterator[str]:
    for name in TIMING_PACKAGES:
        known = sorted({run.environment.versions[name] for run in runs if name in run.environment.versions})
        if len(known) > 1:
            yield f"the runs were made with different versions of {name} ({', '.join(known)})"


def _imported(runs: Sequence[Run]) -> Iterator[str]:
    machines = {run.environment.machine_key() for run in runs}
    if len(machines) > 1:
        yield (
            f"the runs were made on {len(machines)} different machines; sizes and answers can be compared, "
            "the time it took to make them cannot"
        )


def _of_campaigns(campaigns: Sequence[Campaign]) -> Iterator[str]:
    for campaign in campaigns:
        if campaign.fault:
            yield f"speed on {campaign.task} is noisy: {campaign.fault}; so only what differs by more than that is told"
        loud = sum(not found.quiet and found.kept for found in campaign.rounds)
        if loud:
            many = f"{loud} of {len(campaign.rounds)} rounds"
            yield f"speed on {campaign.task}: {many} were noisy and counted all the same"
        for entry in campaign.entries:
            if entry.ratio and entry.name != campaign.baseline and not campaign.trusts(entry) and campaign.control:
                yield f"speed on {campaign.task}: {entry.name} is unclear, for {_wrong_answers(entry)}"


def _wrong_answers(entry: Entry) -> str:
    if entry.answers is None:
        return f"its timed answers could not be checked: {entry.unchecked or 'nobody knows why'}"
    return f"{entry.answers.beyond_rounding} of {entry.answers.timed} timed answers are not those that were judged"


def _without_int8_instructions(runs: Sequence[Run], campaigns: Sequence[Campaign]) -> Iterator[str]:
    """What to think of timings of int8, where there is int8 and a processor without instructions for it."""
    int8 = {run.id for run in runs if _may_be_int8(run)}
    timed = [campaign for campaign in campaigns if int8 & {entry.run for entry in campaign.entries}]
    yield from dict.fromkeys(doubt for campaign in timed if (doubt := campaign.environment.int8_doubt()))


def _may_be_int8(run: Run) -> bool:
    """Whether a run multiplies by weights of int8; one whose size was not measured may do so.

    Tables are unsigned bytes, which are looked up and not multiplied.
    """
    sorts = [found.metric for found in run.measurements if found.metric.startswith("bytes/")]
    return not run.is_baseline and (not sorts or "bytes/int8" in sorts)
