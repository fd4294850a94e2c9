"""Vocabulary trimming: a word table with the pieces that the task's texts need, and a tokenizer to match.

Most of a vocabulary never occurs in a task. What is taken out is spelt from shorter pieces when it does occur; no text
becomes unknown that was not (``workbench.spelling`` says why). Texts get a little longer and nothing gets faster, but
the word table is more than half of a small encoder. Do it before training, so that words that are now spelt otherwise
are learned anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import family_of, word_rows
from workbench.fewer_rows import token_ids, with_words
from workbench.sketch import GRAPH, QUANTIZED, QUANTIZED_TABLE, Sketch
from workbench.strategy import Strategy
from workbench.tokens import Tokens
from workbench.trimmed_tokenizer import spelling_of, with_pieces

USUAL_COUNT = 8000
# Small vocabularies are trimmed too.
USUAL_SHARE = 3


class VocabularyTrim(Strategy):
    """Keep the pieces that occur in the training texts and the most frequent others; the rest leave the vocabulary.

    Special pieces always stay, and so does what is needed to spell any text that could be spelt. Which pieces are
    frequent is taken from the vocabulary itself: from the scores of sentencepiece (ALBERT), and from the order of all
    others, which are written in the order of frequency.
    """

    name = "vocabulary-trim"
    needs = ("train", "calibrate")
    claims = ("fewer-parameters", "smaller-file")
    portable = True
    refuses = (GRAPH, QUANTIZED, QUANTIZED_TABLE)

    most_frequent: int | None = Field(
        default=None,
        ge=0,
        description="how many of the most frequent pieces stay whether or not the training texts have them; 8000, or a "
        "third of those that could go if that is less, if not given",
    )

    def check(self, sketch: Sketch) -> Sketch:
        """How many pieces stay is for the texts to decide; they will be spelt otherwise than by the base."""
        return replace(super().check(sketch), vocabulary=None, respelt=True)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Trim tokenizer and table of a copy of the encoder."""
        word_rows(encoder.model)
        spelling = spelling_of(encoder.tokenizer)
        numbers: dict[str, int] = encoder.tokenizer.get_vocab()
        pieces = {number: piece for piece, number in numbers.items()}
        seen = {pieces[number] for number in np.unique(bench.tokens(encoder, bench.data.train).ids).tolist()}
        fixed = {pieces[number] for number in fixed_numbers(encoder.model.config) if number in pieces}
        kept = spelling.kept(seen | fixed, self._frequent(len(spelling.others)))
        rows = sorted(numbers[piece] for piece in kept)
        ids = {key: rows.index(number) for key, number in token_ids(encoder.model.config).items() if number in rows}
        trimmed = replace(encoder, tokenizer=with_pieces(encoder.tokenizer, kept))
        detail = {
            "pieces_before": len(numbers),
            "pieces": len(rows),
            "seen": len(seen - spelling.special),
            **respelt(encoder, trimmed, spelling.unknown, bench),
            "token_ids": ids,
        }
        model = with_words(encoder.model, rows, ids)
        return encoder.evolve(model, by=self, detail=detail, tokenizer=trimmed.tokenizer)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Leave as many words in an untrained model."""
        return with_words(model, range(detail["pieces"]), detail["token_ids"])

    def _frequent(self, others: int) -> int:
        return min(USUAL_COUNT, others // USUAL_SHARE) if self.most_frequent is None else self.most_frequent


def fixed_numbers(config: Any) -> set[int]:
    """The numbers of pieces that a configuration names, and of those that must not move to a lower number.

    RoBERTa counts positions from the number of its padding on; if that moved, every position would.
    """
    named = token_ids(config)
    below = range(named.get("pad_token_id", 0)) if family_of(config).reserved_positions else ()
    return {*named.values(), *below}


def respelt(before: Encoder, after: Encoder, unknown: str | None, bench: Bench) -> dict[str, Any]:
    """What of the calibration texts is spelt otherwise: the share of their tokens whose piece is gone, and unknowns.

    Refused is a vocabulary by which a text has more unknowns than before.
    """
    whole, small = (bench.tokens(encoder, bench.data.calibrate) for encoder in (before, after))
    was, now = _unknowns(whole, before, unknown), _unknowns(small, after, unknown)
    if (now > was).any():
        raise PlanError(
            f"{int((now > was).sum())} of {len(whole)} calibration texts cannot be spelt with the pieces that would "
            "stay; give a higher most_frequent"
        )
    vocabulary = after.tokenizer.get_vocab()
    gone = [number for piece, number in before.tokenizer.get_vocab().items() if piece not in vocabulary]
    return {
        "resplit": float(np.isin(whole.ids, gone).mean()),
        "unknown_before": int(was.sum()),
        "unknown": int(now.sum()),
    }


def _unknowns(tokens: Tokens, encoder: Encoder, unknown: str | None) -> NDArray[np.int64]:
    """How many tokens of each text are unknown."""
    if unknown is None:
        return np.zeros(len(tokens), np.int64)
    counted = np.concatenate([[0], np.cumsum(tokens.ids == encoder.tokenizer.get_vocab()[unknown])])
    return np.diff(counted[tokens.starts])
