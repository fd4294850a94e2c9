"""Low-rank feed-forward: each wide matrix of a layer becomes the product of two thin ones.

This file is an example of a strategy from another package. It shows every part of the contract in
``workbench.strategy``: declarations, options, ``check``, ``apply`` and ``rebuild``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from pydantic import Field
from torch import nn

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import family_of, layers_of, quantity
from workbench.sketch import GRAPH, Sketch
from workbench.strategy import Strategy

# Where a layer keeps its two feed-forward matrices; ALBERT's layers stand in groups.
FEED_FORWARD = {
    "bert": ("intermediate.dense", "output.dense"),
    "roberta": ("intermediate.dense", "output.dense"),
    "albert": ("albert_layers.0.ffn", "albert_layers.0.ffn_output"),
    "distilbert": ("ffn.lin1", "ffn.lin2"),
}
THIN = "low-rank in its feed-forward"


class LowRankFfn(Strategy):
    """Cut both feed-forward matrices of every layer down to a low rank; the best such cut, by singular values."""

    # The first line of the docstring is what `workbench list strategies` shows.
    name = "low-rank-ffn"
    # What the exam will look for in the result. Claim nothing that is not always there.
    claims = ("fewer-parameters", "smaller-file")
    # Which architectures can be served; leave it out to promise all of them.
    families = tuple(FEED_FORWARD)
    # Stock classes have no place for two matrices instead of one, so `rebuild` below is needed to load the result.
    portable = False
    # A trait of our own: a second cut has nothing left to cut, and the plan says so before any work.
    gives = (THIN,)
    refuses = (GRAPH, THIN)

    # The options of a recipe's step. Descriptions become help texts; defaults must work on any usual encoder.
    share: float = Field(default=0.25, gt=0, lt=1, description="rank that stays, as a share of the encoder's width")

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse a rank at which the two thin matrices would hold as much as the wide one."""
        rank = self._rank(sketch.hidden)
        if rank * (sketch.hidden + sketch.ffn) >= sketch.hidden * sketch.ffn:
            raise PlanError(f"share: {self.share} of width {sketch.hidden} saves nothing; give a smaller share")
        return super().check(sketch)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Give an encoder with thin feed-forward matrices; the given one keeps its own."""
        thinner = copy.deepcopy(encoder.model)
        rank = self._rank(quantity(thinner.config, "hidden_size"))
        for path, wide in list(_feed_forward(thinner)):
            thinner.set_submodule(path, _factored(wide, rank))
        # What `rebuild` must know goes into `detail`: here the rank, so that old artifacts open for ever.
        return encoder.evolve(thinner, by=self, detail={"rank": rank})

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Put thin matrices without meaning into an untrained model; the saved weights will fill them."""
        for path, wide in list(_feed_forward(model)):
            model.set_submodule(path, _thin(wide, detail["rank"]))
        return model

    def _rank(self, width: int) -> int:
        return max(1, int(self.share * width))


def _feed_forward(model: Any) -> Iterator[tuple[str, nn.Linear]]:
    family = family_of(model.config)
    for number, layer in enumerate(layers_of(model)):
        for path in FEED_FORWARD[family.name]:
            yield f"{family.layers}.{number}.{path}", layer.get_submodule(path)


def _thin(wide: nn.Linear, rank: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(wide.in_features, rank, bias=False), nn.Linear(rank, wide.out_features))


def _factored(wide: nn.Linear, rank: int) -> nn.Sequential:
    thin = _thin(wide, rank)
    with torch.no_grad():
        left, values, right = torch.linalg.svd(wide.weight, full_matrices=False)
        root = values[:rank].sqrt()
        thin[0].weight.copy_(root[:, None] * right[:rank])
        thin[1].weight.copy_(left[:, :rank] * root)
        thin[1].bias.copy_(wide.bias)
    return thin
