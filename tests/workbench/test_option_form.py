"""A strategy's schema becomes fields of a form, and what is filled in becomes options that the strategy takes."""

from __future__ import annotations

import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from third_party.installing import advertised

from workbench.cache import Cache
from workbench.catalogue import Entry, catalogue
from workbench.measuring import Measuring
from workbench.option_form import OptionField, fields_of
from workbench.option_values import complaints_of, fault, filled, spelled
from workbench.plugins import STRATEGIES, found
from workbench.study import Training


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    layers: int = Field(ge=1)
    widths: list[int] = []
    inner: Shape | None = None


class Odd(BaseModel):
    """Options of every shape that strangers may think of."""

    model_config = ConfigDict(extra="forbid")

    must: int = Field(ge=1, le=9, description="has no default")
    word: str = "plain"
    short_word: str = Field(default="ab", min_length=2, max_length=4)
    named: str | None = None
    place: Path = Path("here")
    size: int = Field(default=8, multiple_of=4)
    share: float = Field(default=0.5, gt=0, lt=1)
    perhaps: float | None = 0.5
    wanted: bool | None = None
    colour: Colour = Colour.RED
    one: Literal["only"] = "only"
    level: Literal[1, 2, 3] = 2
    kind: Literal["a", "b", None] = "a"
    pair: tuple[int, int] = (1, 2)
    mixed_pair: tuple[int, str] = (1, "x")
    floats: list[float] = Field(default=[0.5], max_length=3)
    words: tuple[str, ...] = ("a", "b")
    picks: list[Literal["x", "y"]] = ["x"]
    either: int | str = 3
    later: list[int] = Field(default_factory=lambda: [1])
    day: datetime.date = datetime.date(2024, 1, 2)
    shape: Shape | None = None
    table: dict[str, int] = {"a": 1}
    anything: Any = None


FIELDS = {field.name: field for field in fields_of(Odd.model_json_schema())}
EVERY = list(FIELDS.values())
KINDS = {
    "must": "whole number",
    "word": "text",
    "short_word": "text",
    "named": "text",
    "place": "text",
    "size": "whole number",
    "share": "number",
    "perhaps": "number",
    "wanted": "switch",
    "colour": "choice",
    "one": "choice",
    "level": "choice",
    "kind": "choice",
    "pair": "whole numbers",
    "mixed_pair": "nested",
    "floats": "numbers",
    "words": "texts",
    "picks": "texts",
    "either": "nested",
    "later": "whole numbers",
    "day": "nested",
    "shape": "nested",
    "table": "nested",
    "anything": "nested",
}


@pytest.fixture(scope="module")
def entries(tmp_path_factory) -> list[Entry]:
    return [entry for entry in catalogue(Cache(tmp_path_factory.getbasetemp() / "cache")) if not entry.broken]


def given(**values: object) -> dict[str, Any]:
    """What a form makes of some values, beside the one field that must be filled in."""
    result = filled(EVERY, {"must": 5, **values})
    assert result.complaints == {}
    return {name: value for name, value in result.options.items() if name != "must"}


def complaint(**values: object) -> str:
    result = filled(EVERY, {"must": 5, **values})
    (said,) = result.complaints.values()
    return said


def test_every_shape_of_an_option_has_its_kind_of_field_in_the_order_of_the_schema():
    assert {name: field.kind for name, field in FIELDS.items()} == KINDS
    assert list(FIELDS) == list(Odd.model_fields)


def test_a_field_carries_what_the_schema_says_of_it():
    assert FIELDS["must"] == OptionField(
        name="must", kind="whole number", description="has no default", required=True, least=1, most=9
    )
    assert (FIELDS["share"].above, FIELDS["share"].below) == (0, 1)
    assert (FIELDS["short_word"].shortest, FIELDS["short_word"].longest) == (2, 4)
    assert (FIELDS["pair"].shortest, FIELDS["pair"].longest) == (2, 2)
    assert FIELDS["colour"].choices == ("red", "blue")
    assert FIELDS["level"].choices == (1, 2, 3)
    assert FIELDS["picks"].choices == ("x", "y")
    assert [field.name for field in FIELDS["shape"].inner] == ["layers", "widths", "inner"]
    optional = {name for name, field in FIELDS.items() if field.optional}
    assert optional == {"named", "perhaps", "wanted", "kind", "shape"}
    assert FIELDS["kind"].choices == ("a", "b")
    assert {name for name, field in FIELDS.items() if not field.has_default} == {"must", "later"}


def test_a_schema_that_contains_itself_is_described_as_far_as_people_look():
    (_, _, inner) = FIELDS["shape"].inner
    assert [field.name for field in inner.inner] == ["layers", "widths", "inner"]
    assert fields_of(Shape.model_json_schema())[0].name == "layers"


@pytest.mark.parametrize("schema", [{}, {"properties": {"x": True, "y": {"type": ["string", "null"]}, "z": {}}}])
def test_a_schema_that_says_little_is_taken(schema):
    assert all(field.kind == "nested" for field in fields_of(schema))
    assert filled(fields_of(schema), dict.fromkeys(schema.get("properties", {}), "1")).complaints == {}


def test_a_form_left_as_it_was_gives_no_options():
    assert given() == {}
    assert given(**{name: field.default for name, field in FIELDS.items() if field.has_default}) == {}
    shown = {name: spelled(field, field.default) for name, field in FIELDS.items() if field.has_default}
    assert given(**shown) == {}


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("size", "12", 12),
        ("size", 12.0, 12),
        ("share", "5e-5", 5e-5),
        ("share", " 0.25 ", 0.25),
        ("perhaps", "", None),
        ("perhaps", None, None),
        ("wanted", "no", False),
        ("wanted", True, True),
        ("colour", "blue", "blue"),
        ("level", "3", 3),
        ("kind", None, None),
        ("word", "", ""),
        ("word", " two words ", " two words "),
        ("named", "x", "x"),
        ("pair", "3 4", [3, 4]),
        ("pair", "[3, 4]", [3, 4]),
        ("pair", (3, 4), [3, 4]),
        ("floats", "0.25, 1e-3", [0.25, 0.001]),
        ("floats", "", []),
        ("words", "layer.5/output\n\n  a, b|c  \n", ["layer.5/output", "a, b|c"]),
        ("words", ["x"], ["x"]),
        ("picks", ["y", "x"], ["y", "x"]),
        ("either", "auto", "auto"),
        ("either", "7", 7),
        ("shape", "layers: 2\nwidths: [3]", {"layers": 2, "widths": [3]}),
        ("shape", {"layers": 1}, {"layers": 1}),
        ("table", "{b: 2}", {"b": 2}),
        ("later", "2,3", [2, 3]),
    ],
)
def test_a_filled_in_value_becomes_an_option_that_is_taken(name, raw, value):
    assert given(**{name: raw}) == {name: value}
    assert Odd(must=5, **given(**{name: raw})) == Odd(must=5, **{name: value})


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("must", "", "is missing"),
        ("must", 10, "must be 9 or less, not 10"),
        ("must", "0", "must be 1 or more, not 0"),
        ("must", "2.5", "'2.5' is not a whole number"),
        ("must", "many", "'many' is not a whole number"),
        ("must", [1], "[1] is not a whole number"),
        ("share", 0, "must be more than 0, not 0"),
        ("share", "1", "must be less than 1, not 1"),
        ("share", "nan", "'nan' is not a number"),
        ("share", "inf", "'inf' is not a number"),
        ("share", "9" * 5000, "'" + "9" * 5000 + "' is not a number"),
        ("size", 6, "must be a multiple of 4, not 6"),
        ("wanted", "maybe", "'maybe' is neither true nor false"),
        ("colour", "blu", "is not 'blu'; did you mean 'blue'? known: red, blue"),
        ("short_word", "", "needs 2 characters at least"),
        ("short_word", "abcde", "takes 4 characters at most"),
        ("word", 3, "3 is not a text"),
        ("pair", "1", "needs 2 items at least"),
        ("pair", "1 b", "item 2: 'b' is not a whole number"),
        ("pair", 7, "7 is not a list"),
        ("floats", "1 2 3 4", "takes 3 items at most"),
        ("picks", "x\nz", "item 2: is not 'z'; known: x, y"),
        ("shape", "layers: [", "is not valid YAML: expected the node content, but found '<stream end>'"),
        ("shape", "layers: 0\ncolour: red", "colour: unknown option 'colour'; known: layers, widths, inner; "
         "layers: must be 1 or more, not 0"),
        ("shape", "widths: []", "layers: is missing"),
        ("shape", "7", "must be a mapping with keys such as 'layers', not 7"),
        ("table", "&a [*a]", "anchors and aliases are not taken here; write the value out"),
        ("table", "2024-99-99", "is not valid YAML: '2024-99-99' cannot be read (month must be in 1..12)"),
        ("table", "[" * 1000 + "]" * 1000, "is nested too deeply"),
        ("wrod", 1, "unknown option 'wrod'; did you mean 'word'? known: " + ", ".join(FIELDS)),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_words(name, raw, said):
    assert complaint(**{name: raw}) == said


def test_each_field_has_a_complaint_of_its_own_and_the_others_are_kept():
    result = filled(EVERY, {"must": "x", "share": 3, "size": 16})
    assert set(result.complaints) == {"must", "share"}
    assert result.options == {"size": 16}


POOL: list[object] = [
    *(None, True, False, 0, 1, 2, 4, 9, -3, 0.25, 0.5, 3.0, 2.5, "", "a", "x", "red", "only", "1", "3", "0.5", "1e-3"),
    *("true", "no", "abc", [], [1], [1, 2], [1, "x"], ["x"], ["x", "y"], ["a", 1], [0.5, "2"], (1, 2)),
    *({}, {"a": 1}, {"layers": 1}, {"layers": 0}, {"layers": 2, "inner": {"layers": 1}}, {"b": "x"}),
    *(datetime.date(2024, 5, 6), "2024-05-06", 12**30),
]


def is_taken(name: str, value: object) -> bool:
    try:
        Odd(**{"must": 5, name: value})
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", FIELDS)
def test_nothing_that_the_model_takes_is_complained_of(name):
    wronged = [value for value in POOL if fault(FIELDS[name], value) and is_taken(name, value)]
    assert wronged == []


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind != "nested"])
def test_whatever_a_form_gives_without_complaint_the_model_takes(name):
    results = [filled(EVERY, {"must": 5, name: value}) for value in POOL]
    taken = [Odd(**{"must": 5, **result.options}) for result in results if not result.complaints]
    assert taken


def test_options_of_a_recipe_are_judged_as_they_stand():
    assert complaints_of(EVERY, {"must": 5, "share": "1e-3", "pair": (1, 2), "kind": None}) == {}
    assert complaints_of(EVERY, {"words": "a", "shaer": 1}) == {
        "shaer": "unknown option 'shaer'; did you mean 'share'? known: " + ", ".join(FIELDS),
        "must": "is missing",
        "words": "'a' is not a list",
    }


@pytest.mark.parametrize("settings", [Training, Measuring])
def test_the_settings_of_a_study_are_a_form_too(settings):
    fields = fields_of(settings.model_json_schema())
    assert [field.name for field in fields] == list(settings.model_fields)
    assert {field.kind for field in fields} <= {"whole number", "number", "switch", "choice"}
    assert all(field.has_default and field.description for field in fields)
    assert filled(fields, {}).options == {}


def test_every_option_of_the_installed_strategies_has_a_field_of_its_own(entries):
    assert len(entries) >= 10
    for entry in entries:
        fields = fields_of(entry.options)
        assert [field.name for field in fields] == list(entry.options.get("properties", {}))
        assert [field.name for field in fields if field.kind == "nested" or not field.description] == []
        shown = {field.name: spelled(field, field.default) for field in fields}
        for values in ({}, shown, {field.name: field.default for field in fields}):
            result = filled(fields, values)
            assert (result.options, result.complaints) == ({}, {}), entry.name


def test_the_options_of_a_built_in_strategy_are_known_in_detail(entries):
    (drop,) = [entry for entry in entries if entry.name == "layer-drop"]
    keep, layers, share, policy, rows, refit, refit_rows, ridge = fields_of(drop.options)
    assert (keep.kind, keep.optional, keep.default, keep.shortest) == ("whole numbers", True, None, 1)
    assert (layers.kind, layers.optional, layers.least) == ("whole number", True, 1)
    assert (share.kind, share.optional, share.most) == ("number", True, 1)
    assert (policy.kind, policy.default) == ("choice", "distilbert")
    assert "search" in policy.choices
    assert (rows.kind, rows.default, rows.least) == ("whole number", 256, 8)
    assert (refit.choices, refit.default) == ((False, True, "classes"), False)
    assert filled([refit], {"refit": "true"}).options == {"refit": True}
    assert filled([refit], {"refit": "classes"}).options == {"refit": "classes"}
    assert (refit_rows.default, ridge.kind) == (512, "number")
    result = filled([keep, layers, share, policy, rows], {"keep": "0, 2", "policy": "top", "rows": 256})
    assert result.options == {"keep": [0, 2], "policy": "top"}


STRANGER = """
from pydantic import BaseModel, Field
from workbench.strategy import Strategy

class Plan(BaseModel):
    rounds: int = Field(ge=1)

class Only(Strategy):
    name = "shrink-oddly"
    claims = ("smaller-file",)
    share: float = Field(default=0.25, gt=0, lt=1, description="how much stays")
    plan: Plan | None = None

    def apply(self, encoder, bench):
        return encoder.evolve(encoder.model, by=self)
"""


def test_a_strangers_strategy_has_a_form_like_our_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(advertised(tmp_path, "shrink-oddly", STRANGER))
    (provider,) = [provider for provider in found(STRATEGIES) if provider.name == "shrink-oddly"]
    entry = Entry.of(provider)
    assert entry.broken == ""
    share, plan = fields_of(entry.options)
    assert (share.kind, share.default, share.above, share.below) == ("number", 0.25, 0, 1)
    assert (plan.kind, plan.optional, [field.name for field in plan.inner]) == ("nested", True, ["rounds"])
    result = filled([share, plan], {"share": "2", "plan": "rounds: 0"})
    assert result.complaints == {"share": "must be less than 1, not 2", "plan": "rounds: must be 1 or more, not 0"}
