"""Architecture counts: the parameters, bytes and arithmetic of an architecture, from its sizes alone.

The rules are those of the size probe: a shared weight counts once, and arithmetic is that of matrix products and
attention, for one text without padding. Look-ups, norms, biases and activations cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from workbench.architecture import HALVES, Architecture, Half
from workbench.errors import UsageError
from workbench.inventory import PARTS, Part

Piece = Literal[
    "word embeddings",
    "position embeddings",
    "type embeddings",
    "embedding map",
    "embedding norm",
    "attention",
    "attention scores",
    "feed-forward",
    "layer norms",
    "pooler",
    "classifier",
]
PIECES: tuple[Piece, ...] = get_args(Piece)
PIECES_OF: dict[Part, tuple[Piece, ...]] = {
    "embeddings": PIECES[:5],
    "encoder": PIECES[5:9],
    "head": PIECES[9:],
}
# In int8, a number of a matrix or table takes a byte. Biases and norms stay in float32, as does the scale of each
# output channel of a matrix and of each table. This is what int8-dynamic stores, its zero points left out.
Dtype = Literal["float32", "float16", "int8"]
BYTES: dict[Dtype, int] = {"float32": 4, "float16": 2, "int8": 1}


@dataclass(frozen=True)
class Tally:
    """An amount, piece by piece; what an architecture has not, or what costs nothing, is absent."""

    pieces: dict[Piece, int]

    @property
    def total(self) -> int:
        """The sum over all pieces."""
        return sum(self.pieces.values())

    @property
    def parts(self) -> dict[Part, int]:
        """The sums over the pieces of each part."""
        return {part: sum(self.pieces.get(piece, 0) for piece in PIECES_OF[part]) for part in PARTS}


class _Stock(NamedTuple):
    """The numbers a piece stores, and how many scales its matrices need in int8."""

    in_matrices: int = 0
    in_vectors: int = 0
    scales: int = 0

    def bytes(self, dtype: Dtype) -> int:
        if dtype == "int8":
            return self.in_matrices * BYTES["int8"] + (self.in_vectors + self.scales) * BYTES["float32"]
        return (self.in_matrices + self.in_vectors) * BYTES[dtype]


def parameters_by_part(architecture: Architecture) -> Tally:
    """Count the distinct parameters."""
    return Tally({piece: stock.in_matrices + stock.in_vectors for piece, stock in _stocks(architecture).items()})


def disk_bytes(architecture: Architecture, dtype: Dtype) -> Tally:
    """The bytes that the weights take on disk, without the names and shapes that a file holds beside them.

    ``int8`` means matrices and tables in int8, with a scale per output channel or table, and the rest in float32.
    """
    return Tally({piece: stock.bytes(dtype) for piece, stock in _stocks(architecture).items()})


def macs(architecture: Architecture, tokens: int) -> Tally:
    """Count the multiply-accumulates of one text of a length; a shared layer costs as much as any."""
    if not 1 <= tokens <= architecture.longest:
        raise UsageError(f"a text of {tokens} tokens does not fit; give 1 to {architecture.longest}")
    hidden, runs = architecture.hidden, architecture.layers * tokens
    counted: dict[Piece, int] = {
        "attention": 4 * runs * hidden**2,
        # Every token is held against every other, and then gathers from them; both once over the whole width.
        "attention scores": 2 * runs * tokens * hidden,
        "feed-forward": 2 * runs * hidden * architecture.ffn,
    }
    if architecture.widens:
        counted["embedding map"] = tokens * architecture.word_width * hidden
    # Head and pooler see the first token alone.
    if architecture.pooler:
        counted["pooler"] = hidden**2
    if architecture.labels:
        counted["classifier"] = hidden * architecture.labels
    return _sorted(counted)


def _sorted(counted: dict[Piece, int]) -> Tally:
    return Tally({piece: counted[piece] for piece in PIECES if piece in counted})


def _stocks(architecture: Architecture) -> dict[Piece, _Stock]:
    return {**_embeddings(architecture), **_encoder(architecture), **_head(architecture)}


def _embeddings(architecture: Architecture) -> dict[Piece, _Stock]:
    width = architecture.sum_width
    found: dict[Piece, _Stock] = {
        "word embeddings": _table(architecture.vocabulary, architecture.word_width),
        "position embeddings": _table(architecture.positions, width),
    }
    if architecture.token_types:
        found["type embeddings"] = _table(architecture.token_types, width)
    if architecture.widens:
        found["embedding map"] = _map(architecture.word_width, architecture.hidden)
    return {**found, "embedding norm": _norms(width)}


def _encoder(architecture: Architecture) -> dict[Piece, _Stock]:
    hidden, ffn = architecture.hidden, architecture.ffn
    attention = [_map(hidden, hidden)] * 4
    norms = sum(architecture.vector_sets(half) for half in HALVES)
    return {
        "attention": _worn(architecture, "attention", attention),
        "feed-forward": _worn(architecture, "ffn", [_map(hidden, ffn), _map(ffn, hidden)]),
        "layer norms": _norms(hidden, norms),
    }


def _worn(architecture: Architecture, half: Half, maps: list[_Stock]) -> _Stock:
    matrices, vectors = architecture.matrix_sets(half), architecture.vector_sets(half)
    return _Stock(
        in_matrices=matrices * sum(one.in_matrices for one in maps),
        in_vectors=vectors * sum(one.in_vectors for one in maps),
        scales=matrices * sum(one.scales for one in maps),
    )


def _head(architecture: Architecture) -> dict[Piece, _Stock]:
    found: dict[Piece, _Stock] = {}
    if architecture.pooler:
        found["pooler"] = _map(architecture.hidden, architecture.hidden)
    if architecture.labels:
        found["classifier"] = _map(architecture.hidden, architecture.labels)
    return found


def _table(rows: int, width: int) -> _Stock:
    return _Stock(in_matrices=rows * width, scales=1)


def _map(inputs: int, outputs: int) -> _Stock:
    return _Stock(in_matrices=inputs * outputs, in_vectors=outputs, scales=outputs)


def _norms(width: int, count: int = 1) -> _Stock:
    return _Stock(in_vectors=2 * width * count)
