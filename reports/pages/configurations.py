"""Configurations: the BERT family in numbers, and what becomes of them when a size is turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from reports.architecture import USUAL_LENGTH, architecture_frame, macs_figure, parameters_figure
from reports.architecture_drawing import architecture_svg, widest_of
from reports.pages.drawing import draw
from reports.pages.own_shape import choose_own_shape
from reports.wording import ABSENT, times
from workbench.architecture import Architecture
from workbench.architecture_counts import macs, parameters_by_part
from workbench.architecture_presets import PRESETS, preset

OWN = "your shape"
SHOWN_AT_FIRST = ("bert-base", "distilbert-base", "albert-base-v2")
# Amounts that nobody would read digit by digit: how their columns begin, how they are headed, and in which unit.
UNITS = {"bytes in ": ("MB ", 1e6), "MACs at ": ("billion MACs at ", 1e9)}


def show() -> None:
    """Lay out the controls, and what the chosen shapes come to."""
    st.title("Configurations")
    st.markdown(
        "What makes an encoder large, and what makes it slow? Everything here is counted from sizes alone; no weights "
        "are involved. Turn a size and see what it costs."
    )
    own = choose_own_shape()
    chosen = st.multiselect("Beside these", list(PRESETS), default=list(SHOWN_AT_FIRST), key="shape presets")
    named = {**({OWN: own} if own else {}), **{name: preset(name) for name in chosen}}
    if not named:
        st.info("Choose a published encoder, or turn the sizes of your own.")
        return
    tokens = _text_length(named)
    _show_table(named, tokens)
    _show_charts(named, tokens)
    _show_drawing(named)


def _text_length(named: Mapping[str, Architecture]) -> int:
    """The length that arithmetic is counted for; one that no shape can take any more is cut."""
    longest = max(shape.longest for shape in named.values())
    key = "shape tokens"
    st.session_state[key] = min(st.session_state.get(key, USUAL_LENGTH), longest)
    if longest == 1:
        return 1
    help_ = "A token is a word or a piece of one. Arithmetic is counted for one text of this length."
    return int(st.slider("Length of a text, in tokens", 1, longest, key=key, help=help_))


def _show_table(named: Mapping[str, Architecture], tokens: int) -> None:
    st.subheader("Side by side")
    frame = _readable(architecture_frame(named, tokens))
    amounts = [str(column) for column in frame if frame[column].dtype == float]
    columns = {column: st.column_config.NumberColumn(format="%.1f") for column in amounts}
    st.dataframe(frame, hide_index=True, column_config=columns, placeholder=ABSENT)
    first, *others = named
    if others:
        lines = [f"- {_compared(other, first, named, tokens)}" for other in others]
        st.markdown("\n".join([f"Beside {first}:", *lines]))


def _readable(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without what the charts show or the name tells, and with large amounts in their units."""
    shown: dict[str, Any] = {}
    for column in frame.columns:
        start = next((start for start in UNITS if column.startswith(start)), None)
        if start:
            heading, size = UNITS[start]
            shown[column.replace(start, heading)] = _in_units(frame[column], size)
        elif column == "parameters":
            shown["million parameters"] = _in_units(frame[column], 1e6)
        elif column != "family" and not column.startswith("parameters in "):
            shown[column] = frame[column]
    return pd.DataFrame(shown)


def _in_units(amounts: pd.Series[Any], size: float) -> pd.Series[Any]:
    return amounts.astype("Float64").astype(float) / size


def _compared(other: str, first: str, named: Mapping[str, Architecture], tokens: int) -> str:
    """A sentence on how a shape differs from the first one."""
    one, two = named[other], named[first]
    length = min(tokens, one.longest, two.longest)
    size = parameters_by_part(one).total / parameters_by_part(two).total
    work = macs(one, length).total / macs(two, length).total
    said = f"{other} has {times(size)} the parameters and does {times(work)} the arithmetic"
    return f"{said}." if length == tokens else f"{said}, for a text of {length:,} tokens: the longest that both take."


def _show_charts(named: Mapping[str, Architecture], tokens: int) -> None:
    st.subheader("Where parameters and arithmetic are")
    relative = st.toggle("As shares of the whole", key="shape relative")
    draw(parameters_figure(named, relative))
    fitting = {name: shape for name, shape in named.items() if shape.longest >= tokens}
    draw(macs_figure(fitting, (tokens,), relative))


def _show_drawing(named: Mapping[str, Architecture]) -> None:
    st.subheader("How it is built")
    key = "shape drawn"
    if st.session_state.get(key) not in named:
        st.session_state[key] = next(iter(named))
    name = st.selectbox("Drawing of", list(named), key=key)
    # As an image, the drawing can do nothing to the page, whatever its label holds.
    st.image(architecture_svg(named[name], name, widest_of(named.values())))
