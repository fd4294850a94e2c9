"""Evidence: everything in a store that a comparison of one study rests on, read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from workbench.campaign import Campaign
from workbench.campaign_store import CampaignStore
from workbench.compare import Comparison, current_runs, pairs_of
from workbench.environment import Environment
from workbench.errors import StoreError, UnknownNameError, UsageError, WorkbenchError
from workbench.fit import control_name
from workbench.judged import Judged, judged_once
from workbench.predictions import read_predictions
from workbench.recipe import BASELINE
from workbench.run import Run
from workbench.run_index import RunHead, RunIndex
from workbench.store import RunStore
from workbench.study import Study


@dataclass(frozen=True)
class Evidence:
    """The runs of a study that count, what their answers came to, and the timings of one machine, newest last.

    Runs come in the order in which the study names their recipes; those it does not name follow, oldest first.
    ``remarks`` are sentences about what could not be read or must not be mixed.
    """

    study: str
    runs: tuple[Run, ...]
    judged: dict[tuple[str, str], Judged]
    campaigns: tuple[Campaign, ...]
    remarks: tuple[str, ...]

    def comparison(self) -> Comparison:
        """Compare."""
        return Comparison.of(self.study, self.runs, self.judged, self.campaigns, self.remarks)


def gather(store: RunStore, names: Sequence[str] = (), rows: Collection[str] = ()) -> Evidence:
    """Read what a comparison of some runs, or of a study, needs; without names, of the study that was run last.

    With ``rows``, only runs on data of these fingerprints count.
    """
    found, damaged = RunIndex(store).heads()
    heads = [head for head in found if not rows or head.data_fingerprint in rows]
    if not heads:
        raise StoreError(f"no runs in {store.root} yet{_counted(damaged)}; make some with: workbench run demo")
    study, chosen, remarks = _chosen(heads, names, store)
    runs, unread = store.runs_of(head.id for head in chosen)
    current = current_runs(runs)
    elsewhere = _on_other_rows(runs, current)
    judged, unjudged = _judged(current, store)
    campaigns, mixed = _campaigns(current, store)
    return Evidence(
        study=study,
        runs=tuple(_in_order(current, kept_study(study, store))),
        judged=judged,
        campaigns=tuple(campaigns),
        remarks=(*remarks, *damaged, *unread, *elsewhere, *unjudged, *mixed),
    )


def kept_study(name: str, store: RunStore) -> Study | None:
    """The study as it was kept when it was last run; none where its file is gone or cannot be read."""
    try:
        return Study.load(store.study_file(name))
    except WorkbenchError:
        return None


def _in_order(runs: Sequence[Run], study: Study | None) -> list[Run]:
    named = [recipe if isinstance(recipe, str) else recipe.name for recipe in study.recipes] if study else []
    wanted = [BASELINE, *(name for recipe in named for name in (recipe, control_name(recipe)))]
    place = {name: number for number, name in enumerate(wanted)}
    return sorted(runs, key=lambda run: (place.get(run.recipe.name, len(place)), run.created))


def _chosen(heads: Sequence[RunHead], names: Sequence[str], store: RunStore) -> tuple[str, list[RunHead], list[str]]:
    studies = list(dict.fromkeys(head.study for head in heads))
    if not names:
        newest = max(heads, key=lambda head: head.created).study
        others = [study for study in studies if study != newest]
        told = [f"this is the study run last; there are also: {', '.join(others)}"] if others else []
        return newest, [head for head in heads if head.study == newest], told
    if len(names) == 1 and names[0] in studies:
        return names[0], [head for head in heads if head.study == names[0]], []
    named = [name for name in names if name in studies]
    if named:
        raise UsageError(f"{named[0]!r} is a study; name one study and nothing else, or runs of one study")
    picked = [_found(name, heads, studies, store) for name in names]
    mixed = sorted({head.study for head in picked})
    if len(mixed) > 1:
        raise UsageError(f"these runs belong to different studies ({', '.join(mixed)}); compare one study at a time")
    return mixed[0], _with_baselines(picked, heads), []


def _found(name: str, heads: Sequence[RunHead], studies: Sequence[str], store: RunStore) -> RunHead:
    matching = [head for head in heads if head.id == name] or [head for head in heads if head.id.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    what = "single run" if matching else "study or run"
    known = [head.id for head in matching] or [*studies, *get_close_matches(name, [head.id for head in heads])]
    raise UnknownNameError(f"{what} in {store.root}", name, known)


def _with_baselines(picked: Sequence[RunHead], heads: Sequence[RunHead]) -> list[RunHead]:
    """Runs and the baselines they are to be compared with; one without a baseline is refused."""
    found = {head.id: head for head in picked}
    for head in picked:
        fitting = [
            other for other in heads if other.is_baseline and other.status == "done" and other.group == head.group
        ]
        if not fitting:
            raise UsageError(f"run {head.id} has no baseline in this store; run its study again to make it")
        found[fitting[-1].id] = fitting[-1]
    return list(found.values())


def _on_other_rows(runs: Sequence[Run], current: Sequence[Run]) -> list[str]:
    """A sentence for each task of which runs are left out because its newest run saw other rows."""
    rows = {(run.task, run.data.fingerprint) for run in current}
    others = Counter(run.task for run in runs if (run.task, run.data.fingerprint) not in rows)
    told = "on other rows than the newest"
    return [f"{task}: left out {count} run{'s' * (count > 1)} {told}" for task, count in others.items()]


def _judged(runs: Sequence[Run], store: RunStore) -> tuple[dict[tuple[str, str], Judged], list[str]]:
    found, remarks = {}, []
    # Baselines come up again with every recipe; the rest is read once and may be forgotten.
    read = lru_cache(maxsize=2 * len({run.seed for run in runs}))(read_predictions)
    for key, pairs in pairs_of(runs).items():
        try:
            found[key] = judged_once(pairs, store, read)
        except (StoreError, UnknownNameError) as error:
            remarks.append(f"{key[0]} {key[1]}: no interval: {error}")
    return found, remarks


def _campaigns(runs: Sequence[Run], store: RunStore) -> tuple[list[Campaign], list[str]]:
    """The campaigns over these runs on the machine that measured last; those of others are left out in words."""
    kept, damaged = CampaignStore(store).all()
    ids = {run.id for run in runs}
    fitting = [campaign for campaign in kept if ids & {entry.run for entry in campaign.entries}]
    if not fitting:
        return [], damaged
    machine: Environment = fitting[-1].environment
    alike = [campaign for campaign in fitting if not machine.why_not_comparable(campaign.environment)]
    strange = [campaign for campaign in fitting if campaign not in alike]
    remarks = [
        f"timings of {campaign.created[:10]} are left out: {machine.why_not_comparable(campaign.environment)}"
        for campaign in strange
    ]
    return alike, [*damaged, *dict.fromkeys(remarks)]


def _counted(damaged: Sequence[str]) -> str:
    return f" that can be read ({len(damaged)} cannot: {damaged[0]})" if damaged else ""
