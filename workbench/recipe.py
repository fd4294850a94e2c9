"""Step and Recipe: what is done to an encoder, in which order, as frozen data."""

from __future__ import annotations

import importlib
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from workbench.errors import StudyError, first_line
from workbench.names import checked_name
from workbench.plugins import RECIPES, found
from workbench.yaml_file import Origin, parse_model, read_yaml

BASELINE = "baseline"


class Step(BaseModel):
    """One strategy with its options: in YAML, ``use: NAME`` with the options beside it, or just the name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: str
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"use": value}
        if isinstance(value, dict) and "use" in value and set(value) != {"use", "options"}:
            return {
                "use": value["use"],
                "options": {key: item for key, item in value.items() if key != "use"},
            }
        return value


class Recipe(BaseModel):
    """An ordered list of steps under a name; a recipe without steps is the baseline.

    With ``control``, the same recipe without its teacher is run beside it, under the name ``NAME-control``; that
    recipe says in ``control_of`` whose control it is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    steps: tuple[Step, ...] = ()
    when: str = ""
    control: bool = Field(default=False, description="also run the same recipe without its teacher")
    control_of: str = ""
    _origin: Origin = PrivateAttr(default_factory=Origin)

    _name_is_safe = field_validator("name")(checked_name)

    @model_validator(mode="after")
    def _baseline_is_reserved(self) -> Self:
        if self.name == BASELINE and self.steps:
            raise ValueError(f"{BASELINE!r} names the recipe without steps; choose another name")
        if self.name != BASELINE and not self.steps:
            raise ValueError("a recipe needs at least one step (the baseline is always run and need not be listed)")
        return self

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a recipe file."""
        value, origin = read_yaml(path)
        return parse_model(cls, value, origin, what="a recipe").placed(origin)

    def placed(self, origin: Origin) -> Self:
        """Remember where this recipe was read, so that later complaints can name file and line."""
        self._origin = origin
        return self

    @property
    def origin(self) -> Origin:
        """Where this recipe was read."""
        return self._origin

    def at(self, *place: str | int) -> str:
        """Spell where a part of this recipe was read, followed by the recipe's name."""
        return f"{self._origin.at(*place)}recipe {self.name!r}: "


def cookbook() -> dict[str, Recipe]:
    """Collect the named recipes that installed packages bring along."""
    return read_cookbook()[0]


def read_cookbook() -> tuple[dict[str, Recipe], list[str]]:
    """All readable recipes of installed packages, and a sentence for each that is broken or claims a name twice."""
    found_at: dict[str, list[Recipe]] = {}
    remarks = []
    for provider in found(RECIPES):
        try:
            paths = _recipe_files(provider.value)
        except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything
            remarks.append(f"recipes of {provider.value} from {provider.label} are broken: {first_line(error)}")
            continue
        for path in paths:
            try:
                recipe = Recipe.load(path)
            except StudyError as error:
                remarks.append(f"broken: {error}")
                continue
            found_at.setdefault(recipe.name, []).append(recipe)
    for name, rivals in found_at.items():
        if len(rivals) > 1:
            places = " and ".join(str(recipe.origin.file) for recipe in rivals)
            remarks.append(f"recipe {name!r} is provided twice, by {places}; uninstall one")
    return {name: rivals[0] for name, rivals in found_at.items() if len(rivals) == 1}, remarks


def _recipe_files(package: str) -> list[Path]:
    return sorted(Path(str(files(importlib.import_module(package)))).glob("*.yaml"))
