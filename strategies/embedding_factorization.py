"""Embedding factorization: the word table becomes a narrow table and a map that widens it, the first half of ALBERT.

A table of V words and width H holds V·H numbers; through rank E it holds V·E + E·H + H. The narrow table starts from
the truncated SVD of the trained one, centred and with its rows weighted by how often the task uses them. Positions,
types and the norm after them stay where they were, in the full width, so the encoder answers before any training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from torch import nn

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import family_of, with_part, word_table
from workbench.sketch import GRAPH, QUANTIZED, QUANTIZED_TABLE, Sketch
from workbench.strategy import Strategy

FACTORIZED = "factorized"
# ALBERT and its heirs look words up in 128 numbers; a third of the width is that for a base of width 384.
USUAL_SHARE = 3

Floats = NDArray[np.float64]


class FactorizedEmbedding(nn.Module):
    """Looks a token up in a narrow table and widens what it finds; the bias of the map is the mean word."""

    def __init__(self, words: int, rank: int, width: int, padding_idx: int | None) -> None:
        super().__init__()
        self.narrow = nn.Embedding(words, rank, padding_idx=padding_idx)
        self.widen = nn.Linear(rank, width)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Give the word embeddings in full width."""
        return self.widen(self.narrow(input_ids))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Spectrum:
    """A table's weighted mean, its principal directions (columns, strongest first) and the energy along each."""

    mean: Floats
    directions: Floats
    energies: Floats

    def lost(self, rank: int) -> float:
        """The energy that does not lie along the first ``rank`` directions."""
        # Summed from the weakest on, so that nothing small is swallowed.
        return float(self.energies[rank:][::-1].sum())

    def kept(self, rank: int) -> float:
        """The share of energy along the first ``rank`` directions."""
        total = self.lost(0)
        return 1.0 - self.lost(rank) / total if total else 1.0

    def rank_for(self, energy: float) -> int:
        """The smallest rank, at least 1, that keeps a share of the energy."""
        allowed = (1.0 - energy) * self.lost(0)
        return next(rank for rank in range(1, len(self.energies) + 1) if self.lost(rank) <= allowed)


class EmbeddingFactorization(Strategy):
    """Store the word embeddings as a narrow table and a map to full width; what the task's frequent words need stays.

    Give ``rank`` or ``energy``; with neither, the rank is a third of the table's width, which makes the table about
    three times smaller whatever its spectrum. Any rank up to the full width is taken, because a full one is exact and
    a useful control; but from V·H / (V + H) on the two factors outweigh the table, and then the step says so.
    """

    name = "embedding-factorization"
    needs = ("train",)
    claims = ("fewer-parameters", "smaller-file")
    gives = (FACTORIZED,)
    refuses = (GRAPH, QUANTIZED, QUANTIZED_TABLE, FACTORIZED)

    rank: int | None = Field(
        default=None, ge=1, description="width of the narrow table; a third of the full width if energy is absent too"
    )
    energy: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="share of the table's weighted energy to keep, instead of rank; the least rank that does is taken",
    )
    smoothing: float = Field(
        default=1.0, gt=0, description="added to each token's count in the training rows, so that none counts nothing"
    )

    @model_validator(mode="after")
    def _rank_or_energy(self) -> Self:
        if self.rank is not None and self.energy is not None:
            raise ValueError("give rank (a number) or energy (a share), not both")
        return self

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse a rank above the table's width; ALBERT's own table is narrower still and is checked by ``apply``."""
        self._check_rank(min(sketch.hidden, sketch.vocabulary or sketch.hidden))
        return super().check(sketch)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Factorize the table of a copy of the model, weighted by the tokens of the training rows."""
        table = word_table(encoder.model)
        if not isinstance(table, nn.Embedding):
            raise PlanError("the word embeddings are already factorized; leave one of the two steps out")
        self._check_rank(min(table.weight.shape))
        counts = np.bincount(bench.tokens(encoder, bench.data.train).ids, minlength=table.num_embeddings)
        weights = counts.astype(np.float64) + self.smoothing
        rows = table.weight.detach().cpu().double().numpy()
        spectrum = weighted_spectrum(rows, weights)
        rank = self._rank(spectrum)
        module = factorized(table, rows, spectrum, rank)
        detail = {"rank": rank, "energy_kept": spectrum.kept(rank), **_errors(module, rows, weights), **_sizes(module)}
        if detail["parameters"] >= detail["parameters_before"]:
            bench.progress.say(f"  {_outweighs(detail, *rows.shape)}")
        path = family_of(encoder.model.config).word_embeddings
        return encoder.evolve(with_part(encoder.model, path, module), by=self, detail=detail)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Put an untrained table and map of the decided rank in."""
        table = word_table(model)
        module = FactorizedEmbedding(table.num_embeddings, detail["rank"], table.embedding_dim, table.padding_idx)
        return with_part(model, family_of(model.config).word_embeddings, module)

    def _check_rank(self, most: int) -> None:
        if self.rank is not None and self.rank > most:
            raise PlanError(f"rank: {self.rank} is above the full rank of the word table, {most}; give at most that")

    def _rank(self, spectrum: Spectrum) -> int:
        if self.energy is not None:
            return spectrum.rank_for(self.energy)
        return self.rank or max(1, len(spectrum.energies) // USUAL_SHARE)


def weighted_spectrum(rows: Floats, weights: Floats) -> Spectrum:
    """The best affine approximations of all ranks to a table whose rows matter by their weights.

    These are the right singular vectors of the centred rows, each times the root of its weight. They are taken from
    the small matrix of second moments: the factors need nothing else, and a table of any length is done in a moment.
    """
    mean = np.average(rows, axis=0, weights=weights)
    centred = rows - mean
    energies, directions = np.linalg.eigh(centred.T @ (centred * weights[:, None]))
    energies, directions = energies[::-1].copy(), directions[:, ::-1].copy()
    # What is below rounding is no direction of the table.
    floor = energies[0] * len(energies) * np.finfo(np.float64).eps
    return Spectrum(mean, directions, np.where(energies > floor, energies, 0.0))


def factorized(table: nn.Embedding, rows: Floats, spectrum: Spectrum, rank: int) -> FactorizedEmbedding:
    """The module of a rank that gives back a table as closely as it can."""
    directions = spectrum.directions[:, :rank]
    module = FactorizedEmbedding(table.num_embeddings, rank, table.embedding_dim, table.padding_idx).to(table.weight)
    with torch.no_grad():
        module.narrow.weight.copy_(torch.from_numpy((rows - spectrum.mean) @ directions))
        module.widen.weight.copy_(torch.from_numpy(directions))
        module.widen.bias.copy_(torch.from_numpy(spectrum.mean))
    return module


def _errors(module: FactorizedEmbedding, rows: Floats, weights: Floats) -> dict[str, float]:
    """How far the stored numbers are from the table, as shares of its length; by token use, and every row alike."""
    with torch.no_grad():
        again = module.widen(module.narrow.weight).cpu().double().numpy()
    missed, there = np.square(rows - again).sum(axis=1), np.square(rows).sum(axis=1)
    return {
        "weighted_error": float(np.sqrt(weights @ missed / (weights @ there))),
        "plain_error": float(np.sqrt(missed.sum() / there.sum())),
    }


def _sizes(module: FactorizedEmbedding) -> dict[str, int]:
    before = module.narrow.num_embeddings * module.widen.out_features
    return {"parameters_before": before, "parameters": sum(part.numel() for part in module.parameters())}


def _outweighs(detail: Mapping[str, Any], words: int, width: int) -> str:
    largest = ((words - 1) * width - 1) // (words + width)
    return (
        f"rank {detail['rank']} does not make the word table smaller ({detail['parameters_before']} numbers before, "
        f"{detail['parameters']} now); a rank of {largest} or less would"
    )
