"""Showing: a run's record as lines a person can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from workbench.measurement import Measurement
from workbench.run import Run


def run_facts(run: Run, folder: Path) -> Iterator[tuple[str, str]]:
    """Give fact and value, in the order a person asks for them."""
    yield "status", run.status if not run.failure else f"failed in stage '{run.failure.stage}': {run.failure.message}"
    yield "study, task, seed", f"{run.study}, {run.task}, {run.seed}"
    yield "recipe", f"{run.recipe.name}{': ' + run.recipe.when if run.recipe.when else ''}"
    for number, step in enumerate(run.steps, 1):
        options = ", ".join(f"{key}={value}" for key, value in step.options.items())
        yield f"step {number}", f"{step.use}({options}) by {step.provider} {step.version}"
        yield "  cost", f"{step.cost.wall_seconds:.1f} s, {step.cost.cpu_seconds:.1f} s of processor time"
        if step.detail:
            yield "  decided", _shortened(json.dumps(step.detail, ensure_ascii=False))
        if step.measurements:
            yield "  gave", ", ".join(_brief(found) for found in step.measurements if "/" not in found.metric)
    for found in run.measurements:
        yield found.metric, _spoken(found)
    if run.base:
        trained = f"fine-tuned in {run.base.cost.wall_seconds:.0f} s" if run.base.finetuned else "used as it is"
        yield "base", f"{run.base.name} ({run.base.hash[:12]}), {trained}"
    rows = ", ".join(f"{count} {role}" for role, count in run.data.rows.items())
    yield "data", f"{run.data.source}: {rows}{f', limited to {run.data.limit}' if run.data.limit else ''}"
    if run.artifact:
        needs = "opens with stock transformers" if run.artifact.portable else "opens with the workbench"
        yield "artifact", f"{folder / 'artifact'} ({run.artifact.runtime}; {needs})"
    place = run.environment
    yield "machine", f"{place.cpu or place.machine}, {place.cores} cores, {' '.join(place.flags)}"
    yield "versions", ", ".join(f"{name} {number}" for name, number in place.versions.items())
    yield "made", run.created
    if run.imported:
        left = f", without its {' and '.join(run.imported.without)}" if run.imported.without else ""
        yield "imported", f"from {run.imported.source} on {run.imported.when[:10]}{left}"
    yield "command", run.command


def _brief(found: Measurement) -> str:
    if found.unit == "bytes":
        return f"{found.metric} {found.value / 1e6:.1f} MB"
    return f"{found.metric} {found.value / 1e6:.2f} M" if found.unit == "count" else f"{found.metric} {found.value:.4f}"


def _shortened(text: str, most: int = 400) -> str:
    return text if len(text) <= most else f"{text[:most]} … (workbench show --json has it all)"


def _spoken(found: Measurement) -> str:
    value = f"{found.value:,.0f}" if found.unit in {"bytes", "count"} else f"{found.value:.4f}"
    direction = "" if found.better == "neither" else f" ({found.better} is better)"
    return f"{value} {found.unit}{direction}"
