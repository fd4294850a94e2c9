"""Study campaigns: the measuring at the end of a study, all variants of a task beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.campaign import TWIN, Campaign
from workbench.campaign_store import CampaignStore
from workbench.campaigning import hold_campaign
from workbench.contest import Contest, contest_of
from workbench.environment import Environment
from workbench.progress import Reporter
from workbench.run import Run
from workbench.store import RunStore
from workbench.study import Study


def measure_study(
    study: Study, runs: Iterable[Run], store: RunStore, progress: Reporter, command: str
) -> list[Campaign]:
    """Measure what a study asks for, one campaign a task, with its first seed.

    Seeds change what an encoder knows, not what it computes, so one of them is timed. What was measured before, on a
    machine like this and with the same settings, is not measured again, unless something of it failed.
    """
    if not study.campaign_probes:
        return []
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        if run.seed == study.seeds_of(run.task)[0]:
            by_task.setdefault(run.task, []).append(run)
    campaigns = []
    for task, group in by_task.items():
        if not any(run.is_baseline for run in group):
            progress.say(f"{task}: nothing is timed, because its baseline failed")
            continue
        contest = contest_of(group, store, study.measuring.texts)
        before = measured_before(contest, study, store)
        if before:
            progress.say(f"{task}: already measured (campaign {before.id})")
        campaigns.append(
            before or hold_campaign(contest, study.measuring, store, progress, command, probes=study.campaign_probes)
        )
    return campaigns


def measured_before(contest: Contest, study: Study, store: RunStore) -> Campaign | None:
    """The newest campaign over just these runs and their artifacts with these settings on such a machine."""
    kept, _ = CampaignStore(store).all()
    settings, here = study.measuring.settled(), Environment.observe()
    wanted = {entered.name: (entered.run.id, entered.artifact_hash) for entered in contest.contestants}
    fitting = [
        campaign
        for campaign in kept
        if {entry.name: (entry.run, entry.artifact) for entry in campaign.entries} == wanted
        and campaign.settings == settings
        and _has(campaign, study.campaign_probes)
        and not here.why_not_comparable(campaign.environment)
        and not here.version_differences(campaign.environment)
    ]
    return fitting[-1] if fitting else None


def _has(campaign: Campaign, probes: Sequence[str]) -> bool:
    """Whether a campaign measured all that is asked for of everything in it; the twin is never weighed."""
    return all(
        entry.measured(probe)
        for entry in campaign.entries
        for probe in probes
        if (entry.name, probe) != (TWIN, "memory")
    )
