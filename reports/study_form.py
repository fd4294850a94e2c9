"""Study form: what a person has filled in so far, as typed, and the draft of a study it comes to.

A form outlives the widgets that show it, which Streamlit forgets whenever another page is opened.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from workbench.catalogue import Entry
from workbench.goal import Goal
from workbench.measuring import Measuring
from workbench.option_form import OptionField, fields_of
from workbench.option_values import filled
from workbench.recipe import Recipe, Step
from workbench.study import Base, Study, Training
from workbench.study_draft import RecipeDraft, StudyDraft

TRAINING, MEASURING = (fields_of(model.model_json_schema()) for model in (Training, Measuring))
# The schema of a study knows what these may be; people are told what they are.
MEANINGS = {
    "seeds": "numbers that chance comes from; each gives runs of its own",
    "limit": "use at most this many rows of each role; all if not given",
    "finetune": "whether the base is trained on the task first; auto: where it has no fitting head",
    "max_length": "tokens of a text that are read; the rest is cut off",
    "measure": "what is measured; time and memory are measured of all versions beside each other",
}
SETTINGS = tuple(
    known.model_copy(update={"description": MEANINGS[known.name]})
    for known in fields_of(Study.model_json_schema())
    if known.name in MEANINGS
)
Options = Mapping[str, Sequence[OptionField]]


@dataclass
class StepForm:
    """One step: a strategy, and its options as they were typed. ``key`` tells it from all others."""

    key: int
    use: str
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass
class RecipeForm:
    """A recipe that is being composed."""

    key: int
    name: str
    steps: list[StepForm] = field(default_factory=list)
    when: str = ""
    control: bool = False

    def move(self, step: StepForm, by: int) -> None:
        """Move a step up or down; at the ends it stays."""
        place = self.steps.index(step)
        self.steps.remove(step)
        self.steps.insert(max(0, place + by), step)


@dataclass
class StudyForm:
    """Everything that was filled in. ``own_tasks`` are tasks over own files, by name, as a study file told them.

    ``task_seeds``, ``task_training`` and ``goals`` have no fields and stay as they were, as far as their tasks and
    recipes do.
    """

    name: str = ""
    about: str = ""
    base: str = Base().name
    revision: str = ""
    tasks: list[str] = field(default_factory=list)
    own_tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    measuring: dict[str, Any] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)
    composed: list[RecipeForm] = field(default_factory=list)
    task_seeds: dict[str, tuple[int, ...]] = field(default_factory=dict)
    task_training: dict[str, dict[str, Any]] = field(default_factory=dict)
    goals: tuple[dict[str, Any], ...] = ()
    _keys: Iterator[int] = field(default_factory=itertools.count)

    @classmethod
    def of(cls, draft: StudyDraft) -> Self:
        """A form filled in with what a draft says."""
        own = {str(task.get("name")): task for task in draft.tasks if not isinstance(task, str)}
        form = cls(
            name=draft.name,
            about=draft.about,
            base=draft.base.name,
            revision=draft.base.revision or "",
            tasks=[task if isinstance(task, str) else str(task.get("name")) for task in draft.tasks],
            own_tasks=own,
            settings={known.name: getattr(draft, known.name) for known in SETTINGS},
            training=dict(draft.training),
            measuring=dict(draft.measuring),
            named=[item for item in draft.recipes if isinstance(item, str)],
            task_seeds=draft.task_seeds,
            task_training=draft.task_training,
            goals=draft.goals,
        )
        for item in draft.recipes:
            if isinstance(item, RecipeDraft):
                form.add_recipe(item)
        return form

    def add_recipe(self, like: RecipeDraft | Recipe | None = None) -> RecipeForm:
        """Begin another recipe, empty or like one there is, under a name that is free."""
        taken = {*self.named, *(recipe.name for recipe in self.composed)}
        wanted = like.name if like else "recipe"
        names = itertools.chain([wanted] if like else [], (f"{wanted}-{number}" for number in itertools.count(1)))
        recipe = RecipeForm(next(self._keys), next(name for name in names if name not in taken))
        if like:
            recipe.when, recipe.control = like.when, like.control
            for step in like.steps:
                self.add_step(recipe, step)
        self.composed.append(recipe)
        return recipe

    def add_step(self, recipe: RecipeForm, step: Step) -> StepForm:
        """Put a step at the end of a recipe."""
        made = StepForm(next(self._keys), step.use, dict(step.options))
        recipe.steps.append(made)
        return made

    def draft(self, options: Options) -> tuple[StudyDraft, list[str]]:
        """The draft that was filled in, and a sentence for each field that cannot be read and was left out.

        ``options`` are the fields of each strategy, by its name.
        """
        faults: list[str] = []
        settings = _read("", SETTINGS, self.settings, faults)
        steps = {recipe.key: tuple(_steps(recipe, options, faults)) for recipe in self.composed}
        composed = [_drafted(recipe, steps[recipe.key]) for recipe in self.composed]
        plain = {
            **{"name": self.name, "about": self.about, **settings},
            "base": Base(name=self.base, revision=self.revision or None),
            "tasks": [self.own_tasks.get(task, task) for task in self.tasks],
            "training": _read("training: ", TRAINING, self.training, faults),
            "measuring": _read("measuring: ", MEASURING, self.measuring, faults),
            "recipes": [*self.named, *composed],
            **{key: self._of_its_tasks(key) for key in ("task_seeds", "task_training")},
            "goals": [goal for goal in self.goals if self._still_asked(goal)],
        }
        return StudyDraft.model_validate(plain), faults

    def _of_its_tasks(self, key: str) -> dict[str, Any]:
        return {task: own for task, own in getattr(self, key).items() if task in self.tasks}

    def _still_asked(self, goal: dict[str, Any]) -> bool:
        recipes = {*self.named, *(recipe.name for recipe in self.composed)}
        wanted = Goal.model_validate(goal)
        return {wanted.recipe, *wanted.others} <= recipes and set(wanted.tasks) <= set(self.tasks)


def options_of(entries: Sequence[Entry]) -> dict[str, tuple[OptionField, ...]]:
    """The fields of every strategy that is not broken, by its name."""
    return {entry.name: fields_of(entry.options) for entry in entries if not entry.broken}


def _drafted(recipe: RecipeForm, steps: tuple[Step, ...]) -> RecipeDraft:
    return RecipeDraft(name=recipe.name, steps=steps, when=recipe.when, control=recipe.control)


def _steps(recipe: RecipeForm, options: Options, faults: list[str]) -> Iterator[Step]:
    for number, step in enumerate(recipe.steps, 1):
        where = f"recipe {recipe.name!r}: step {number}: {step.use}: "
        # Of a strategy that is not installed nothing is known, and it is complained of elsewhere.
        known = step.use in options
        yield Step(use=step.use, options=_read(where, options[step.use], step.raw, faults) if known else step.raw)


def _read(where: str, fields: Sequence[OptionField], raw: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
    result = filled(fields, raw)
    faults += [f"{where}{name}: {said}" for name, said in result.complaints.items()]
    return result.options
