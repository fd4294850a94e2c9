"""Close look: one run beside its baseline, as a dossier of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench import __version__
from workbench.campaign import TWIN, Campaign
from workbench.clock import now
from workbench.compare import Comparison, pairs_of
from workbench.dossier import Dossier, Explanation, spreads_of
from workbench.evidence import Evidence
from workbench.recipe import BASELINE
from workbench.run import Run
from workbench.stages import stages_of
from workbench.store import RunStore


def look_closely(run: Run, evidence: Evidence, comparison: Comparison, store: RunStore) -> Dossier:
    """What is known of a run: its lines of the comparison, its stages, and the campaign that timed it.

    A run that the comparison leaves out, as it failed or was made anew, has only its own record. Flips are not looked
    for.
    """
    baseline = _baseline_of(run, evidence)
    lines = [line for line in comparison.of_task(run.task) if line.recipe == BASELINE or run.id in line.runs]
    campaigns = _campaigns_of(run, evidence.campaigns, {line.campaign for line in lines})
    spreads, unread = spreads_of(campaigns, store)
    explained = baseline is not None and not run.is_baseline
    return Dossier(
        study=run.study,
        created=now(),
        workbench=__version__,
        store=str(store.root),
        comparison=Comparison(study=run.study, lines=tuple(lines), caveats=comparison.caveats),
        recommendation=None,
        runs=(*([baseline] if baseline and not run.is_baseline else []), run),
        campaigns=campaigns,
        spreads=tuple(spreads),
        explanations=(_explanation(run, baseline),) if explained and baseline else (),
        commands=tuple(dict.fromkeys([run.command, *(campaign.command for campaign in campaigns)])),
        study_file=None,
        remarks=tuple(unread),
    )


def _baseline_of(run: Run, evidence: Evidence) -> Run | None:
    pairs = pairs_of(evidence.runs).get((run.task, run.recipe.name), [])
    return next((base for ours, base in pairs if ours.id == run.id), None)


def _explanation(run: Run, baseline: Run) -> Explanation:
    names = {"task": run.task, "recipe": run.recipe.name, "run": run.id}
    return Explanation(**names, stages=stages_of(run, baseline), control=None, damage=None)


def _campaigns_of(run: Run, campaigns: Sequence[Campaign], compared: Collection[str | None]) -> tuple[Campaign, ...]:
    """The campaign that measured the run, with its entry and the baseline's two alone.

    That is the one which the comparison rests on, else the newest.
    """
    newest_first = campaigns[::-1]
    for campaign in sorted(newest_first, key=lambda campaign: campaign.id not in compared):
        mine = campaign.entry_of(run.id)
        if mine and (mine.measurements or mine.failure):
            shown = {campaign.baseline, TWIN, mine.name}
            entries = tuple(entry for entry in campaign.entries if entry.name in shown)
            return (campaign.model_copy(update={"entries": entries}),)
    return ()
