"""Layer sharing: groups of layers wear one set of weights, the second half of ALBERT.

The encoder runs as many layers as before, so it gets smaller and not faster. Norms and biases are less than a
hundredth of a layer and tell its turns apart, so they stay each layer's own unless asked otherwise.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import Block, block_parameters, layers_of, put_parameter
from workbench.sketch import CLS_ONLY, GRAPH, QUANTIZED, SHARED, UNEVEN_HEADS, UNEVEN_NEURONS, Sketch
from workbench.strategy import Strategy

BLOCKS: dict[str, tuple[Block, ...]] = {"all": ("attention", "ffn"), "attention": ("attention",), "ffn": ("ffn",)}
Groups = Sequence[Sequence[int]]


class LayerSharing(Strategy):
    """Let groups of layers use the same weight matrices, held in memory, checkpoint and graph only once."""

    name = "layer-sharing"
    families = ("bert", "roberta", "distilbert")
    claims = ("fewer-parameters", "smaller-file")
    gives = (SHARED,)
    # Layers of different shapes have no weights in common.
    refuses = (GRAPH, QUANTIZED, SHARED, CLS_ONLY, UNEVEN_HEADS, UNEVEN_NEURONS)

    groups: int | None = Field(
        default=None, ge=1, description="how many sets of weights there are; half as many as layers if not given"
    )
    order: Literal["sequence", "cycle"] = Field(
        default="sequence", description="who shares: neighbours (0 0 1 1 2 2), or by turns (0 1 2 0 1 2)"
    )
    share: Literal["all", "attention", "ffn"] = Field(
        default="all", description="which half of a layer is shared; the feed-forward half is larger and costs more"
    )
    init: Literal["layer", "mean"] = Field(
        default="layer",
        description="a group begins as one of its layers, or as their mean, which needs training before it is any good",
    )
    untie: bool = Field(default=True, description="leave norms and biases to each layer")

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse more groups than there are layers."""
        self._count(sketch.layers)
        return super().check(sketch)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Tie the layers of each group in a copy of the model and fill them from the layers the group begins as."""
        layers = len(layers_of(encoder.model))
        groups = grouped(layers, self._count(layers), self.order)
        sources = groups if self.init == "mean" else [[layer] for layer in spread(groups)]
        tied = self._tied(encoder.model, groups)
        self._fill(tied, encoder.model, groups, sources)
        return encoder.evolve(tied, by=self, detail={"groups": groups, "sources": sources})

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Tie the same layers of an untrained model."""
        return self._tied(model, detail["groups"])

    def _count(self, layers: int) -> int:
        wanted = self.groups or math.ceil(layers / 2)
        if wanted > layers:
            raise PlanError(f"groups: {layers} layers cannot make {wanted} groups; give at most {layers}")
        return wanted

    def _tied(self, model: Any, groups: Groups) -> Any:
        tied = copy.deepcopy(model)
        for first, *others in groups:
            for name, parameter in self._shared(tied, first).items():
                for other in others:
                    put_parameter(layers_of(tied)[other], name, parameter)
        return tied

    def _fill(self, tied: Any, original: Any, groups: Groups, sources: Groups) -> None:
        for (first, *_), layers in zip(groups, sources, strict=True):
            donors = [self._shared(original, layer) for layer in layers]
            for name, parameter in self._shared(tied, first).items():
                mean = torch.stack([donor[name].detach().double() for donor in donors]).mean(dim=0)
                parameter.data.copy_(mean)

    def _shared(self, model: Any, layer: int) -> dict[str, torch.nn.Parameter]:
        """The parameters of a layer that its group has in common, by name."""
        return {
            name: parameter
            for block in BLOCKS[self.share]
            for name, parameter in block_parameters(model, layer, block).items()
            # Matrices have two dimensions; biases and norms have one.
            if parameter.dim() > 1 or not self.untie
        }


def grouped(layers: int, groups: int, order: str) -> list[list[int]]:
    """Divide layers into groups whose sizes differ by one at most."""
    homes = [layer % groups if order == "cycle" else layer * groups // layers for layer in range(layers)]
    return [[layer for layer, home in enumerate(homes) if home == group] for group in range(groups)]


def spread(groups: Groups) -> list[int]:
    """One layer of each group, together spread over the depth: the first group's first, the last group's last."""
    if len(groups) == 1:
        return [groups[0][(len(groups[0]) - 1) // 2]]
    return [group[number * (len(group) - 1) // (len(groups) - 1)] for number, group in enumerate(groups)]
