"""Architectures in numbers: where parameters and arithmetic lie, as charts and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from reports.figure import Figure, layered, rows
from reports.palette import BLUE, CYAN, GREEN, ORANGE, PURPLE, VERMILION
from reports.wording import counted, millions, percent
from workbench.architecture import Architecture
from workbench.architecture_counts import BYTES, PIECES, PIECES_OF, Piece, Tally, disk_bytes, macs, parameters_by_part
from workbench.inventory import PARTS, Part

# Hues of one part are kin: embeddings are cool, layers are warm.
PIECE_COLOURS: dict[Piece, str] = {
    "word embeddings": BLUE,
    "position embeddings": CYAN,
    "type embeddings": "#5b6fd0",
    "embedding map": "#8d7bd4",
    "embedding norm": "#5e86a3",
    "attention": ORANGE,
    "attention scores": "#a08f22",
    "feed-forward": VERMILION,
    "layer norms": "#a8785f",
    "pooler": GREEN,
    "classifier": PURPLE,
}
USUAL_LENGTH = 128
LENGTHS = (32, 128, 512)
WIDTH, BAR = 660, 30
Named = Mapping[str, Architecture]
Row = dict[str, Any]


def parameters_figure(named: Named, relative: bool = False) -> Figure:
    """Draw the parameters of architectures side by side, piece by piece; relative ones all fill the width."""
    bars = {name: parameters_by_part(architecture) for name, architecture in named.items()}
    spoken = "; ".join(f"{name}: {_spoken_parameters(tally)}" for name, tally in bars.items())
    return Figure(
        name="architecture-parameters",
        alt=f"Parameters by piece. {spoken}.",
        caption="Parameters by piece, each weight counted once however many layers wear it."
        + (" Every bar is a whole; its total stands beside it." if relative else ""),
        chart=_stacked(bars, "parameters", relative),
    )


def macs_figure(named: Named, lengths: Sequence[int] = LENGTHS, relative: bool = False) -> Figure:
    """Draw the arithmetic of architectures at several lengths of text; lengths that one cannot take are left out."""
    bars = {
        f"{name}, {counted(tokens, 'token')}": macs(architecture, tokens)
        for name, architecture in named.items()
        for tokens in lengths
        if tokens <= architecture.longest
    }
    spoken = "; ".join(f"{name}: {short_count(tally.total)}" for name, tally in bars.items())
    return Figure(
        name="architecture-macs",
        alt=f"Multiply-accumulates of one text by piece. {spoken}.",
        caption="Multiply-accumulates of one text by piece. Attention scores grow with the square of the length, all "
        "else with the length; sharing layers saves none.",
        chart=_stacked(bars, "multiply-accumulates of one text", relative),
    )


def architecture_frame(named: Named, tokens: int = USUAL_LENGTH) -> pd.DataFrame:
    """Lay architectures out as a table of plain numbers, a row each; what one has not is absent."""
    frame = pd.DataFrame([_facts(name, architecture, tokens) for name, architecture in named.items()])
    numbers = [column for column in frame.columns if column not in ("architecture", "family")]
    return frame.astype(dict.fromkeys(numbers, "Int64"))


def short_count(amount: int) -> str:
    """A count of any size, short enough for a label."""
    if amount >= 1e9:
        return f"{amount / 1e9:.2f} G"
    return millions(amount) if amount >= 1e5 else f"{amount:,}"


def share_of(part: Part, tally: Tally) -> str:
    """How much of the whole a part is."""
    return percent(tally.parts[part] / tally.total)


def _facts(name: str, architecture: Architecture, tokens: int) -> Row:
    parameters = parameters_by_part(architecture)
    fits = tokens <= architecture.longest
    return {
        "architecture": name,
        "family": architecture.family,
        "layers": architecture.layers,
        "hidden": architecture.hidden,
        "heads": architecture.heads,
        "feed-forward": architecture.ffn,
        "vocabulary": architecture.vocabulary,
        "embedding rank": architecture.embedding_rank,
        "sharing groups": architecture.sharing_groups,
        "parameters": parameters.total,
        **{f"parameters in {part}": amount for part, amount in parameters.parts.items()},
        **{f"bytes in {dtype}": disk_bytes(architecture, dtype).total for dtype in BYTES},
        f"MACs at {counted(tokens, 'token')}": macs(architecture, tokens).total if fits else None,
    }


def _spoken_parameters(tally: Tally) -> str:
    shares = ", ".join(f"{part} {share_of(part, tally)}" for part in PARTS if tally.parts[part])
    return f"{short_count(tally.total)} ({shares})"


def _stacked(bars: Mapping[str, Tally], title: str, relative: bool) -> alt.LayerChart:
    y = alt.Y(
        "bar:N", title=None, sort=list(bars), axis=alt.Axis(labelLimit=240, labelPadding=6, ticks=False, domain=False)
    )
    pieces = (
        alt.Chart(rows(list(_segments(bars))))
        .mark_bar()
        .encode(
            x=alt.X(
                "amount:Q",
                title=f"share of {title}" if relative else title,
                stack="normalize" if relative else "zero",
                axis=alt.Axis(format="%" if relative else "~s", tickCount=6),
            ),
            y=y,
            color=_colours(bars),
            order=alt.Order("place:O"),
            tooltip=[
                alt.Tooltip("bar:N", title="architecture"),
                *map(alt.Tooltip, ("piece:N", "part:N", "count:N", "share:N")),
            ],
        )
    )
    totals = [
        {"bar": name, "end": 1 if relative else tally.total, "total": short_count(tally.total)}
        for name, tally in bars.items()
    ]
    ends = alt.Chart(rows(totals)).mark_text(align="left", dx=6).encode(x="end:Q", y=y, text="total:N")
    return layered(pieces, ends).properties(width=WIDTH, height=BAR * max(1, len(bars)))


def _segments(bars: Mapping[str, Tally]) -> Iterable[Row]:
    part_of = {piece: part for part, pieces in PIECES_OF.items() for piece in pieces}
    for name, tally in bars.items():
        for piece, amount in tally.pieces.items():
            yield {
                "bar": name,
                "piece": piece,
                "part": part_of[piece],
                "place": PIECES.index(piece),
                "amount": amount,
                "count": f"{amount:,}",
                "share": percent(amount / tally.total),
            }


def _colours(bars: Mapping[str, Tally]) -> alt.Color:
    drawn = [piece for piece in PIECES if any(piece in tally.pieces for tally in bars.values())]
    return alt.Color(
        "piece:N",
        title=None,
        scale=alt.Scale(domain=drawn, range=[PIECE_COLOURS[piece] for piece in drawn]),
        legend=alt.Legend(columns=4),
    )
