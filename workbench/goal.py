"""Goal: what a study sets out to reach with one of its recipes."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat


class Goal(BaseModel):
    """What one recipe is to reach, on all tasks or on some; everything is a multiple or a share of the baseline's."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    recipe: str = Field(description="the recipe that is to reach it")
    tasks: tuple[str, ...] = Field(default=(), description="the tasks it holds for; all of the study if not given")
    faster: float | None = Field(default=None, gt=0, description="how many times as fast as the baseline")
    smaller: float | None = Field(default=None, gt=0, description="how many times smaller than the baseline on disk")
    keeps: float | None = Field(default=None, gt=0, description="which share of the baseline's quality it keeps")
    faster_than: dict[str, PositiveFloat] = Field(default={}, description="how many times as fast as other recipes")
    no_worse_than: tuple[str, ...] = Field(default=(), description="recipes that are not to be better in quality")

    def within(self, tasks: Collection[str]) -> Goal:
        """The goal for some tasks alone."""
        return self.model_copy(update={"tasks": tuple(task for task in self.tasks if task in tasks)})

    @property
    def others(self) -> tuple[str, ...]:
        """The recipes it is compared with besides the baseline."""
        return (*self.faster_than, *self.no_worse_than)
