"""Plan: everything a study asks for, built and checked before any work, so that a typo costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from workbench.errors import PlanError, PluginError
from workbench.families import family_of, longest_input, quantity
from workbench.files import hash_of
from workbench.finetuned import OpenedBase
from workbench.fit import NO_CONTROL, control_clash, control_name
from workbench.metrics import check_metrics
from workbench.plugins import STRATEGIES, load, provider_of
from workbench.recipe import Recipe, Step
from workbench.run import SCHEMA
from workbench.sketch import Sketch
from workbench.step_keys import step_told
from workbench.strategy import Strategy, check_fit
from workbench.study import Study
from workbench.tasks.data import TaskData, read_task
from workbench.tasks.task import Task
from workbench.yaml_file import explain


@dataclass(frozen=True)
class PlannedRun:
    """One recipe on one task with one seed, ready to be carried out."""

    study: Study
    recipe: Recipe
    strategies: tuple[Strategy, ...]
    data: TaskData
    seed: int
    base_key: str

    @property
    def fingerprint(self) -> str:
        """A hash of everything that decides the run's results."""
        return hash_of(
            {
                "schema": SCHEMA,
                "study": self.study.name,
                "recipe": self.recipe.name,
                "steps": [step_identity(strategy) for strategy in self.strategies],
                "base": self.base_key,
                "data": self.data.fingerprint,
                "metrics": self.data.task.metrics,
                "seed": self.seed,
                # Timing runs again, or otherwise, makes no other runs of them.
                "measure": self.study.run_probes,
            }
        )

    @property
    def id(self) -> str:
        """The name of the run's folder."""
        return f"{self.data.task.name}-{self.recipe.name}-s{self.seed}-{self.fingerprint[:10]}"

    @property
    def title(self) -> str:
        """What a person calls the run."""
        return f"{self.data.task.name} seed {self.seed}: {self.recipe.name}"


@dataclass(frozen=True)
class Plan:
    """All runs of a study, each task and seed's baseline before what is compared with it.

    ``remarks`` are sentences on steps that will be carried out as written, but perhaps were not meant so.
    """

    study: Study
    base: OpenedBase
    runs: tuple[PlannedRun, ...]
    remarks: tuple[str, ...]


def make_plan(study: Study, only: tuple[str, ...] = ()) -> Plan:
    """Build every strategy, check order and fit, read the data; the first thing that cannot work is an error."""
    recipes = study.chosen_recipes(only)
    strategies = {recipe.name: _build(recipe) for recipe in recipes}
    controls = [_control(recipe, strategies[recipe.name]) for recipe in recipes if recipe.control]
    strategies |= {recipe.name: _build(recipe) for recipe in controls}
    recipes = _side_by_side(recipes, controls)
    tasks = study.chosen_tasks()
    opened = OpenedBase.open(study)
    remarks: list[str] = []
    for task in tasks:
        check_metrics(task)
        opened.needs_training(task)
        for recipe in recipes:
            sketch = sketch_of(opened.config, task, opened.tokenizer_fingerprint)
            remarks += _checked(recipe, strategies[recipe.name], sketch)
    runs = []
    for task in tasks:
        data = read_task(task, study.limit)
        for seed in study.seeds_of(task.name):
            key = opened.key(data, seed)
            runs += [PlannedRun(study, recipe, strategies[recipe.name], data, seed, key) for recipe in recipes]
    return Plan(study, opened, tuple(runs), tuple(dict.fromkeys(remarks)))


def sketch_of(config: Any, task: Task, tokenizer: str = "") -> Sketch:
    """The outline of a base under a head for the task."""
    family = family_of(config)
    return Sketch(
        family=family.name,
        layers=quantity(config, "num_hidden_layers"),
        hidden=quantity(config, "hidden_size"),
        heads=quantity(config, "num_attention_heads"),
        ffn=quantity(config, "intermediate_size"),
        vocabulary=int(config.vocab_size),
        kind=task.kind,
        labels=task.labels,
        groups=int(config.num_hidden_groups) if family.shares_layers else 0,
        tokenizer=tokenizer,
        positions=longest_input(config),
    )


def build_strategy(name: str, options: dict[str, Any], where: str = "") -> Strategy:
    """Make a strategy from its name and options; ValidationError passes through for the caller to explain."""
    loaded = load(STRATEGIES, name, where=where)
    if not (isinstance(loaded, type) and issubclass(loaded, Strategy)):
        raise PluginError(f"{where}strategy {name!r} is provided as {loaded!r}, not as a Strategy class")
    if loaded.name != name:
        raise PluginError(f"{where}strategy {name!r} calls itself {loaded.name!r}; the two names must be one")
    return loaded(**options)


def _control(recipe: Recipe, strategies: tuple[Strategy, ...]) -> Recipe:
    """The recipe without its teacher: every step that has a control is replaced by it."""
    replaced = [strategy.control() for strategy in strategies]
    if not any(replaced):
        raise PlanError(f"{recipe.at('control')}{NO_CONTROL}")
    steps = tuple(
        Step(use=strategy.name, options=(other or strategy).model_dump(mode="json"))
        for strategy, other in zip(strategies, replaced, strict=True)
    )
    control = Recipe(
        name=control_name(recipe.name),
        steps=steps,
        when=f"what {recipe.name} comes to without its teacher",
        control_of=recipe.name,
    )
    return control.placed(recipe.origin)


def _side_by_side(recipes: list[Recipe], controls: list[Recipe]) -> list[Recipe]:
    taken = {recipe.name for recipe in recipes}
    for control in controls:
        clash = control_clash(control.control_of, taken)
        if clash:
            raise PlanError(f"{control.origin.at()}{clash}")
    following = {control.control_of: [control] for control in controls}
    return [item for recipe in recipes for item in (recipe, *following.get(recipe.name, []))]


def _build(recipe: Recipe) -> tuple[Strategy, ...]:
    built = []
    for index, step in enumerate(recipe.steps):
        said = f"step {index + 1}: "
        try:
            built.append(build_strategy(step.use, step.options, recipe.at("steps", index) + said))
        except ValidationError as error:
            strategy = load(STRATEGIES, step.use)
            faults = explain(error, strategy, recipe.origin.below("steps", index), word="option")
            raise PlanError(
                "\n".join(f"{fault} (recipe {recipe.name!r}, {said}{step.use})" for fault in faults)
            ) from None
    return tuple(built)


def _checked(recipe: Recipe, strategies: tuple[Strategy, ...], sketch: Sketch) -> list[str]:
    """Refuse what cannot work, by place; otherwise give what is to be remarked, by place."""
    remarks = []
    for index, strategy in enumerate(strategies):
        where = f"step {index + 1}: {strategy.name}: "
        try:
            sketch = check_fit(strategy, sketch)
        except PlanError as error:
            raise PlanError(f"{recipe.at('steps', index)}{where}{error}") from None
        remarks += [f"recipe {recipe.name!r}, {where}{remark}" for remark in strategy.remarks(sketch)]
    return remarks


def step_identity(strategy: Strategy) -> dict[str, Any]:
    """What decides a step: the strategy, its options, and who provides it in which version."""
    provider = provider_of(STRATEGIES, strategy.name)
    return step_told(strategy.name, strategy.model_dump(mode="json"), provider.distribution, provider.version)
