"""Settings apart: seeds of one recipe that were not made alike, though they stand in one line."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.run import Run

# What fine-tuning came to stands among its settings, and is another one for each seed.
OUTCOME = "select"


def made_apart(runs: Sequence[Run]) -> Iterator[str]:
    """Say of which recipes and tasks the finished runs of several seeds were made with different settings."""
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if not run.failure:
            groups[run.task, run.recipe.name].append(run)
    alike: dict[str, list[str]] = defaultdict(list)
    for (task, recipe), group in groups.items():
        differences = _differences([_settings(run) for run in group])
        if differences:
            alike[", ".join(differences)].append(f"{recipe} on {task}")
    for difference, names in alike.items():
        yield f"seeds of {', '.join(names)} were made with different settings: {difference}"


def _settings(run: Run) -> dict[tuple[int, str], Any]:
    """All settings of a run by place and name; how the base was fine-tuned is told of the baseline alone."""
    if run.is_baseline:
        tuned = run.base.settings if run.base else {}
        return {(0, f"fine-tuning {name}"): value for name, value in tuned.items() if name != OUTCOME}
    found: dict[tuple[int, str], Any] = {(0, "steps"): " + ".join(step.use for step in run.steps)}
    for place, step in enumerate(run.steps, start=1):
        options = {"version": step.version, **step.options}
        found.update({(place, f"{step.use} {name}"): value for name, value in options.items()})
    return found


def _differences(made: Sequence[Mapping[tuple[int, str], Any]]) -> list[str]:
    """The settings that not all have alike, with their values; one that only some know at all is not told."""
    shared = [name for name in made[0] if all(name in other for other in made)]
    values = {name: list(dict.fromkeys(_written(one[name]) for one in made)) for name in shared}
    return [f"{name} ({', '.join(known)})" for (_, name), known in values.items() if len(known) > 1]


def _written(value: Any) -> str:
    """A value as it stands in a study file."""
    return value if isinstance(value, str) else json.dumps(value)
