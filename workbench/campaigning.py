"""Campaigning: measure several kept runs beside each other and keep what was seen."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.campaign import Campaign
from workbench.campaign_store import CampaignStore
from workbench.clock import Stopwatch, now
from workbench.contest import Contest
from workbench.coordinator import LATENCY, Coordinator
from workbench.environment import Environment
from workbench.logbook import Logbook
from workbench.measuring import Measuring
from workbench.progress import Reporter
from workbench.recipe import BASELINE
from workbench.run import Run
from workbench.store import RunStore
from workbench.study import CAMPAIGN_PROBES
from workbench.summary import entry_of
from workbench.weighing import MEMORY, Weighing, weigh_all


@dataclass(frozen=True)
class Commands:
    """How the measuring processes are started."""

    latency: Sequence[str] = LATENCY
    memory: Sequence[str] = MEMORY


def hold_campaign(
    contest: Contest,
    settings: Measuring,
    store: RunStore,
    progress: Reporter,
    command: str,
    probes: Sequence[str] = CAMPAIGN_PROBES,
    commands: Commands | None = None,
) -> Campaign:
    """Weigh and time all contestants, sum up, and keep records and raw timings."""
    started = commands or Commands()
    settled, watch = settings.settled(), Stopwatch()
    environment = Environment.observe()
    with store.scratch("campaign") as scratch:
        coordinator = Coordinator(contest.field, settled, scratch, progress, started.latency)
        weighing = Weighing()
        if "memory" in probes:
            weighing = weigh_all(contest.field, settled, scratch, progress, started.memory)
        log = coordinator.time_all() if "latency" in probes else coordinator.log
    timings = log.timings()
    campaign = Campaign(
        **_facts_of(contest.baseline.run),
        created=now(),
        command=command,
        environment=environment,
        settings=settled,
        entries=tuple(
            entry_of(contestant, contest, log, timings, weighing.found.get(contestant.name, ()))
            for contestant in contest.contestants
        ),
        rounds=tuple(log.rounds),
        mean_tokens=_mean_tokens(log),
        raw_kept=True,
        cost=watch.cost(),
        remarks=(*weighing.remarks, *_remarks(log)),
    )
    return CampaignStore(store).keep(campaign, timings)


def _facts_of(baseline: Run) -> dict[str, Any]:
    """What a campaign shares with its baseline, and a name of its own."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return {
        "id": f"{baseline.task}-{moment}-{os.urandom(3).hex()}",
        "task": baseline.task,
        "seed": baseline.seed,
        "rows": baseline.data.fingerprint,
        "baseline": BASELINE,
    }


def _mean_tokens(log: Logbook) -> float | None:
    lengths = [seen.tokens for seen in log.seen.values() if seen.tokens]
    return float(np.mean(lengths[0])) if lengths else None


def _remarks(log: Logbook) -> list[str]:
    remarks = [f"{name}: not timed: {seen.failure}" for name, seen in log.seen.items() if seen.failure]
    loud = sum(not found.quiet and found.kept for found in log.rounds)
    if loud:
        remarks.append(
            f"{loud} of {len(log.rounds)} rounds were noisy and counted all the same, for want of quiet ones"
        )
    return remarks
