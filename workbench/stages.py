"""Stages: what each step of a recipe gave and cost, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from workbench.measurement import Measurement, headline_of
from workbench.run import Cost, Run


class Stage(BaseModel):
    """The encoder after one step, or the base before any; what was not measured is absent.

    Speed is timed of finished artifacts alone, so no stage tells it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    quality: float | None
    disk_bytes: float | None
    parameters: float | None
    macs: float | None
    agreement: float | None
    cost: Cost | None = None


def stages_of(run: Run, baseline: Run) -> tuple[Stage, ...]:
    """The base as it was, then the encoder after every step of one run."""
    metric = run.metrics[0]
    steps = [
        _stage(f"{number}. {step.use}", metric, step.measurements, step.cost)
        for number, step in enumerate(run.steps, 1)
    ]
    return (_stage("base", metric, baseline.measurements, None), *steps)


def _stage(name: str, metric: str, measured: Sequence[Measurement], cost: Cost | None) -> Stage:
    values = {found.metric: found.value for found in measured}
    return Stage(
        name=name,
        quality=headline_of(metric, measured),
        disk_bytes=values.get("disk"),
        parameters=values.get("parameters"),
        macs=values.get("macs"),
        agreement=values.get("agreement"),
        cost=cost,
    )
