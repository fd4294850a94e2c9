"""Your own shape: an encoder's sizes on controls, begun from a published one, and what turning them comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import streamlit as st
from pydantic import ValidationError

from reports.architecture import USUAL_LENGTH, share_of, short_count
from reports.pages.plain_words import plain
from reports.wording import counted, megabytes
from workbench.architecture import Architecture
from workbench.architecture_counts import BYTES, Dtype, disk_bytes, macs, parameters_by_part
from workbench.architecture_presets import PRESETS, preset
from workbench.inventory import PARTS

START = "minilm-l6"
IN_A_ROW = 4


@dataclass(frozen=True)
class Control:
    """A size that can be turned: what it is called, what it does, how far and in which steps it goes.

    ``none_at`` is the number that stands for a size which is absent.
    """

    field: str
    label: str
    meaning: str
    most: int
    step: int
    none_at: int | None = None


# The limits lie far beyond every encoder that was ever published.
CONTROLS = (
    Control("hidden", "Hidden size", "Numbers that stand for a token. A layer grows with its square.", 16_384, 64),
    Control("layers", "Layers", "How often a token is worked on. Parameters and arithmetic grow with it.", 96, 1),
    Control("heads", "Heads", "How many ways a token looks at the others at once. More cost nothing.", 256, 1),
    Control(
        "ffn", "Feed-forward size", "How wide a layer's middle is; usually four times the hidden size.", 65_536, 128
    ),
    Control("vocabulary", "Vocabulary", "Pieces of words that are known. Costs no arithmetic.", 1_000_000, 1000),
    Control("positions", "Positions", "Places in a text that are known: how long it may be, in tokens.", 32_768, 64),
    Control("sharing_groups", "Sharing groups", "Sets of weights that all layers wear; 0: each its own.", 96, 1, 0),
    Control("embedding_rank", "Embedding rank", "Width of a narrow word table; 0: the hidden size.", 16_384, 16, 0),
)
NAMES = {control.field: control.label for control in CONTROLS}


@dataclass(frozen=True)
class Amount:
    """Something that is counted of a shape, and how it is written."""

    label: str
    meaning: str
    count: Callable[[Architecture], int]
    written: Callable[[int], str]


def choose_own_shape() -> Architecture | None:
    """A shape of one's own; absent where none is wanted, or where it makes no sense, which is said beside it."""
    with st.container(border=True):
        left, right = st.columns([1, 2], vertical_alignment="bottom")
        if not left.toggle("Turn the sizes yourself", value=True, key="shape own"):
            return None
        start = right.selectbox("Begin from", list(PRESETS), index=list(PRESETS).index(START), key="shape start")
        sizes = _turned(preset(start), start)
        try:
            own = preset(start).changed(**sizes)
        except ValidationError as error:
            st.error(plain(" ".join([*_sentences(error), *_fitting_heads(sizes)])))
            return None
        _show_amounts(own, start)
        return own


def _turned(begun: Architecture, start: str) -> dict[str, int | None]:
    """The sizes as the controls stand; each shape to begin from has controls of its own."""
    sizes: dict[str, int | None] = {}
    for first in range(0, len(CONTROLS), IN_A_ROW):
        for control, place in zip(CONTROLS[first : first + IN_A_ROW], st.columns(IN_A_ROW), strict=True):
            found = place.number_input(
                control.label,
                min_value=1 if control.none_at is None else control.none_at,
                max_value=control.most,
                value=getattr(begun, control.field) or control.none_at,
                step=control.step,
                help=control.meaning,
                key=f"shape {start} {control.field}",
            )
            sizes[control.field] = None if found == control.none_at else found
    return sizes


def _sentences(error: ValidationError) -> list[str]:
    """What is wrong with a shape, under the names that the controls have."""
    found = []
    for fault in error.errors():
        field, _, said = fault["msg"].removeprefix("Value error, ").partition(": ")
        found.append(f"{NAMES.get(field, field)}: {said}." if said else f"{field}.")
    return found


def _fitting_heads(sizes: Mapping[str, int | None]) -> Iterator[str]:
    """The next numbers of heads that would do, where this one does not."""
    heads, hidden = sizes["heads"] or 1, sizes["hidden"] or 1
    if hidden % heads:
        fitting = [number for number in range(1, hidden + 1) if hidden % number == 0]
        fewer, more = max(n for n in fitting if n < heads), min((n for n in fitting if n > heads), default=hidden)
        yield f"{fewer} or {more} would do." if fewer != more else f"{fewer} would do."


def _show_amounts(own: Architecture, start: str) -> None:
    begun = preset(start)
    amounts = _amounts(min(USUAL_LENGTH, own.longest, begun.longest))
    for amount, place in zip(amounts, st.columns(len(amounts)), strict=True):
        before, after = amount.count(begun), amount.count(own)
        change = None if before == after else f"{after / before - 1:+.1%} against {start}"
        place.metric(amount.label, amount.written(after), change, delta_color="inverse", help=amount.meaning)
    parameters = parameters_by_part(own)
    shares = [f"{share_of(part, parameters)} are in the {part}" for part in PARTS if parameters.parts[part]]
    st.caption(f"Of its parameters, {', '.join(shares)}.")


def _amounts(tokens: int) -> list[Amount]:
    return [
        Amount("Parameters", "Shared weights count once.", lambda shape: parameters_by_part(shape).total, short_count),
        *map(_disk, BYTES),
        Amount(
            f"MACs, {counted(tokens, 'token')}",
            "Multiply-accumulates: the arithmetic of one text of this length.",
            lambda shape: macs(shape, tokens).total,
            short_count,
        ),
    ]


def _disk(dtype: Dtype) -> Amount:
    meaning = "The weights alone, as this type of number."
    return Amount(f"Disk, {dtype}", meaning, lambda shape: disk_bytes(shape, dtype).total, megabytes)
