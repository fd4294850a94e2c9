"""Limits: the sliders that say what a version must keep to, and what is to be best; kept from page to page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from reports.budgets import DEFAULT_QUALITY, NO_LIMIT, Choices, at_least_quality, at_most
from workbench.line import Line
from workbench.wish import AXIS_OF_AIM, Aim, Wish

AIM_KEY = "best"
AIMS: dict[Aim, str] = {"latency": "time of a call", "size": "size on disk", "memory": "memory", "quality": "quality"}
LABELS = {
    "latency": "Time of one call, at most",
    "disk": "Size on disk, at most",
    "memory": "Memory, at most",
    "quality": "Quality, at least",
}
HELP = {
    "latency": "Median time of one call on one text",
    "disk": "Every file that is needed to run",
    "memory": "What the model itself takes at its highest, beyond the libraries",
    "quality": "As a share of the baseline's quality; in points (metric × 100) where there is no baseline",
}


def choose_limits(lines: Sequence[Line]) -> Wish:
    """Draw the sliders and give what they say."""
    choices = _settle(lines)
    aims = _aims(lines)
    st.selectbox(
        "What is to be best within the limits", aims, format_func=lambda aim: AIMS[aim].capitalize(), key=AIM_KEY
    )
    for axis, possible in choices.items():
        st.select_slider(LABELS[axis], list(possible), key=_key(axis), help=HELP[axis])
    return _wish(choices)


def kept_limits(lines: Sequence[Line]) -> Wish:
    """What the sliders said when they were last drawn, or say at first."""
    return _wish(_settle(lines))


def _settle(lines: Sequence[Line]) -> dict[str, Choices]:
    """What can be chosen; what was chosen before stays, where it still can be."""
    found = {axis: at_most(axis, lines) for axis in ("latency", "disk", "memory")}
    choices = {axis: possible for axis, possible in {**found, "quality": at_least_quality(lines)}.items() if possible}
    for axis, possible in choices.items():
        default = DEFAULT_QUALITY if axis == "quality" and DEFAULT_QUALITY in possible else NO_LIMIT
        kept = st.session_state.get(_key(axis))
        # Set anew even where it is the same: Streamlit forgets what a page does not draw.
        st.session_state[_key(axis)] = kept if kept in possible else default
    aims = _aims(lines)
    aim = st.session_state.get(AIM_KEY)
    st.session_state[AIM_KEY] = aim if aim in aims else aims[0]
    return choices


def _aims(lines: Sequence[Line]) -> list[Aim]:
    """What was measured and so can be the best; time first."""
    return [aim for aim in AIMS if any(line.delta(AXIS_OF_AIM[aim]) for line in lines)] or ["quality"]


def _wish(choices: dict[str, Choices]) -> Wish:
    chosen = [possible[st.session_state[_key(axis)]] for axis, possible in choices.items()]
    return Wish(limits=tuple(limit for limit in chosen if limit), optimise=st.session_state[AIM_KEY])


def _key(axis: str) -> str:
    return f"limit on {axis}"
