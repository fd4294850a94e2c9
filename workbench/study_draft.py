"""Study drafts: a study while it is being composed. It may still be wrong, says how, and is written as YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.base_name import base_name_fault
from workbench.cache import Cache
from workbench.catalogue import Entry, catalogue
from workbench.errors import UnknownNameError, WorkbenchError
from workbench.fit import NO_CONTROL, control_clash, misfit
from workbench.measuring import Measuring
from workbench.option_form import fields_of
from workbench.option_values import complaints_of
from workbench.recipe import BASELINE, Recipe, Step, cookbook
from workbench.strategy import SEQUENCE_KINDS
from workbench.study import Base, Study, Training
from workbench.tasks.own_files import OwnTask
from workbench.yaml_file import Origin, explain, parse_model
from workbench.yaml_text import block_text

# The order in which people write a study.
KEYS = (
    *("name", "about", "base", "tasks", "seeds", "task_seeds", "finetune", "training", "task_training", "limit"),
    *("max_length", "recipes", "measure", "measuring", "goals"),
)
SETTINGS: dict[str, BaseModel] = {"training": Training(), "measuring": Measuring()}
FILES = ("train", "test")


class Draft(BaseModel):
    """A frozen part of a draft."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RecipeDraft(Draft):
    """A recipe written out."""

    name: str
    steps: tuple[Step, ...] = ()
    when: str = ""
    control: bool = False
    control_of: str = ""


class StudyDraft(Draft):
    """What a study will say; nothing of it is checked yet.

    A task is a name, or a mapping of the keys of a task over one's own files. ``training`` and ``measuring`` hold what
    differs from the defaults. Relative paths are relative to wherever the draft is ``anchored``.
    """

    name: str
    about: str = ""
    base: Base = Base()
    tasks: tuple[str | dict[str, Any], ...] = ()
    seeds: tuple[int, ...] = (0,)
    task_seeds: dict[str, tuple[int, ...]] = {}
    finetune: str = "auto"
    training: dict[str, Any] = {}
    task_training: dict[str, dict[str, Any]] = {}
    recipes: tuple[str | RecipeDraft, ...] = ()
    limit: int | None = None
    max_length: int = 128
    measure: tuple[str, ...] = ("quality", "size", "latency", "memory")
    measuring: dict[str, Any] = {}
    goals: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, study: Study) -> Self:
        """A draft that says what a study says, its relative paths made whole."""
        facts: dict[str, Any] = {key: getattr(study, key) for key in KEYS}
        tasks = [_task_values(task) if isinstance(task, OwnTask) else task for task in study.tasks]
        recipes = [item.model_dump() if isinstance(item, Recipe) else item for item in study.recipes]
        settings = {key: facts[key].model_dump(exclude_defaults=True) for key in SETTINGS}
        settings["task_training"] = {
            task: own.model_dump(exclude_unset=True) for task, own in study.task_training.items()
        }
        settings["goals"] = [goal.model_dump(exclude_defaults=True) for goal in study.goals]
        return cls.model_validate({**facts, **settings, "tasks": tasks, "recipes": recipes}).anchored(study.folder)

    def anchored(self, folder: Path) -> Self:
        """The same draft with every path whole, so that its file may stand anywhere."""
        base = self.base
        if base.is_folder:
            base = base.model_copy(update={"name": _whole(folder, base.name)})
        tasks = tuple(task if isinstance(task, str) else _with_whole_paths(task, folder) for task in self.tasks)
        return self.model_copy(update={"base": base, "tasks": tasks})

    def values(self) -> dict[str, Any]:
        """The study as plain values, only what differs from the defaults, in the order people write it."""
        plain = {key: _plain(getattr(self, key)) for key in KEYS}
        for key, usual in SETTINGS.items():
            defaults = usual.model_dump()
            plain[key] = {name: value for name, value in plain[key].items() if (name, value) not in defaults.items()}
        fields = type(self).model_fields
        return {key: value for key, value in plain.items() if value != _plain(fields[key].get_default())}

    def text(self) -> str:
        """The study as YAML."""
        return block_text(self.values())

    def study(self) -> Study:
        """The study itself; a ``StudyError`` says what it cannot be."""
        return parse_model(Study, self.values(), Origin(), what="a study")


def problems(draft: StudyDraft, entries: Sequence[Entry] | None = None) -> list[str]:
    """What is wrong with a draft, as far as can be told without opening its base or its data.

    Nothing that could be carried out is complained of. Strategies are judged by what they declare, in the catalogue
    unless ``entries`` are given.
    """
    known = {entry.name: entry for entry in (catalogue(Cache.default()) if entries is None else entries)}
    base = base_name_fault(draft.base)
    kinds, tasks = _kinds(draft)
    recipes, unknown = _recipes(draft)
    found = [*_value_faults(draft), *([base] if base else []), *tasks, *unknown, *_control_faults(recipes, known)]
    for recipe in recipes:
        found += [f"recipe {recipe.name!r}: {said}" for said in _step_faults(recipe.steps, known, kinds)]
    return list(dict.fromkeys(found))


def _value_faults(draft: StudyDraft) -> list[str]:
    try:
        Study.model_validate(draft.values())
    except ValidationError as error:
        return explain(error, Study, Origin())
    return []


def _kinds(draft: StudyDraft) -> tuple[list[str], list[str]]:
    """The kinds of the draft's tasks, and what is wrong with the names of those that are unknown or broken."""
    kinds, faults = [], []
    for task in draft.tasks:
        if not isinstance(task, str):
            kinds += [kind for kind in SEQUENCE_KINDS if kind == task.get("kind", SEQUENCE_KINDS[0])]
            continue
        try:
            kinds += [known.kind for known in Study(name="draft", tasks=(task,)).chosen_tasks()]
        except WorkbenchError as error:
            faults.append(str(error))
    return list(dict.fromkeys(kinds)), faults


def _recipes(draft: StudyDraft) -> tuple[list[RecipeDraft], list[str]]:
    """The recipes of the draft, those of the cookbook written out, and what is wrong with unknown names."""
    book = cookbook()
    recipes, faults = [], []
    for item in draft.recipes:
        if isinstance(item, RecipeDraft):
            recipes.append(item)
        elif item in book:
            recipes.append(RecipeDraft.model_validate(book[item].model_dump()))
        elif item != BASELINE:
            faults.append(str(UnknownNameError("recipe", item, book)))
    return recipes, faults


def _control_faults(recipes: Sequence[RecipeDraft], known: Mapping[str, Entry]) -> Iterator[str]:
    taken = [recipe.name for recipe in recipes]
    for recipe in recipes:
        entries = [known.get(step.use) for step in recipe.steps]
        if recipe.control and not any(entry is None or entry.broken or entry.own_control for entry in entries):
            yield f"recipe {recipe.name!r}: {NO_CONTROL}"
        clash = control_clash(recipe.name, taken) if recipe.control else None
        if clash:
            yield clash


def _step_faults(steps: Sequence[Step], known: Mapping[str, Entry], kinds: Sequence[str]) -> Iterator[str]:
    traits: set[str] = set()
    for number, step in enumerate(steps, 1):
        said, entry = f"step {number}: ", known.get(step.use)
        if entry is None or entry.broken:
            yield said + (entry.broken if entry else str(UnknownNameError("strategy", step.use, known)))
            traits = set()
            continue
        faults = complaints_of(fields_of(entry.options), step.options)
        yield from (f"{said}{step.use}: {option}: {fault}" for option, fault in faults.items())
        misfits = [misfit(entry, (), kind) for kind in kinds] + [misfit(entry, traits)]
        yield from (f"{said}{step.use}: {fault}" for fault in misfits if fault)
        # A strategy with a check of its own may give an encoder that has lost what earlier steps gave it.
        traits = {*entry.gives, *(() if entry.own_check else traits)}


def _plain(value: Any) -> Any:
    """Values as YAML spells them."""
    if isinstance(value, Base):
        return value.name if value == Base(name=value.name) else {"name": value.name} | _differing(value)
    if isinstance(value, RecipeDraft):
        return {"name": value.name, **_differing(value), "steps": _plain(value.steps)}
    if isinstance(value, Step):
        return _step_values(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple | set) else value


def _differing(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(exclude_defaults=True, exclude={"name", "steps"})


def _step_values(step: Step) -> Any:
    options = _plain(step.options)
    if not options:
        return step.use
    # An option may be called like a key of the step itself.
    return {"use": step.use, "options": options} if {"use", "options"} & set(options) else {"use": step.use, **options}


def _task_values(task: OwnTask) -> dict[str, Any]:
    plain = task.model_dump(mode="json", exclude_defaults=True)
    return {**plain, "text": task.text[0] if len(task.text) == 1 else list(task.text)}


def _with_whole_paths(task: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    whole = {key: _whole(folder, task[key]) for key in FILES if isinstance(task.get(key), str) and task[key]}
    return {**task, **whole}


def _whole(folder: Path, name: str) -> str:
    try:
        return str((folder / Path(name).expanduser()).resolve())
    except (RuntimeError, ValueError, OSError):
        # There is no such user, or no path can be spelled so; whoever opens it will say it better.
        return name
