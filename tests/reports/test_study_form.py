"""What is filled into the form of a study becomes a draft, and a draft fills the form in again."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from reports.study_form import StudyForm, options_of
from workbench.catalogue import Entry
from workbench.recipe import Recipe, Step
from workbench.study import Study, embedded_studies
from workbench.study_draft import RecipeDraft, StudyDraft


class Strange(BaseModel):
    """The options of a strategy that somebody else wrote."""

    count: int = Field(default=2, ge=1)
    rate: float = 5e-5
    keep: list[int] | None = None


ENTRIES = [
    Entry(name="strange", provider="somebody 1.0", options=Strange.model_json_schema()),
    Entry(name="sick", provider="somebody 1.0", broken="it ends the process"),
]
OPTIONS = options_of(ENTRIES)
OWN = {"name": "tickets", "train": "/d/train.csv", "test": "/d/test.csv", "text": "body", "label": "team"}
FULL = StudyDraft(
    name="full",
    about="all of it",
    base="owner/name",
    tasks=("sst2", OWN),
    seeds=(1, 2),
    finetune="always",
    training={"epochs": 1.0},
    task_seeds={"sst2": (0,)},
    task_training={"sst2": {"epochs": 2.0}},
    recipes=(
        "int8",
        RecipeDraft(name="mine", steps=(Step(use="strange", options={"keep": [0, 2]}), Step(use="strange")), when="x"),
        RecipeDraft(name="taught", steps=(Step(use="unknown", options={"any": 1}),), control=True),
    ),
    limit=50,
    max_length=64,
    measure=("quality",),
    measuring={"quick": True},
)


def a_form(**raw: Any) -> StudyForm:
    form = StudyForm(name="s", tasks=["sst2"])
    form.add_step(form.add_recipe(), Step(use="strange", options=raw))
    return form


def test_strategies_that_are_broken_have_no_fields():
    assert list(OPTIONS) == ["strange"]


@pytest.mark.parametrize("draft", [FULL, *(StudyDraft.of(Study.load(path)) for path in embedded_studies().values())])
def test_a_form_filled_in_with_a_draft_gives_the_same_draft(draft):
    again, faults = StudyForm.of(draft).draft(OPTIONS)
    assert faults == []
    assert again.text() == draft.text()


def test_what_is_typed_is_read_and_only_what_differs_is_kept():
    draft, faults = a_form(count="2", rate="1e-3", keep="0, 3").draft(OPTIONS)
    assert faults == []
    assert draft.recipes[0].steps == (Step(use="strange", options={"rate": 1e-3, "keep": [0, 3]}),)


def test_what_cannot_be_read_is_told_and_left_out():
    form = a_form(count="none", keep="0")
    form.settings["seeds"], form.training["epochs"] = "one", "-1"
    draft, faults = form.draft(OPTIONS)
    assert draft.recipes[0].steps[0].options == {"keep": [0]}
    assert [said.rpartition(": ")[0] for said in faults] == [
        "seeds: item 1",
        "recipe 'recipe-1': step 1: strange: count",
        "training: epochs",
    ]


def test_recipes_get_names_that_are_free():
    form = StudyForm(named=["int8"])
    like = Recipe(name="int8", steps=(Step(use="int8-dynamic"),), when="always")
    assert [form.add_recipe().name, form.add_recipe().name] == ["recipe-1", "recipe-2"]
    copy = form.add_recipe(like)
    assert (copy.name, copy.when, [step.use for step in copy.steps]) == ("int8-1", "always", ["int8-dynamic"])


def test_a_changed_copy_leaves_the_cookbook_as_it_was():
    like = Recipe(name="mine", steps=(Step(use="strange", options={"count": 3}),))
    StudyForm().add_recipe(like).steps[0].raw["count"] = 9
    assert like.steps[0].options == {"count": 3}


def test_steps_move_and_stay_at_the_ends():
    form = StudyForm()
    recipe = form.add_recipe()
    first, second = form.add_step(recipe, Step(use="a")), form.add_step(recipe, Step(use="a"))
    assert first.key != second.key
    recipe.move(first, -1)
    assert [step.key for step in recipe.steps] == [first.key, second.key]
    recipe.move(first, 1)
    assert [step.key for step in recipe.steps] == [second.key, first.key]
    recipe.move(first, 1)
    assert [step.key for step in recipe.steps] == [second.key, first.key]
