"""Step keys: under which names trained steps are cached, from a plan before they are made and from a record after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.files import hash_of
from workbench.run import Run


def step_key(base_key: str, data: str, seed: int, steps: Sequence[Mapping[str, Any]]) -> str:
    """A hash of everything that decides what some steps, one after the other, make of a base.

    ``data`` is the fingerprint of the rows; each step is told by its strategy, its options and who provides it.
    """
    return hash_of({"base": base_key, "data": data, "seed": seed, "steps": list(steps)})


def step_told(use: str, options: Mapping[str, Any], distribution: str, version: str) -> dict[str, Any]:
    """What decides a step: the strategy, its options, and who provides it in which version."""
    return {"use": use, "options": dict(options), "provider": [distribution, version]}


def step_keys_of(run: Run) -> list[str]:
    """The keys under which the steps of a kept run may be cached, the first step's first."""
    if run.base is None:
        return []
    steps = [step_told(step.use, step.options, step.provider, step.version) for step in run.steps]
    data = run.data.fingerprint
    return [step_key(run.base.key, data, run.seed, steps[: number + 1]) for number in range(len(steps))]
