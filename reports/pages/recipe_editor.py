"""Recipe editor: recipes from the cookbook by name, and others composed step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from reports.pages.option_widgets import ask_options, seeded
from reports.pages.plain_words import plain
from reports.study_form import RecipeForm, StepForm, StudyForm, options_of
from reports.wording import counted
from workbench.catalogue import Entry
from workbench.option_form import OptionField
from workbench.recipe import Recipe, Step

EMPTY = "an empty recipe"


@dataclass(frozen=True)
class Larder:
    """What recipes can be made of: the strategies that are installed, and the recipes that come with them."""

    entries: Sequence[Entry]
    book: Mapping[str, Recipe]

    @property
    def options(self) -> dict[str, tuple[OptionField, ...]]:
        """The fields of each strategy that works."""
        return options_of(self.entries)

    @property
    def summaries(self) -> dict[str, str]:
        """What each strategy that works does."""
        return {entry.name: entry.summary for entry in self.entries if not entry.broken}


def edit_recipes(form: StudyForm, key: str, larder: Larder) -> dict[str, DeltaGenerator]:
    """Draw the choice of named recipes, and a box for each composed one.

    Give the place in each box, by the recipe's name, for what is wrong with it once all is read.
    """
    _choose_named(form, key, larder.book)
    places = {}
    for recipe in list(form.composed):
        with st.container(border=True):
            _edit_recipe(form, recipe, f"{key} recipe {recipe.key}", larder)
            places[recipe.name] = st.container()
    _offer_recipe(form, key, larder.book)
    return places


def _choose_named(form: StudyForm, key: str, book: Mapping[str, Recipe]) -> None:
    form.named = st.multiselect(
        "Recipes from the cookbook",
        [*book, *(name for name in form.named if name not in book)],
        key=seeded(f"{key} named", form.named),
        help="The baseline, the base trained on the task and nothing else, is always run beside them.",
    )
    for name in form.named:
        if name in book:
            steps = " → ".join(step.use for step in book[name].steps)
            st.caption(f"**{plain(name)}** ({plain(steps)}): {plain(book[name].when)}")


def _edit_recipe(form: StudyForm, recipe: RecipeForm, key: str, larder: Larder) -> None:
    left, middle, right = st.columns([4, 4, 2], vertical_alignment="bottom")
    recipe.name = left.text_input("Name of the recipe", key=seeded(f"{key} name", recipe.name)).strip()
    recipe.control = middle.checkbox(
        "Also run it without its teacher",
        key=seeded(f"{key} control", recipe.control),
        help="Shows what the teacher was worth. Needs a step that learns from one.",
    )
    with right:
        _button("Remove recipe", f"{key} remove", "delete", form.composed.remove, recipe)
    for number, step in enumerate(list(recipe.steps), 1):
        _edit_step(recipe, step, number, key, larder)
    if not recipe.steps:
        st.caption("No steps yet.")
    _offer_step(form, recipe, key, larder.summaries)


def _edit_step(recipe: RecipeForm, step: StepForm, number: int, key: str, larder: Larder) -> None:
    own = f"{key} step {step.key}"
    words, up, down, away = st.columns([12, 1, 1, 1], vertical_alignment="center")
    summary = larder.summaries.get(step.use, "")
    words.markdown(f"**{number}. {plain(step.use)}** {plain(summary)}")
    with up:
        _button("", f"{own} up", "arrow_upward", recipe.move, step, -1, disabled=number == 1)
    with down:
        _button("", f"{own} down", "arrow_downward", recipe.move, step, 1, disabled=number == len(recipe.steps))
    with away:
        _button("", f"{own} away", "close", recipe.steps.remove, step)
    fields = larder.options.get(step.use, ())
    if fields:
        with st.expander(f"{counted(len(fields), 'option')} of step {number}"):
            ask_options(fields, step.raw, own)


def _offer_step(form: StudyForm, recipe: RecipeForm, key: str, summaries: Mapping[str, str]) -> None:
    left, right = st.columns([8, 2], vertical_alignment="bottom")
    chosen = f"{key} next"
    left.selectbox(
        "Strategy of the next step",
        list(summaries),
        key=chosen,
        format_func=lambda name: f"{name}: {summaries[name]}",
    )

    def add() -> None:
        form.add_step(recipe, Step(use=st.session_state[chosen]))

    with right:
        _button("Add step", f"{key} add", "add", add, disabled=not summaries)


def _offer_recipe(form: StudyForm, key: str, book: Mapping[str, Recipe]) -> None:
    left, right = st.columns([8, 2], vertical_alignment="bottom")
    chosen = f"{key} like"
    left.selectbox("Compose another, beginning with", [EMPTY, *book], key=chosen)

    def add() -> None:
        form.add_recipe(book.get(st.session_state[chosen]))

    with right:
        _button("Add recipe", f"{key} compose", "add", add)


def _button(label: str, key: str, icon: str, do: Callable[..., Any], *given: Any, disabled: bool = False) -> None:
    st.button(label, key=key, icon=f":material/{icon}:", on_click=do, args=given, disabled=disabled, width="stretch")
