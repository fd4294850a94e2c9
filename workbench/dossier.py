"""Dossier: everything a report of one study shows, gathered from the store; what shows it computes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from workbench import __version__
from workbench.campaign import Campaign
from workbench.campaign_store import CampaignStore
from workbench.clock import now
from workbench.compare import Comparison, pairs_of
from workbench.damage import Damage, damage_of
from workbench.errors import StoreError
from workbench.evidence import Evidence, kept_study
from workbench.line import Line
from workbench.reached import Reached, reached
from workbench.recipe import BASELINE
from workbench.recommend import Recommendation, recommend
from workbench.run import Run
from workbench.stages import Stage, stages_of
from workbench.store import RunStore
from workbench.timings import MILLION, Timings, nanoseconds
from workbench.wish import Wish

FLIPS_SHOWN = 20
# Enough to draw a distribution; the raw timings have them all.
QUANTILES = 41


class Record(BaseModel):
    """A frozen part of a dossier."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Spread(Record):
    """How the timed calls of one campaign entry are distributed: evenly spaced quantiles from 0 to 1, in ms."""

    task: str
    entry: str
    recipe: str
    calls: int
    quantiles_ms: tuple[float, ...]


class Explanation(Record):
    """One recipe on one task: the base and what each step gave (of the first seed), and what changed its mind.

    ``control`` is the line of the same recipe without its teacher, where there is one.
    """

    task: str
    recipe: str
    run: str
    stages: tuple[Stage, ...]
    control: Line | None
    damage: Damage | None


class Dossier(Record):
    """All of it. ``commands`` repeat the study and its campaigns; ``study_file`` is its text, where it was kept."""

    study: str
    created: str
    workbench: str
    store: str
    comparison: Comparison
    recommendation: Recommendation | None
    runs: tuple[Run, ...]
    campaigns: tuple[Campaign, ...]
    spreads: tuple[Spread, ...]
    explanations: tuple[Explanation, ...]
    commands: tuple[str, ...]
    study_file: str | None
    remarks: tuple[str, ...]
    goals: tuple[Reached, ...] = ()


def gather_dossier(evidence: Evidence, store: RunStore, wish: Wish | None = None) -> Dossier:
    """Put together what a report shows of some evidence."""
    comparison = evidence.comparison()
    used = [campaign for campaign in evidence.campaigns if campaign.id in {line.campaign for line in comparison.lines}]
    spreads, unread = spreads_of(used, store)
    explanations, unexplained = _explanations(evidence, comparison, store)
    study = kept_study(evidence.study, store)
    finished = any(line.quality for line in comparison.of_task(None))
    return Dossier(
        study=evidence.study,
        created=now(),
        workbench=__version__,
        store=str(store.root),
        comparison=comparison,
        recommendation=recommend(comparison, wish or Wish.of()) if finished else None,
        runs=evidence.runs,
        campaigns=tuple(used),
        spreads=tuple(spreads),
        explanations=tuple(explanations),
        commands=tuple(dict.fromkeys([*(run.command for run in evidence.runs), *(one.command for one in used)])),
        study_file=_study_text(evidence.study, store),
        remarks=(*unread, *unexplained),
        goals=reached(study.goals if study else (), comparison.lines),
    )


def spreads_of(campaigns: Sequence[Campaign], store: RunStore) -> tuple[list[Spread], list[str]]:
    """How the timed calls of every entry are distributed, and a sentence for each campaign that cannot tell."""
    found, remarks = [], []
    for campaign in campaigns:
        try:
            timings = Timings.read(CampaignStore(store).folder(campaign.id))
        except StoreError as error:
            remarks.append(f"no distributions of {campaign.task}: {error}")
            continue
        for entry in campaign.entries:
            times = nanoseconds(timings.calls(entry.name), "model") / MILLION
            if len(times):
                marks = tuple(np.quantile(times, np.linspace(0, 1, QUANTILES)).tolist())
                facts = {"task": campaign.task, "entry": entry.name, "recipe": entry.recipe}
                found.append(Spread(**facts, calls=len(times), quantiles_ms=marks))
    return found, remarks


def _explanations(evidence: Evidence, comparison: Comparison, store: RunStore) -> tuple[list[Explanation], list[str]]:
    found, remarks = [], []
    lines = {(line.task, line.recipe): line for line in comparison.lines}
    for (task, recipe), pairs in pairs_of(evidence.runs).items():
        if recipe == BASELINE:
            continue
        run, baseline = min(pairs, key=lambda pair: pair[0].seed)
        control = next((line for line in lines.values() if (line.task, line.control_of) == (task, recipe)), None)
        damage = None
        # What could not be judged, for want of answers to the same rows, is told of among the caveats.
        if (task, recipe) in evidence.judged:
            try:
                damage = damage_of(pairs, store, FLIPS_SHOWN)
            except StoreError as error:
                remarks.append(f"{task} {recipe}: its flips cannot be told: {error}")
        facts = {"task": task, "recipe": recipe, "run": run.id, "control": control, "damage": damage}
        found.append(Explanation(**facts, stages=stages_of(run, baseline)))
    return found, remarks


def _study_text(study: str, store: RunStore) -> str | None:
    try:
        return store.study_file(study).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
