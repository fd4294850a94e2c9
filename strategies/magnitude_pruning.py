"""Magnitude pruning: the smallest weights are set to zero, one by one, wherever they are.

It is what many people mean by pruning, so it is here to be compared. Zeroes are numbers like any other to the usual
runtimes: they are zeroed, not removed, and the file stays as large and the encoder as slow as it was. Only kernels made
for sparse matrices, or compressing the file, would gain by them. A later training step would fill the zeroes again, so
finetune and distillation refuse to come after this one; train first.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.runtimes.parts import part_of
from workbench.sketch import GRAPH, QUANTIZED_TABLE, ZEROED, Sketch
from workbench.strategy import Strategy

EFFECT = "zeroed, not removed"


class MagnitudePruning(Strategy):
    """Set a share of the weights, those nearest to zero, to zero; the result is neither smaller nor faster.

    Biases and norms are left alone, and a matrix that several layers share is counted and pruned once.
    """

    name = "magnitude-pruning"
    claims = ("zeroed-weights",)
    portable = True
    gives = (ZEROED,)
    refuses = (GRAPH,)

    share: float = Field(default=0.5, gt=0, lt=1, description="share of the chosen weights that is set to zero")
    scope: Literal["global", "layer"] = Field(
        default="global",
        description="which weights are compared: those of all matrices (global), so that some matrices lose more than "
        "others, or those of one matrix (layer), so that each loses the same share",
    )
    embeddings: bool = Field(default=False, description="choose from the embedding tables as well")

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse to choose from a table that is no longer in float."""
        if self.embeddings and QUANTIZED_TABLE in sketch.traits:
            raise PlanError(
                "embeddings: the word table is already quantized; leave embeddings out, or come before that"
            )
        return super().check(sketch)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Zero the smallest weights of a copy of the model."""
        model = copy.deepcopy(encoder.model)
        chosen = self._chosen(model)
        for matrices in [chosen] if self.scope == "global" else [[matrix] for matrix in chosen]:
            zero_smallest(matrices, self.share)
        detail = _detail(chosen)
        bench.progress.say(f"  {detail['zeroed']:,} of {detail['weights']:,} weights of its matrices are {EFFECT}")
        return encoder.evolve(model, by=self, detail=detail)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Zeroes change no architecture."""
        return model

    def _chosen(self, model: Any) -> list[nn.Parameter]:
        """The matrices of the layers, and if wanted the embedding tables; each once, however many places use it."""
        kinds = nn.Linear | nn.Embedding if self.embeddings else nn.Linear
        parts = {"encoder", "embeddings"} if self.embeddings else {"encoder"}
        places: dict[Any, list[str]] = {}
        for path, module in model.named_modules():
            if isinstance(module, kinds):
                places.setdefault(module.weight, []).append(f"{path}.weight")
        return [matrix for matrix, names in places.items() if part_of(names) in parts]


def zero_smallest(matrices: Collection[nn.Parameter], share: float) -> None:
    """Zero a share of the numbers that some matrices hold together, those nearest to zero; equals go together."""
    sizes = np.concatenate([matrix.detach().abs().flatten().cpu().numpy() for matrix in matrices])
    count = int(share * sizes.size)
    if not count:
        return
    sizes.partition(count - 1)
    largest = float(sizes[count - 1])
    with torch.no_grad():
        for matrix in matrices:
            matrix.masked_fill_(matrix.abs() <= largest, 0.0)


def _detail(matrices: Collection[nn.Parameter]) -> dict[str, Any]:
    """What is zero now, in all and where least and most."""
    zeroed = [int((matrix == 0).sum()) for matrix in matrices]
    shares = [count / matrix.numel() for count, matrix in zip(zeroed, matrices, strict=True)]
    return {
        "effect": EFFECT,
        "zeroed": sum(zeroed),
        "weights": sum(matrix.numel() for matrix in matrices),
        "lowest_share": min(shares),
        "highest_share": max(shares),
    }
