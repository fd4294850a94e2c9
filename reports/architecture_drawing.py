"""An architecture as a drawing: tables, layers and head one above the other, as wide as what flows through them.

Text flows upwards, from the words to the answer. One colour is one set of weights: layers that share are alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.etree import ElementTree

from reports.architecture import USUAL_LENGTH, share_of, short_count
from reports.architecture_rows import Row, Shape, rows_of
from reports.palette import BLUE, FONT, GREEN, GREY, INK, INK_ON_DARK, INK_ON_LIGHT
from reports.wording import counted, megabytes
from workbench.architecture import Architecture
from workbench.architecture_counts import disk_bytes, macs, parameters_by_part
from workbench.inventory import Part

WIDTH, MARGIN, LINE = 880, 16, 16
# Between the rows of two parts.
GAP = 10
# Where the names of rows end, where shapes may be, and where what is said of them begins.
NAMES, LEFT, RIGHT, SAID = 222, 234, 634, 646
CENTRE, REACH = (LEFT + RIGHT) / 2, RIGHT - LEFT
LONGEST_LABEL = 60
# Cells narrower than this run together; shapes narrower than a hair would vanish.
NARROWEST_CELL, HAIR = 3.0, 2.0
PART_COLOURS: dict[Part, str] = {"embeddings": BLUE, "encoder": GREY, "head": GREEN}
# Of the page around it an image knows whether it is light or dark; where it does not even know that, INK is left.
STYLE = "".join(
    f"@media (prefers-color-scheme: {scheme}) {{ text {{ fill: {ink} }} }}"
    for scheme, ink in (("light", INK_ON_LIGHT), ("dark", INK_ON_DARK))
)
# What no XML can hold, however it is escaped.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def architecture_svg(architecture: Architecture, label: str, widest: int | None = None) -> str:
    """Draw an architecture as an SVG that stands alone.

    Widths are to scale. Drawings have the same scale if all are told how wide the widest of them is, which is what
    ``widest_of`` says.
    """
    title, summary, notes = _clean(label), _summary(architecture), _notes(architecture)
    parts = [list(rows) for _, rows in groupby(rows_of(architecture), lambda row: row.part)]
    top = MARGIN + 3.0 * LINE
    bottom = top + sum(_height(rows) + GAP for rows in parts)
    scale = REACH / max(widest or 0, widest_of([architecture]))
    pen = _Pen.on_paper(f"Architecture of {title}", [summary, *notes], bottom + LINE * len(notes) + MARGIN)
    pen.write(title, MARGIN, MARGIN + 12, size=15, weight="bold")
    pen.write(summary, MARGIN, MARGIN + LINE + 15)
    pen.draw("line", x1=CENTRE, x2=CENTRE, y1=top, y2=bottom - GAP, stroke=GREY, opacity=0.5)
    for rows in parts:
        _draw_part(pen, architecture, rows, top)
        _draw_rows(pen, rows, top, scale)
        top += _height(rows) + GAP
    for number, note in enumerate(notes, start=1):
        pen.write(note, MARGIN, bottom + LINE * number - 4)
    return ElementTree.tostring(pen.paper, encoding="unicode")


def widest_of(architectures: Iterable[Architecture]) -> int:
    """The widest vector inside some architectures."""
    return max(max(each.hidden, each.ffn) for each in architectures)


def _clean(label: str) -> str:
    """A label on one line, without what no XML can hold, cut to what fits."""
    text = " ".join(FORBIDDEN.sub("", label).split())
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"


def _summary(architecture: Architecture) -> str:
    length = min(USUAL_LENGTH, architecture.longest)
    return (
        f"{short_count(parameters_by_part(architecture).total)} parameters · "
        f"{megabytes(disk_bytes(architecture, 'float32').total)} in float32, "
        f"{megabytes(disk_bytes(architecture, 'int8').total)} in int8 · "
        f"{short_count(macs(architecture, length).total)} MACs for {counted(length, 'token')}"
    )


def _notes(architecture: Architecture) -> list[str]:
    alone = parameters_by_part(architecture.changed(layers=1, sharing_groups=None)).pieces
    alike = "one colour is one set of weights"
    if architecture.sharing_groups and architecture.share != "all":
        alike = "cells of one colour share their weights, and so do bars"
    own = " Norms and biases are each layer's own." if architecture.untie and architecture.sharing_groups else ""
    return [
        f"A layer is attention (cells: {counted(architecture.heads, 'head')} of "
        f"{architecture.hidden // architecture.heads}, {short_count(alone['attention'])}), feed-forward (bar: "
        f"{architecture.ffn:,} wide, {short_count(alone['feed-forward'])}) and two norms "
        f"({short_count(alone['layer norms'])}).",
        f"Read from below. Widths are to scale; {alike}.{own}",
    ]


def _height(rows: Iterable[Row]) -> float:
    return sum(row.height for row in rows)


def _draw_part(pen: _Pen, architecture: Architecture, rows: Sequence[Row], top: float) -> None:
    """Mark which rows belong to a part, with its name and its share of the whole."""
    part, height, parameters = rows[0].part, _height(rows), parameters_by_part(architecture)
    middle = top + height / 2
    pen.draw("rect", x=MARGIN, y=top, width=4, height=height, rx=2, fill=PART_COLOURS[part])
    pen.write(part, MARGIN + 12, middle - 3, weight="bold")
    pen.write(f"{short_count(parameters.parts[part])} · {share_of(part, parameters)}", MARGIN + 12, middle + 12)


def _draw_rows(pen: _Pen, rows: Sequence[Row], top: float, scale: float) -> None:
    for row in rows:
        middle = top + row.height / 2
        pen.write(row.name, NAMES, middle + 4, anchor="end")
        pen.write(row.said, SAID, middle + 4)
        y = middle - row.inner_height / 2
        for shape in row.shapes:
            _draw_shape(pen, shape, y, scale)
            y += shape.height + 1
        top += row.height


def _draw_shape(pen: _Pen, shape: Shape, y: float, scale: float) -> None:
    above, below = (min(max(width * scale, HAIR), REACH) / 2 for width in (shape.top, shape.bottom))
    cell = 2 * below / shape.cells
    if shape.cells > 1 and cell >= NARROWEST_CELL:
        gap = min(1.5, cell / 4)
        for number in range(shape.cells):
            x = CENTRE - below + number * cell + gap / 2
            pen.draw("rect", x=x, y=y, width=cell - gap, height=shape.height, fill=shape.colour)
        return
    corners = [(-above, 0.0), (above, 0.0), (below, shape.height), (-below, shape.height)]
    points = " ".join(f"{CENTRE + across:.2f},{y + down:.2f}" for across, down in corners)
    pen.draw("polygon", points=points, fill=shape.colour)


@dataclass(frozen=True)
class _Pen:
    """Draws and writes on a paper; whatever is written is escaped."""

    paper: ElementTree.Element

    @classmethod
    def on_paper(cls, title: str, description: Sequence[str], height: float) -> _Pen:
        attributes = {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {height:.0f}",
            "width": f"{WIDTH}",
            "height": f"{height:.0f}",
            "style": "max-width: 100%; height: auto",
            "role": "img",
            "font-family": FONT,
        }
        paper = ElementTree.Element("svg", attributes)
        ElementTree.SubElement(paper, "style").text = STYLE
        ElementTree.SubElement(paper, "title").text = title
        ElementTree.SubElement(paper, "desc").text = " ".join(description)
        return cls(paper)

    def draw(self, kind: str, **attributes: str | float) -> None:
        ElementTree.SubElement(self.paper, kind, {name: _spelled(value) for name, value in attributes.items()})

    def write(
        self, text: str, x: float, y: float, anchor: str = "start", size: int = 12, weight: str = "normal"
    ) -> None:
        if text:
            attributes = {"text-anchor": anchor, "font-size": f"{size}", "font-weight": weight, "fill": INK}
            place = {"x": _spelled(x), "y": _spelled(y)}
            ElementTree.SubElement(self.paper, "text", {**place, **attributes}).text = text


def _spelled(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"
