"""Option widgets: a field of a form for every option, made from its description, with complaints beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from reports.pages.plain_words import plain
from workbench.option_form import LISTS, OptionField
from workbench.option_values import filled, spelled

IN_A_ROW = 2
NOT_GIVEN = "not given"
# What is longer would tear the rows of a form apart, and is told on request.
LONGEST_LABEL = 95
LARGEST_SHOWN = 2**53


def ask_options(fields: Sequence[OptionField], raw: dict[str, Any], key: str) -> None:
    """Draw a field for each option and write what is typed into ``raw``; what cannot be read is said beside it."""
    for start in range(0, len(fields), IN_A_ROW):
        for known, place in zip(fields[start : start + IN_A_ROW], st.columns(IN_A_ROW), strict=False):
            with place:
                raw[known.name] = _asked(known, raw.get(known.name, known.default), f"{key} {known.name}")
                if not (known.has_default or known.required) and raw[known.name] in ("", [], None):
                    # The strategy decides what it is then.
                    del raw[known.name]
                said = filled([known], raw).complaints.get(known.name)
                if said:
                    st.markdown(f":red[{plain(f'{known.name}: {said}')}]")


def _asked(known: OptionField, value: Any, key: str) -> Any:
    label, said = _label(known)
    if known.kind == "switch" and isinstance(value, bool) and not known.optional:
        return st.checkbox(label, key=seeded(key, value), help=said)
    if known.kind in ("switch", "choice"):
        return _asked_choice(known, value, label, key, said)
    if known.kind in LISTS and known.choices:
        chosen = [choice for choice in known.choices if choice in (value or ())]
        return st.multiselect(label, known.choices, key=seeded(key, chosen), help=said)
    if known.kind == "whole number" and _is_plain_number(value):
        return st.number_input(label, value=None, step=1, key=seeded(key, value), help=said, placeholder=NOT_GIVEN)
    text = value if isinstance(value, str) else spelled(known, value)
    if known.kind in ("texts", "nested"):
        hint = "one a line" if known.kind == "texts" else "YAML"
        return st.text_area(label, key=seeded(key, text), help=said, placeholder=hint, height=80)
    hint = "numbers, with commas between" if known.kind in LISTS else NOT_GIVEN
    return st.text_input(label, key=seeded(key, text), help=said, placeholder=hint)


def _asked_choice(known: OptionField, value: Any, label: str, key: str, said: str | None) -> Any:
    choices = list(known.choices) or [True, False]
    if known.optional or not known.has_default:
        choices.insert(0, None)
    if value not in choices:
        # What a study file says may be wrong; it is shown, and complained of.
        choices.append(value)
    return st.selectbox(label, choices, key=seeded(key, value), format_func=_spoken, help=said)


def _spoken(choice: Any) -> str:
    return NOT_GIVEN if choice is None else str(choice).lower() if isinstance(choice, bool) else str(choice)


def _label(known: OptionField) -> tuple[str, str | None]:
    """An option's name with what it means, and what is told on request where that is too long."""
    meaning = _with_keys(known)
    name = f"**{plain(known.name)}**"
    return (f"{name} {plain(meaning)}", None) if len(meaning) <= LONGEST_LABEL else (name, plain(meaning))


def _with_keys(known: OptionField) -> str:
    keys = ", ".join(inner.name for inner in known.inner)
    return f"{known.description} (keys: {keys})" if keys else known.description


def _is_plain_number(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST_SHOWN)


def seeded(key: str, value: Any) -> str:
    """Make sure that a widget shows a value when it is drawn for the first time, or again after another page."""
    st.session_state.setdefault(key, value)
    return key
