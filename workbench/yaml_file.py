"""YAML with memory: values, and the line each of them stands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from workbench.errors import StudyError, first_line, nearest

Place = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Origin:
    """Where values came from: a file, and the line of every place in it."""

    file: Path | None = None
    lines: dict[Place, int] = field(default_factory=dict)
    prefix: Place = ()

    def at(self, *place: str | int) -> str:
        """Spell ``file:line`` of a place, or of its nearest known parent; empty when there is no file."""
        if self.file is None:
            return ""
        line = self._line_of(self.prefix + place)
        return f"{self.file}:{line}: " if line else f"{self.file}: "

    def below(self, *place: str | int) -> Origin:
        """Narrow down to a part of the file."""
        return Origin(self.file, self.lines, self.prefix + place)

    def _line_of(self, full: Place) -> int | None:
        # YAML spells every key as text, whatever it stands for.
        spelled = tuple(map(str, full))
        for end in range(len(spelled), -1, -1):
            if spelled[:end] in self.lines:
                return self.lines[spelled[:end]]
        return None


class PlainLoader(yaml.SafeLoader):
    """Reads plain values; a value that cannot be what it looks like is an error with its line."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Build one value."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, AttributeError) as error:
            said = f"{node.value!r} cannot be read ({first_line(error)})"
            raise yaml.constructor.ConstructorError(None, None, said, node.start_mark) from None


def read_yaml(path: Path) -> tuple[Any, Origin]:
    """Read a YAML file of plain values; a repeated key or a syntax error names its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: cannot be read as text ({error})") from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = yaml.load(text, Loader=PlainLoader)
    except yaml.YAMLError as error:
        raise StudyError(_syntax_message(path, error)) from None
    origin = Origin(path)
    if node is not None:
        _note_lines(node, (), origin)
    return value, origin


def parse_model(model: type[Model], value: Any, origin: Origin, *, what: str) -> Model:
    """Build a model from YAML values; every complaint names the file, the line and the nearest known key."""
    if not isinstance(value, dict):
        raise StudyError(f"{origin.at()}{what} must be a mapping of keys to values, not {type(value).__name__}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise StudyError("\n".join(explain(error, model, origin))) from None


def explain(error: ValidationError, model: type[BaseModel], origin: Origin, word: str = "key") -> list[str]:
    """Turn a validation error into one sentence per fault, each with its place."""
    faults = [(fault, *_placed(model, fault["loc"])) for fault in error.errors()]
    places = [place for _, place, _ in faults]
    told = [item for item in faults if not _is_echo(item[0], item[1], places)]
    return [_sentence(fault, place, known, origin, word) for fault, place, known in told]


def _is_echo(fault: Any, place: Place, places: list[Place]) -> bool:
    """Whether a fault only repeats another: a mapping is no plain name, and a list without its bad items is short."""
    if fault["type"] == "too_short":
        return any(len(other) > len(place) and other[: len(place)] == place for other in places)
    return fault["type"] == "string_type" and isinstance(fault["input"], dict) and len(place) < len(fault["loc"])


def _sentence(fault: Any, place: Place, known: list[str], origin: Origin, word: str) -> str:
    key = place[-1] if place else ""
    if fault["type"] == "extra_forbidden":
        return f"{origin.at(*place)}unknown {word} {key!r}; {nearest(str(key), known)}"
    spelled = ".".join(str(part) for part in place)
    if fault["type"] == "missing":
        return f"{origin.at(*place[:-1])}{spelled} is missing"
    message = fault["msg"].removeprefix("Value error, ")
    given = fault.get("input")
    shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{origin.at(*place)}{spelled + ': ' if spelled else ''}{message}{shown}"


def _placed(model: type[BaseModel], location: Place) -> tuple[Place, list[str]]:
    """Where a fault is, without the members of unions that pydantic names on the way, and the keys known there."""
    place: list[str | int] = []
    known: list[str] = []
    current: Any = model
    for part in location:
        members = _members(current)
        if len(members) > 1:
            current = next((member for member in members if getattr(member, "__name__", "?") in str(part)), None)
            continue
        current = members[0] if members else None
        is_model = isinstance(current, type) and issubclass(current, BaseModel)
        known = list(current.model_fields) if is_model else []
        current = _inside(current, part)
        place.append(part)
    return tuple(place), known


def _members(annotation: Any) -> list[Any]:
    if get_origin(annotation) in {Union, UnionType}:
        return [member for member in get_args(annotation) if member is not NoneType]
    return [annotation]


def _inside(annotation: Any, part: str | int) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        found = annotation.model_fields.get(str(part))
        return found.annotation if found else None
    arguments = get_args(annotation)
    return arguments[-1 if get_origin(annotation) is dict else 0] if arguments else None


def _note_lines(node: yaml.Node, place: Place, origin: Origin, above: tuple[yaml.Node, ...] = ()) -> None:
    if any(node is other for other in above):
        raise StudyError(f"{origin.at(*place)}a value contains itself")
    above = (*above, node)
    origin.lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            here = (*place, key.value)
            origin.lines[here] = key.start_mark.line + 1
            if key.value in seen:
                raise StudyError(f"{origin.at(*here)}key {key.value!r} stands twice; keep one")
            seen.add(key.value)
            _note_lines(value, here, origin, above)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _note_lines(item, (*place, str(index)), origin, above)


def _syntax_message(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or first_line(error)
    return f"{path}:{mark.line + 1}: not valid YAML: {problem}" if mark else f"{path}: not valid YAML: {problem}"
