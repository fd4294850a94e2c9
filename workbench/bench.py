"""Bench: what a strategy is lent to work with; there are no globals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.progress import Reporter
from workbench.study import Precision
from workbench.tasks.data import TaskData
from workbench.tasks.task import Row
from workbench.tokens import Tokens, tokenize_once


@dataclass(frozen=True)
class Bench:
    """The task's rows, the fine-tuned base as teacher, a seed, two folders and somebody to tell of progress.

    ``scratch`` is empty and goes away; ``workplace`` outlives a kill, so that long training can be taken up again.
    ``precision`` is the study's arithmetic of training, for strategies whose options name none.
    Test rows are in ``data.tests`` because measuring needs them there; a strategy must not look at them.
    """

    data: TaskData
    teacher: Encoder
    seed: int
    scratch: Path
    workplace: Path
    progress: Reporter
    cache: Cache
    precision: Precision | None = None

    def tokens(self, encoder: Encoder, rows: Sequence[Row]) -> Tokens:
        """Rows as the encoder's tokenizer spells them, computed once and kept."""
        return tokenize_once(encoder.tokenizer, rows, self.cache)
