"""Versus: two recipes of one task beside each other, whichever they are: answers row by row, times round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from workbench.campaign import Campaign
from workbench.campaign_store import CampaignStore
from workbench.damage import Damage, damage_of
from workbench.delta import MEMORY_WITHIN, Delta
from workbench.errors import StoreError, UnknownNameError
from workbench.evidence import Evidence
from workbench.judged import Judged, judged_once
from workbench.line import Line
from workbench.ratios import Ratio, ratio_of
from workbench.ratios import Verdict as SpeedVerdict
from workbench.run import Run
from workbench.store import RunStore
from workbench.timings import Timings

COUNTED = ("memory", "disk", "parameters", "macs")


class Speed(BaseModel):
    """How many times as fast the second is as the first, from one campaign that timed both."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    campaign: str
    first_ms: float
    second_ms: float
    ratio: Ratio
    verdict: SpeedVerdict


class Versus(BaseModel):
    """The second recipe beside the first, which stands where otherwise the baseline stands.

    ``seeds`` are those that both were finished with; only these are judged. What could not be told is absent, and
    ``remarks`` say why.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    first: str
    second: str
    seeds: tuple[int, ...]
    judged: Judged | None
    damage: Damage | None
    speed: Speed | None
    counted: tuple[Delta, ...]
    remarks: tuple[str, ...]


def versus(evidence: Evidence, task: str, first: str, second: str, store: RunStore) -> Versus:
    """Put a recipe beside another; every flip is told with its text."""
    pairs = seed_pairs(evidence.runs, task, first, second)
    lines = {line.recipe: line for line in evidence.comparison().of_task(task)}
    judged, damage, remarks = _answers(pairs, store)
    speed, untimed = _speed(evidence.campaigns, pairs, store)
    return Versus(
        task=task,
        first=first,
        second=second,
        seeds=tuple(ours.seed for ours, _ in pairs),
        judged=judged,
        damage=damage,
        speed=speed,
        counted=tuple(_counted(lines.get(first), lines.get(second))),
        remarks=(*remarks, *untimed),
    )


def seed_pairs(runs: Sequence[Run], task: str, first: str, second: str) -> list[tuple[Run, Run]]:
    """The finished runs of the second recipe, each beside the first's of the same seed."""
    done = {(run.recipe.name, run.seed): run for run in runs if run.task == task and not run.failure}
    seeds = sorted(seed for recipe, seed in done if recipe == second and (first, seed) in done)
    return [(done[second, seed], done[first, seed]) for seed in seeds]


def _answers(pairs: Sequence[tuple[Run, Run]], store: RunStore) -> tuple[Judged | None, Damage | None, list[str]]:
    if not pairs:
        return None, None, ["no seed was finished with both, so their answers cannot be compared"]
    try:
        return judged_once(pairs, store), damage_of(pairs, store), []
    except (StoreError, UnknownNameError) as error:
        return None, None, [f"their answers cannot be compared: {error}"]


def _speed(
    campaigns: Sequence[Campaign], pairs: Sequence[tuple[Run, Run]], store: RunStore
) -> tuple[Speed | None, list[str]]:
    """What the newest campaign says that timed both with one seed."""
    for campaign in reversed(campaigns):
        for ours, theirs in pairs:
            found, remarks = _timed(campaign, ours, theirs, store)
            if found or remarks:
                return found, remarks
    return None, ["no campaign timed both, so nothing is said of their speed: workbench measure times them"]


def _timed(campaign: Campaign, ours: Run, theirs: Run, store: RunStore) -> tuple[Speed | None, list[str]]:
    mine, other = campaign.entry_of(ours.id), campaign.entry_of(theirs.id)
    values = [entry.measured("latency") if entry else None for entry in (other, mine)]
    if not mine or not other or not values[0] or not values[1]:
        return None, []
    try:
        timings = Timings.read(CampaignStore(store).folder(campaign.id))
    except StoreError as error:
        return None, [f"their speed cannot be compared: {error}"]
    ratio = ratio_of(timings.log_ratios(other.name, mine.name))
    if ratio is None:
        return None, ["their speed cannot be compared: fewer than two processes timed both"]
    trusted = campaign.control and campaign.trusts(mine) and campaign.trusts(other)
    word = ratio.verdict_beside(campaign.control) if campaign.control and trusted else "unclear"
    facts = {"campaign": campaign.id, "ratio": ratio, "verdict": word}
    return Speed(first_ms=values[0].value, second_ms=values[1].value, **facts), []


def _counted(first: Line | None, second: Line | None) -> Iterator[Delta]:
    for axis in COUNTED if first and second else ():
        theirs, ours = first.delta(axis) if first else None, second.delta(axis) if second else None
        if theirs and ours:
            within = MEMORY_WITHIN if axis == "memory" else 0.0
            yield Delta.counted(axis, ours.unit, ours.value, theirs.value, within)
