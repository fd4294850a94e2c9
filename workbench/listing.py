"""Listing: what is installed, embedded and kept, as rows for a table or as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from workbench.cache import Cache
from workbench.catalogue import catalogue
from workbench.errors import UsageError
from workbench.plugins import GROUPS, STRATEGIES, TASKS, conflict, found, load
from workbench.recipe import read_cookbook
from workbench.run_filter import RunFilter
from workbench.run_index import RunIndex
from workbench.store import RunStore
from workbench.strategy import ALL_FAMILIES
from workbench.study import Study, embedded_studies
from workbench.tasks.task import Task

EVERY_RUN = RunFilter()


@dataclass(frozen=True)
class Listing:
    """Rows under headings, and remarks on what could not be listed.

    Programs get every value; people get the columns that fit a terminal, or all where none are named.
    """

    title: str
    rows: list[dict[str, Any]]
    remarks: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ()


def list_strategies(store: RunStore) -> Listing:
    """Every advertised strategy with what it declares."""
    entries = catalogue(Cache.default())
    rows = [
        {
            "name": entry.name,
            "what it does": entry.summary or "broken, see below",
            "families": ["all"] if set(entry.families) == set(ALL_FAMILIES) else list(entry.families),
            "kinds": list(entry.kinds),
            "needs": list(entry.needs),
            "claims": list(entry.claims),
            "not after": list(entry.refuses),
            "options": entry.options.get("properties", {}),
            "from": entry.provider,
        }
        for entry in entries
    ]
    remarks = [entry.broken for entry in entries if entry.broken]
    columns = ("name", "what it does", "families", "needs", "claims", "not after")
    return Listing("strategies", rows, remarks, columns)


def list_tasks(store: RunStore) -> Listing:
    """Every advertised task."""
    rows, remarks = [], []
    for provider in found(TASKS):
        try:
            task = load(TASKS, provider.name)
            assert isinstance(task, Task), f"{provider.value} is not a Task"
        except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything
            remarks.append(f"{provider.name} from {provider.label} is broken: {error}")
            continue
        rows.append(
            {
                "name": task.name,
                "question": task.about,
                "kind": task.kind,
                "labels": list(task.labels),
                "metrics": list(task.metrics),
                "sources": [source.describe() for source in task.sources],
            }
        )
    return Listing("tasks", rows, remarks, ("name", "question", "kind", "labels", "metrics"))


def list_recipes(store: RunStore) -> Listing:
    """The cookbook, and a remark for each recipe that cannot be read."""
    recipes, remarks = read_cookbook()
    rows = [
        {"name": recipe.name, "steps": [step.use for step in recipe.steps], "when": recipe.when}
        for recipe in recipes.values()
    ]
    return Listing("recipes", rows, remarks)


def list_studies(store: RunStore) -> Listing:
    """The embedded studies, to be run by name."""
    rows = []
    for name, path in embedded_studies().items():
        study = Study.load(path)
        recipes = [recipe if isinstance(recipe, str) else recipe.name for recipe in study.recipes]
        rows.append({"name": name, "about": study.about, "recipes": recipes, "file": str(path)})
    return Listing("studies", rows, columns=("name", "about", "recipes"))


def list_runs(store: RunStore, wanted: RunFilter = EVERY_RUN) -> Listing:
    """Every kept run that is wanted, and a remark for each record that cannot be read."""
    heads, damaged = RunIndex(store).heads()
    rows = [
        {
            "run": head.id,
            "study": head.study,
            "task": head.task,
            "recipe": head.recipe,
            "seed": head.seed,
            "status": head.status,
            "quality": head.quality,
            "metric": head.metric,
            "made": head.created[:19].replace("T", " "),
        }
        for head in wanted.chosen(heads)
    ]
    unread = f" ({len(damaged)} cannot be read, see below)" if damaged else ""
    title = f"runs in {store.root}{wanted}{unread}"
    return Listing(title, rows, damaged, ("run", "study", "status", "quality", "metric", "made"))


def list_plugins(store: RunStore) -> Listing:
    """Who provides what, from package metadata; strategies that are broken say why."""
    broken = {entry.name: entry.broken for entry in catalogue(Cache.default())}
    rows = []
    for group in GROUPS:
        providers = found(group)
        for provider in providers:
            rivals = [other for other in providers if other.name == provider.name]
            fault = (
                conflict(rivals) if len(rivals) > 1 else broken.get(provider.name, "") if group == STRATEGIES else ""
            )
            rows.append(
                {
                    "group": group,
                    "name": provider.name,
                    "from": provider.label,
                    "object": provider.value,
                    "state": f"broken: {fault}" if fault else "fine",
                }
            )
    return Listing("plugins", rows)


LISTINGS: dict[str, Callable[[RunStore], Listing]] = {
    "strategies": list_strategies,
    "tasks": list_tasks,
    "recipes": list_recipes,
    "studies": list_studies,
    "runs": list_runs,
    "plugins": list_plugins,
}


def listing_of(what: str, store: RunStore, wanted: RunFilter = EVERY_RUN) -> Listing:
    """List one of the ``LISTINGS``; only runs can be filtered."""
    if what == "runs":
        return list_runs(store, wanted)
    if wanted.named:
        raise UsageError(f"--{next(iter(wanted.named))} chooses among runs; workbench list {what} lists them all")
    return LISTINGS[what](store)
