"""Augmentation without labels: new texts from old ones, for a teacher to label.

After Tang et al., "Distilling task-specific knowledge from BERT into simple neural networks" (2019): words are masked,
and now and then a text is cut down to a few neighbouring words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.tasks.task import Row

MASK_CHANCE = 0.1
NGRAM_CHANCE = 0.25
LONGEST_NGRAM = 5


def augmented(rows: Sequence[Row], copies: int, mask: str, unlabelled: float, seed: int) -> list[Row]:
    """Make ``copies`` variants of every row; the same seed gives the same ones."""
    generator = np.random.default_rng([seed, copies])
    return [
        Row(f"{row.id}+{copy}", tuple(_varied(text, mask, generator) for text in row.texts), unlabelled)
        for copy in range(copies)
        for row in rows
    ]


def _varied(text: str, mask: str, generator: np.random.Generator) -> str:
    words = np.asarray(text.split(), dtype=object)
    if not len(words):
        return text
    words[generator.random(len(words)) < MASK_CHANCE] = mask
    if generator.random() < NGRAM_CHANCE:
        length = int(generator.integers(1, LONGEST_NGRAM + 1))
        start = int(generator.integers(0, max(1, len(words) - length + 1)))
        words = words[start : start + length]
    return " ".join(words)
