"""Option form: options as plain descriptions of form fields, read from a JSON schema.

A strategy's schema comes from the catalogue, so that neither torch nor the strategy is imported; the schemas of a
study's own settings (``Training``, ``Measuring``) are read alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Kind = Literal["whole number", "number", "switch", "choice", "text", "whole numbers", "numbers", "texts", "nested"]
Schema = Mapping[str, Any]
Number = int | float

SINGLE: dict[str, Kind] = {"integer": "whole number", "number": "number", "boolean": "switch", "string": "text"}
LISTED: dict[str, Kind] = {"integer": "whole numbers", "number": "numbers", "string": "texts"}
LISTS = frozenset(LISTED.values())
# A text of another format (a date, a duration) may be given as something else than a text.
TEXT_FORMATS = {None, "path", "file-path", "directory-path"}
# How deep nested keys are described; a schema may contain itself.
DEEPEST = 3
MOST_REFERENCES = 20


class OptionField(BaseModel):
    """One field of a form.

    ``required``: there is no default at all. ``has_default`` is false where the default is decided later, by the
    strategy. ``optional``: it may be left empty, which is a value of its own (null). Bounds and choices are those of
    a list's items; ``shortest`` and ``longest`` count characters or items. A ``nested`` field is filled in as YAML;
    the keys it knows, where it has keys, are in ``inner``, and a ``closed`` one takes no others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind
    description: str = ""
    required: bool = False
    optional: bool = False
    has_default: bool = False
    default: Any = None
    choices: tuple[Any, ...] = ()
    least: Number | None = None
    most: Number | None = None
    above: Number | None = None
    below: Number | None = None
    multiple_of: Number | None = None
    shortest: int | None = None
    longest: int | None = None
    inner: tuple[OptionField, ...] = ()
    closed: bool = False


def fields_of(schema: Schema) -> tuple[OptionField, ...]:
    """Describe the fields of a JSON schema as pydantic makes it, in its order."""
    known = schema.get("$defs", {})
    return _fields(_settled(schema, known), known, DEEPEST)


def _fields(schema: Schema, known: Schema, depth: int) -> tuple[OptionField, ...]:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return tuple(_field(name, part, name in required, known, depth) for name, part in properties.items())


def _field(name: str, part: Any, required: bool, known: Schema, depth: int) -> OptionField:
    outer = _settled(part, known)
    schema, optional = _without_null(outer, known)
    kind = _kind(schema, known)
    items = _items(schema, known) if kind in LISTS else schema
    choices = _choices(items or {})
    facts = {"inner": _fields(schema, known, depth - 1)} if kind == "nested" and depth else {}
    return OptionField(
        name=name,
        kind=kind,
        description=outer.get("description", ""),
        required=required,
        optional=optional or None in choices,
        has_default="default" in outer,
        default=outer.get("default"),
        choices=tuple(choice for choice in choices if choice is not None),
        **_bounds(items or {}),
        **_lengths(schema),
        **facts,
        closed=schema.get("additionalProperties") is False,
    )


def _settled(part: Any, known: Schema) -> dict[str, Any]:
    """A part of a schema with what it refers to written out."""
    settled = dict(part) if isinstance(part, Mapping) else {}
    for _ in range(MOST_REFERENCES):
        alone = settled.get("allOf", ())
        if "$ref" in settled:
            target = known.get(str(settled.pop("$ref")).rpartition("/")[2], {})
        elif len(alone) == 1:
            target = settled.pop("allOf")[0]
        else:
            break
        settled = {**target, **settled}
    return settled


def _without_null(schema: dict[str, Any], known: Schema) -> tuple[dict[str, Any], bool]:
    """What a value must be where it is not null, and whether it may be null."""
    members = [_settled(member, known) for member in schema.get("anyOf", schema.get("oneOf", ()))]
    others = [member for member in members if member.get("type") != "null"]
    if len(others) != 1:
        return schema, len(others) < len(members)
    return others[0], len(members) > 1


def _kind(schema: Schema, known: Schema) -> Kind:
    if "enum" in schema or "const" in schema:
        return "choice"
    sort = schema.get("type")
    if sort == "array":
        item = _items(schema, known) or {}
        return LISTED.get(str(item.get("type")), "nested") if _is_plain(item) else "nested"
    return SINGLE.get(str(sort), "nested") if _is_plain(schema) else "nested"


def _is_plain(schema: Schema) -> bool:
    return schema.get("format") in TEXT_FORMATS


def _items(schema: Schema, known: Schema) -> dict[str, Any] | None:
    """What every item of a list must be; absent where they differ or nothing is said of them."""
    fixed = [_settled(item, known) for item in schema.get("prefixItems", ())]
    if fixed:
        return fixed[0] if all(item == fixed[0] for item in fixed) else None
    return _settled(schema["items"], known) if schema.get("items") else None


def _choices(schema: Schema) -> tuple[Any, ...]:
    return (schema["const"],) if "const" in schema else tuple(schema.get("enum", ()))


def _bounds(schema: Schema) -> dict[str, Any]:
    words = {
        "least": "minimum",
        "most": "maximum",
        "above": "exclusiveMinimum",
        "below": "exclusiveMaximum",
        "multiple_of": "multipleOf",
    }
    return {name: schema.get(word) for name, word in words.items()}


def _lengths(schema: Schema) -> dict[str, Any]:
    short, long = ("minItems", "maxItems") if schema.get("type") == "array" else ("minLength", "maxLength")
    return {"shortest": schema.get(short), "longest": schema.get(long)}
