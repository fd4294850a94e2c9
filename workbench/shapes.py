"""Shapes: the published sizes of small and large BERTs, by name."""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """The sizes of a BERT."""

    layers: int
    hidden: int
    heads: int
    ffn: int


# Turc et al., "Well-read students learn better" (2019), and Devlin et al. (2018).
SHAPES: dict[str, Shape] = {
    "bert-tiny": Shape(2, 128, 2, 512),
    "bert-mini": Shape(4, 256, 4, 1024),
    "bert-small": Shape(4, 512, 8, 2048),
    "bert-medium": Shape(8, 512, 8, 2048),
    "bert-base": Shape(12, 768, 12, 3072),
    "bert-large": Shape(24, 1024, 16, 4096),
}
