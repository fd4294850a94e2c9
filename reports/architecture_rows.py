"""The rows of an architecture's drawing: what stands above what, how wide it is, and what is said of it."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from reports.architecture import short_count
from reports.palette import BLUE, CYAN, GREEN
from workbench.architecture import HALVES, Architecture, Half
from workbench.architecture_counts import Piece, parameters_by_part
from workbench.inventory import Part

# More layers than this are drawn by their first and last.
MOST_LAYERS, SHOWN_AT_ENDS = 30, 12
# Layers of a deeper stack are drawn flatter.
SHALLOW, BAR, FLAT_BAR = 12, 9.0, 6.0
# Every row holds a line of text.
LEAST_HEIGHT = 17.0
HALF_NAMES: dict[Half, str] = {"attention": "attention", "ffn": "feed-forward"}


@dataclass(frozen=True)
class Shape:
    """A bar as wide as the vectors that leave it at its top and enter at its bottom, in one or several cells."""

    top: int
    bottom: int
    height: float
    colour: str
    cells: int = 1


@dataclass(frozen=True)
class Row:
    """Shapes one above the other, with a name to their left and something said to their right."""

    part: Part
    name: str
    said: str
    shapes: tuple[Shape, ...] = ()

    @property
    def inner_height(self) -> float:
        """How high the shapes are together, a hair between them."""
        return sum(shape.height for shape in self.shapes) + max(0, len(self.shapes) - 1)

    @property
    def height(self) -> float:
        """How much room the row takes."""
        return max(LEAST_HEIGHT, self.inner_height + 6)


def rows_of(architecture: Architecture) -> list[Row]:
    """All rows from the top, which is the answer, to the bottom, where the words come in."""
    parameters = parameters_by_part(architecture).pieces
    return [
        *_head_rows(architecture, parameters),
        *_layer_rows(architecture),
        *_embedding_rows(architecture, parameters),
    ]


def _head_rows(architecture: Architecture, parameters: dict[Piece, int]) -> Iterator[Row]:
    hidden, labels = architecture.hidden, architecture.labels
    if labels:
        yield _map_row("head", "classifier", hidden, labels, GREEN, parameters["classifier"])
    if architecture.pooler:
        yield _map_row("head", "pooler", hidden, hidden, GREEN, parameters["pooler"])


def _layer_rows(architecture: Architecture) -> Iterator[Row]:
    shown = _shown(architecture.layers)
    said = _said_of_layers(architecture, shown)
    above = architecture.layers
    for layer in reversed(shown):
        if above - layer > 1:
            yield Row("encoder", "…", f"and {above - layer - 1} layers between")
        yield Row("encoder", f"layer {layer + 1}", said.get(layer, ""), _layer_shapes(architecture, layer))
        above = layer


def _shown(layers: int) -> list[int]:
    if layers <= MOST_LAYERS:
        return list(range(layers))
    return [*range(SHOWN_AT_ENDS), *range(layers - SHOWN_AT_ENDS, layers)]


def _layer_shapes(architecture: Architecture, layer: int) -> tuple[Shape, Shape]:
    hidden, ffn = architecture.hidden, architecture.ffn
    height = BAR if architecture.layers <= SHALLOW else FLAT_BAR
    return (
        Shape(ffn, ffn, height, _colour(architecture, layer, "ffn")),
        Shape(hidden, hidden, height, _colour(architecture, layer, "attention"), architecture.heads),
    )


def _colour(architecture: Architecture, layer: int, half: Half) -> str:
    """The colour of the set that a layer wears: hues from amber to purple, all of a middle brightness."""
    along = architecture.worn_by(layer, half) / max(1, architecture.matrix_sets(half) - 1)
    channels = colorsys.hls_to_rgb((0.09 - 0.31 * along) % 1, 0.48, 0.62)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def _said_of_layers(architecture: Architecture, shown: Sequence[int]) -> dict[int, str]:
    """What stands beside some layers: at the middle of each group that shares, who belongs to it."""
    halves = [half for half in HALVES if architecture.matrix_sets(half) < architecture.layers]
    if not halves:
        return {_middle(shown): "each layer has weights of its own"}
    what = "" if len(halves) == len(HALVES) else f"{HALF_NAMES[halves[0]]} "
    said = {}
    for number, group in groupby(range(architecture.layers), lambda layer: architecture.worn_by(layer, halves[0])):
        members = list(group)
        drawn = [layer for layer in members if layer in shown]
        if drawn:
            one = "one set" if len(members) == architecture.layers else f"set {number + 1}"
            said[_middle(drawn)] = f"{what}{one}: {_span(members)}"
    return said


def _middle(layers: Sequence[int]) -> int:
    return layers[len(layers) // 2]


def _span(layers: Sequence[int]) -> str:
    first, last = layers[0] + 1, layers[-1] + 1
    return f"layer {first}" if first == last else f"layers {first}–{last}"


def _embedding_rows(architecture: Architecture, parameters: dict[Piece, int]) -> Iterator[Row]:
    narrow, width = architecture.word_width, architecture.sum_width
    widening = []
    if architecture.widens:
        size = parameters["embedding map"]
        widening.append(_map_row("embeddings", "map", narrow, architecture.hidden, CYAN, size))
    said = f"{width:,} wide · {short_count(parameters['embedding norm'])}"
    added = [Row("embeddings", "norm", said, (_bar(width, 3),))]
    if architecture.token_types:
        added.append(_table_row("types", architecture.token_types, width, 6, parameters["type embeddings"]))
    added.append(_table_row("positions", architecture.positions, width, 12, parameters["position embeddings"]))
    # ALBERT adds all up in the narrow width and then widens the sum; a factorized table is widened before.
    yield from [*widening, *added] if architecture.family == "albert" else [*added, *widening]
    yield _table_row("words", architecture.vocabulary, narrow, 34, parameters["word embeddings"])


def _table_row(name: str, length: int, width: int, height: float, parameters: int) -> Row:
    return Row("embeddings", name, f"{length:,} × {width:,} · {short_count(parameters)}", (_bar(width, height),))


def _map_row(part: Part, name: str, inputs: int, outputs: int, colour: str, parameters: int) -> Row:
    said = f"{inputs:,} → {outputs:,} · {short_count(parameters)}"
    return Row(part, name, said, (Shape(outputs, inputs, 20, colour),))


def _bar(width: int, height: float) -> Shape:
    return Shape(width, width, height, BLUE)
