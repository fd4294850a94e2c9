"""Option values: what was filled into a form becomes options, or complaints in words, field by field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml

from workbench.errors import first_line, nearest
from workbench.option_form import LISTS, Number, OptionField
from workbench.yaml_file import PlainLoader
from workbench.yaml_text import block_text

TRUE = ("true", "yes", "on", "1", "t", "y")
FALSE = ("false", "no", "off", "0", "f", "n")
NUMBERS = ("whole number", "number", "whole numbers", "numbers")


@dataclass(frozen=True)
class Filled:
    """What a form came to: the options that differ from their defaults, and what is wrong, by field."""

    options: dict[str, Any] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)


def filled(fields: Sequence[OptionField], values: Mapping[str, Any]) -> Filled:
    """Turn a form's values into options.

    A value may be of its own sort or spelled as text: numbers in a list with commas or spaces between, texts one a
    line, anything nested as YAML. What is left empty is null where null is allowed, else the default; what is not
    among the values is the default.
    """
    result = Filled(complaints=_unknown(fields, values))
    for known in fields:
        try:
            if known.name in values or known.required:
                _fill(known, values.get(known.name), result.options)
        except ValueError as error:
            result.complaints[known.name] = str(error)
    return result


def complaints_of(fields: Sequence[OptionField], options: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with options as a recipe holds them, by field; what only the strategy can judge is not told."""
    faults = {known.name: fault(known, options[known.name]) for known in fields if known.name in options}
    missing = {known.name: "is missing" for known in fields if known.required and known.name not in options}
    return {**_unknown(fields, options), **missing, **{name: said for name, said in faults.items() if said}}


def spelled(known: OptionField, value: Any) -> str:
    """Spell a value as the text that ``filled`` reads back as the same."""
    if value is None:
        return ""
    if known.kind == "texts":
        return "\n".join(value)
    if known.kind in LISTS:
        return ", ".join(map(str, value))
    if known.kind == "nested":
        return block_text(value).removesuffix("...\n")
    return _word(value)


def fault(known: OptionField, value: Any) -> str | None:
    """What is wrong with one value, if something is."""
    if value is None:
        return None if known.optional or known.kind == "nested" else "must not be empty"
    if known.kind == "nested":
        return _nested_fault(known, value)
    if known.kind not in LISTS:
        return _single_fault(known, value) or (_length_fault(known, value) if known.kind == "text" else None)
    if not isinstance(value, list | tuple | set):
        return f"{value!r} is not a list"
    told = (f"item {place}: {said}" for place, item in enumerate(value, 1) if (said := _single_fault(known, item)))
    return next(told, None) or _length_fault(known, value)


def _fill(known: OptionField, raw: Any, options: dict[str, Any]) -> None:
    if known.has_default and _same(raw, known.default):
        return
    value = None if _is_empty(known, raw) else _read(known, raw)
    if value is None:
        if known.required and not known.optional:
            raise ValueError("is missing")
        if not known.optional or (known.default is None and not known.required):
            return
    said = fault(known, value)
    if said:
        raise ValueError(said)
    if not (known.has_default and _same(value, known.default)):
        options[known.name] = value


def _is_empty(known: OptionField, raw: Any) -> bool:
    """Whether nothing was filled in; an empty text or list that must be something is itself."""
    if known.kind == "text" or known.kind in LISTS:
        return raw is None or (known.optional and raw in ("", [], ())) or (known.required and raw == "")
    return raw is None or (isinstance(raw, str) and not raw.strip())


def _read(known: OptionField, raw: Any) -> Any:
    if known.kind in LISTS:
        return _read_list(known, raw)
    if known.kind == "nested":
        return _read_yaml(raw) if isinstance(raw, str) else raw
    return _read_single(known, raw)


def _read_list(known: OptionField, raw: Any) -> Any:
    if isinstance(raw, str):
        parts = raw.splitlines() if known.kind == "texts" else raw.strip(" []()\n").replace(",", " ").split()
        raw = [part.strip() for part in parts if part.strip()]
    return [_read_single(known, item) for item in raw] if isinstance(raw, list | tuple | set) else raw


def _read_single(known: OptionField, raw: Any) -> Any:
    """The value itself where it can be told; otherwise what was given, to be complained of."""
    if known.choices:
        return next((choice for choice in known.choices if _same(choice, raw) or _word(choice) == raw), raw)
    told = _switch(raw) if known.kind == "switch" else _number(known, raw) if known.kind in NUMBERS else None
    return raw if told is None else told


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_yaml(text: str) -> Any:
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise ValueError("anchors and aliases are not taken here; write the value out")
        return yaml.load(text, Loader=PlainLoader)
    except yaml.YAMLError as error:
        said = getattr(error, "problem", None) or first_line(error)
        raise ValueError(f"is not valid YAML: {said}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _single_fault(known: OptionField, value: Any) -> str | None:
    if known.choices:
        said = f"is not {value!r}; {nearest(str(value), map(str, known.choices))}"
        return None if value in known.choices else said
    if known.kind == "switch":
        return f"{value!r} is neither true nor false" if _switch(value) is None else None
    if known.kind not in NUMBERS:
        return None if isinstance(value, str) else f"{value!r} is not a text"
    number = _number(known, value)
    if number is None:
        whole = "whole " if known.kind.startswith("whole") else ""
        return f"{value!r} is not a {whole}number"
    return _bound_fault(known, number)


def _bound_fault(known: OptionField, number: Number) -> str | None:
    if known.least is not None and number < known.least:
        return f"must be {known.least} or more, not {number}"
    if known.above is not None and number <= known.above:
        return f"must be more than {known.above}, not {number}"
    if known.most is not None and number > known.most:
        return f"must be {known.most} or less, not {number}"
    if known.below is not None and number >= known.below:
        return f"must be less than {known.below}, not {number}"
    if known.multiple_of and isinstance(number, int) and isinstance(known.multiple_of, int):
        return f"must be a multiple of {known.multiple_of}, not {number}" if number % known.multiple_of else None
    return None


def _length_fault(known: OptionField, value: Any) -> str | None:
    unit = "characters" if known.kind == "text" else "items"
    if known.shortest is not None and len(value) < known.shortest:
        return f"needs {known.shortest} {unit} at least"
    if known.longest is not None and len(value) > known.longest:
        return f"takes {known.longest} {unit} at most"
    return None


def _nested_fault(known: OptionField, value: Any) -> str | None:
    if not known.inner:
        return None
    if not isinstance(value, Mapping):
        return f"must be a mapping with keys such as {known.inner[0].name!r}, not {value!r}"
    told = complaints_of(known.inner, value)
    unknown = _unknown(known.inner, value) if not known.closed else {}
    return "; ".join(f"{name}: {said}" for name, said in told.items() if name not in unknown) or None


def _number(known: OptionField, value: Any) -> Number | None:
    """The number a value is or spells; absent where it is none, and where a whole one is wanted and it is not."""
    if not isinstance(value, str | int | float):
        return None
    with suppress(ValueError):
        return int(value) if isinstance(value, str | int) else _whole_or_not(known, value)
    with suppress(ValueError):
        return _whole_or_not(known, float(value))
    return None


def _whole_or_not(known: OptionField, number: float) -> Number | None:
    if not math.isfinite(number):
        return None
    if known.kind.startswith("whole"):
        return int(number) if number.is_integer() else None
    return number


def _switch(value: Any) -> bool | None:
    word = str(value).strip().lower() if isinstance(value, str | int) else ""
    return True if word in TRUE else False if word in FALSE else None


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, tuple | list) and isinstance(other, tuple | list):
        return len(value) == len(other) and all(map(_same, value, other))
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _unknown(fields: Sequence[OptionField], values: Iterable[str]) -> dict[str, str]:
    names = [known.name for known in fields]
    return {str(name): f"unknown option {name!r}; {nearest(str(name), names)}" for name in values if name not in names}
