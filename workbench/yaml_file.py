"""YAML with memory: values, and the line each of them stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from workbench.errors import StudyError, nearest

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
        for end in range(len(full), -1, -1):
            if full[:end] in self.lines:
                return self.lines[full[:end]]
        return None


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
        value = yaml.safe_load(text)
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
    return [_sentence(fault, model, origin, word) for fault in error.errors()]


def _sentence(fault: Any, model: type[BaseModel], origin: Origin, word: str) -> str:
    place = tuple(part for part in fault["loc"] if not _is_union_tag(part))
    key = place[-1] if place else ""
    if fault["type"] == "extra_forbidden":
        known = _fields_at(model, place[:-1])
        return f"{origin.at(*place)}unknown {word} {key!r}; {nearest(str(key), known)}"
    spelled = ".".join(str(part) for part in place)
    if fault["type"] == "missing":
        return f"{origin.at(*place[:-1])}{spelled} is missing"
    message = fault["msg"].removeprefix("Value error, ")
    given = fault.get("input")
    shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{origin.at(*place)}{spelled + ': ' if spelled else ''}{message}{shown}"


def _is_union_tag(part: str | int) -> bool:
    # pydantic names the tried member of a union in the location ("str", "OwnTask", "function-before[...]").
    return isinstance(part, str) and (part in {"str", "bool", "int"} or part[:1].isupper() or "[" in part)


def _fields_at(model: type[BaseModel], place: Place) -> list[str]:
    """Find the known keys at a place by walking the model's annotations."""
    current: type[BaseModel] | None = model
    for part in place:
        if current is None:
            break
        if isinstance(part, str) and part in current.model_fields:
            current = _model_within(current.model_fields[part].annotation)
    return list(current.model_fields) if current else []


def _model_within(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    arguments: Sequence[Any] = getattr(annotation, "__args__", ())
    return next((found for found in map(_model_within, arguments) if found), None)


def _note_lines(node: yaml.Node, place: Place, origin: Origin) -> None:
    origin.lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            here = (*place, key.value)
            origin.lines[here] = key.start_mark.line + 1
            if key.value in seen:
                raise StudyError(f"{origin.at(*here)}key {key.value!r} stands twice; keep one")
            seen.add(key.value)
            _note_lines(value, here, origin)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _note_lines(item, (*place, index), origin)


def _syntax_message(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return f"{path}:{mark.line + 1}: not valid YAML: {problem}" if mark else f"{path}: not valid YAML: {problem}"
