"""Plugins: names become classes through entry points; what is broken is reported and harms nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from workbench.errors import PluginError, UnknownNameError

STRATEGIES = "workbench.strategies"
TASKS = "workbench.tasks"
RECIPES = "workbench.recipes"
REPORTS = "workbench.reports"
GROUPS = (STRATEGIES, TASKS, RECIPES, REPORTS)


@dataclass(frozen=True)
class Provider:
    """Who offers a name: read from metadata, so that nothing is imported to know it."""

    group: str
    name: str
    value: str
    distribution: str
    version: str

    @property
    def label(self) -> str:
        """Name the provider for a person."""
        return f"{self.distribution} {self.version}"


def found(group: str) -> list[Provider]:
    """List who provides what in a group, sorted by name."""
    providers = {_provider(group, point) for point in entry_points(group=group)}
    return sorted(providers, key=lambda provider: (provider.name, provider.distribution))


def names(group: str) -> list[str]:
    """List the names a group offers."""
    return sorted({provider.name for provider in found(group)})


def provider_of(group: str, name: str, *, where: str = "") -> Provider:
    """Find the one provider of a name; none, or two of them, is an error that says so."""
    providers = [provider for provider in found(group) if provider.name == name]
    if not providers:
        raise UnknownNameError(singular(group), name, names(group), where=where)
    if len(providers) > 1:
        raise PluginError(f"{where}{conflict(providers)}")
    return providers[0]


def load(group: str, name: str, *, where: str = "") -> Any:
    """Import what a name stands for; a broken plugin is an error that names its package and the reason."""
    provider = provider_of(group, name, where=where)
    try:
        return _import(provider)
    except PluginError as error:
        raise PluginError(f"{where}{error}") from error


def conflict(providers: list[Provider]) -> str:
    """Say who claims the same name."""
    claims = " and ".join(f"{provider.label} ({provider.value})" for provider in providers)
    return f"{singular(providers[0].group)} {providers[0].name!r} is provided twice, by {claims}; uninstall one"


def singular(group: str) -> str:
    """Name one member of a group: 'workbench.strategies' holds strategies, each a 'strategy'."""
    word = group.rpartition(".")[2]
    return "strategy" if word == "strategies" else word.removesuffix("s")


@cache
def _import(provider: Provider) -> Any:
    point = EntryPoint(provider.name, provider.value, provider.group)
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(
            f"{singular(provider.group)} {provider.name!r} from {provider.label} is broken: {reason}"
        ) from error


def _provider(group: str, point: EntryPoint) -> Provider:
    distribution = point.dist
    return Provider(
        group=group,
        name=point.name,
        value=point.value,
        distribution=distribution.name if distribution else "unknown package",
        version=distribution.version if distribution else "?",
    )
