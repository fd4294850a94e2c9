"""Task: what is learned and judged, declared as data."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from workbench.tasks.sources import Source

TRAIN = "train"


class Row(NamedTuple):
    """One example: a stable id, its texts (one, or a pair), and its label in the form the task's kind gives it."""

    id: str
    texts: tuple[str, ...]
    label: Any


class Task(BaseModel):
    """A named job with its kind, labels, metrics and sources.

    ``tests`` names the parts of the test split: one for most tasks, matched and mismatched for MNLI. The first
    metric is the headline. Sources are asked in order until one can serve.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    about: str
    kind: str
    metrics: tuple[str, ...] = Field(min_length=1)
    labels: tuple[str, ...] = ()
    tests: tuple[str, ...] = ("test",)
    text_count: int = Field(default=1, ge=1, le=2)
    sources: tuple[SerializeAsAny[Source], ...]

    @property
    def headline(self) -> str:
        """The metric a table shows first."""
        return self.metrics[0]
