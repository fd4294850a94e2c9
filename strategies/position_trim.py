"""Position trimming: a position table as long as the task's texts, and a tokenizer that cuts where it ends.

Tables for 512 tokens serve tasks whose longest text has fifty. The rows beyond are a few hundred thousand numbers that
are never read. Texts that fit are answered as before; longer ones are cut, as those beyond the old table were.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import longest_input
from workbench.fewer_rows import check_position_table, with_positions
from workbench.sketch import Sketch
from workbench.strategy import Strategy
from workbench.tasks.task import Row

# Exporters try a model with sixteen tokens.
FEWEST = 16
# Longer than any text, and short enough to be taken for a length.
NO_LIMIT = 10**9


class PositionTrim(Strategy):
    """Cut the position table to a number of tokens, or to what the longest training text needs.

    Without ``positions``, the longest training text, as far as the tokenizer reads it now, is rounded up to a multiple,
    so that somewhat longer texts fit too; the table never gets longer than what is read now.
    """

    name = "position-trim"
    needs = ("train",)
    claims = ("fewer-parameters", "smaller-file")
    portable = True

    positions: int | None = Field(
        default=None, ge=FEWEST, description="tokens the encoder takes; what the training texts need if not given"
    )
    multiple: int = Field(
        default=32, ge=1, description="the longest training text is rounded up to a multiple of this many tokens"
    )

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse more positions than there are."""
        if sketch.positions is not None:
            self._check_positions(sketch.positions)
        # Where texts are cut is part of a tokenizer's fingerprint.
        return replace(super().check(sketch), positions=self.positions, tokenizer="")

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Cut the table of a copy of the model, and let a copy of the tokenizer cut texts there."""
        check_position_table(encoder.model.config)
        there = longest_input(encoder.model.config)
        self._check_positions(there)
        read = min(encoder.tokenizer.model_max_length, there)
        lengths = uncut_lengths(encoder, bench.data.train, bench)
        positions = self.positions or self._needed(min(read, int(lengths.max())), max(read, FEWEST), there)
        shorter = copy.deepcopy(encoder.tokenizer)
        shorter.model_max_length = min(read, positions)
        detail = {
            "positions_before": there,
            "positions": positions,
            "longest_text": int(lengths.max()),
            "cut_before": float((lengths > read).mean()),
            "cut": float((lengths > shorter.model_max_length).mean()),
        }
        model = with_positions(encoder.model, positions)
        return encoder.evolve(model, by=self, detail=detail, tokenizer=shorter)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Cut the table of an untrained model to the same length."""
        return with_positions(model, detail["positions"])

    def _check_positions(self, there: int) -> None:
        if self.positions is not None and self.positions > there:
            raise PlanError(f"positions: {self.positions} is more than the {there} tokens the encoder takes")

    def _needed(self, longest: int, most: int, there: int) -> int:
        rounded = math.ceil(longest / self.multiple) * self.multiple
        return min(max(rounded, FEWEST), most, there)


def uncut_lengths(encoder: Encoder, rows: Sequence[Row], bench: Bench) -> NDArray[np.int64]:
    """How many tokens each row would have if none were cut off."""
    endless = copy.deepcopy(encoder.tokenizer)
    endless.model_max_length = NO_LIMIT
    return bench.tokens(replace(encoder, tokenizer=endless), rows).lengths
