"""Embedding quantization: the word table in 8 or 4 bits, made float row by row as words are looked up.

The word table is more than half of a small encoder and takes part in no product, so its precision costs no time and,
as a rule, hardly an answer. Everything else stays as it is, and a graph step after this one may quantize that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from pydantic import Field
from torch import nn

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import with_part, word_rows
from workbench.quantized_table import Bits, QuantizedTable
from workbench.sketch import GRAPH, QUANTIZED, QUANTIZED_TABLE, Sketch
from workbench.strategy import Strategy

USUAL_GROUP = 64


class EmbeddingQuantization(Strategy):
    """Store the word embeddings in 8 or 4 bits; they are made float again when they are looked up.

    The table of a factorized encoder is its narrow one; the map that widens it stays as it is. Training after this
    step changes everything but the stored table.
    """

    name = "embedding-quantization"
    claims = ("smaller-file",)
    gives = (QUANTIZED_TABLE,)
    refuses = (GRAPH, QUANTIZED, QUANTIZED_TABLE)

    bits: Bits = Field(default=8, description="bits of a stored number")
    group: int | None = Field(
        default=None,
        ge=8,
        description="how many numbers of a row share a step of 16 bits; the last group of a row may have fewer; 64 "
        "for 4 bits and the whole row for 8 if not given",
    )

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse a group longer than a row; ALBERT's and factorized tables are narrower, and ``apply`` checks them."""
        self._group(sketch.hidden)
        return super().check(sketch)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Quantize the table of a copy of the model."""
        path, table = word_rows(encoder.model)
        group = self._group(table.embedding_dim)
        module = QuantizedTable.of(table, self.bits, group)
        detail = {"group": group, "table_error": _error(module, table), **_sizes(module, table)}
        return encoder.evolve(with_part(encoder.model, path, module), by=self, detail=detail)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Put an empty table of the decided form in."""
        path, table = word_rows(model)
        module = QuantizedTable(
            table.num_embeddings, table.embedding_dim, self.bits, detail["group"], table.padding_idx
        )
        return with_part(model, path, module)

    def _group(self, width: int) -> int:
        if self.group is None:
            return min(USUAL_GROUP, width) if self.bits == 4 else width
        if self.group > width:
            raise PlanError(f"group: {self.group} is more than the {width} numbers of a row; give at most that")
        return self.group


def _error(module: QuantizedTable, table: nn.Embedding) -> float:
    """How far the stored numbers are from the table, as a share of its length."""
    with torch.no_grad():
        rows = table.weight.detach().double()
        missed = rows - module(torch.arange(len(rows), device=rows.device))
    there = float(torch.linalg.norm(rows))
    return float(torch.linalg.norm(missed)) / there if there else 0.0


def _sizes(module: QuantizedTable, table: nn.Embedding) -> dict[str, int]:
    return {
        "bytes_before": table.weight.nbytes,
        "bytes": sum(buffer.nbytes for buffer in module.state_dict().values()),
    }
