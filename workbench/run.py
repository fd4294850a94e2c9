"""Run: the immutable record of one recipe on one task with one seed, as it stands in ``run.json``."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from workbench.environment import Environment
from workbench.measurement import Measurement
from workbench.recipe import BASELINE, Recipe

SCHEMA = 1
Stage = Literal["base", "apply", "save", "measure"]


class Record(BaseModel):
    """A frozen part of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Cost(Record):
    """What something took to make."""

    wall_seconds: float
    cpu_seconds: float


class StepRecord(Record):
    """A step that was carried out, what it decided, what it cost, and what was measured right after it."""

    use: str
    options: dict[str, Any]
    provider: str
    version: str
    detail: dict[str, Any]
    cost: Cost
    measurements: tuple[Measurement, ...] = ()


class BaseRecord(Record):
    """The base a run started from and how it was fine-tuned."""

    name: str
    revision: str | None = None
    hash: str
    finetuned: bool
    key: str
    settings: dict[str, Any]
    cost: Cost


class DataRecord(Record):
    """The rows a run saw, and the names of their labels, where they have names."""

    source: str
    fingerprint: str
    rows: dict[str, int]
    limit: int | None = None
    labels: tuple[str, ...] = ()


class ArtifactRecord(Record):
    """What was saved; the folder ``artifact`` beside the record holds it."""

    runtime: str
    portable: bool
    files: dict[str, str]


class Failure(Record):
    """Why a run ended early, and in which stage."""

    stage: Stage
    message: str


class Imported(Record):
    """That a run was made elsewhere: the file or folder it came from, when it came, and what did not come along."""

    source: str
    when: str
    without: tuple[str, ...] = ()


class Run(Record):
    """Everything known of one run. Failed runs are runs: they carry a failure and what was known until then."""

    schema_number: int = SCHEMA
    id: str
    fingerprint: str
    study: str
    recipe: Recipe
    task: str
    metrics: tuple[str, ...]
    seed: int
    created: str
    command: str
    environment: Environment
    data: DataRecord
    base: BaseRecord | None = None
    steps: tuple[StepRecord, ...] = ()
    artifact: ArtifactRecord | None = None
    measurements: tuple[Measurement, ...] = ()
    failure: Failure | None = None
    imported: Imported | None = None

    @property
    def status(self) -> Literal["done", "failed"]:
        """Whether the run came to its end."""
        return "failed" if self.failure else "done"

    @property
    def is_baseline(self) -> bool:
        """Whether nothing was done to the base."""
        return self.recipe.name == BASELINE

    def measured(self, metric: str) -> Measurement | None:
        """Look a metric up; absent when it was not measured."""
        return next((found for found in self.measurements if found.metric == metric), None)
