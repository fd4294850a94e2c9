"""Narrowing: take heads or neurons out of a model's layers, from each layer as many as one likes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from workbench.errors import PlanError
from workbench.families import Block, Family, family_of, layers_of, part

# Where the configuration tells how many there are in every layer.
QUANTITIES: dict[Block, str] = {"attention": "num_attention_heads", "ffn": "intermediate_size"}


@dataclass(frozen=True)
class Units:
    """The heads, or the neurons, of an entry of the layer list.

    ``makers`` are the maps whose outputs they are, ``reader`` is the map that takes them in, and ``size`` is how many
    numbers each of them has there.
    """

    makers: tuple[nn.Linear, ...]
    reader: nn.Linear
    size: int

    @property
    def count(self) -> int:
        """How many there are."""
        return self.reader.in_features // self.size


def units_of(model: Any, block: Block) -> list[Units]:
    """The heads (attention) or neurons (ffn) of every entry of the layer list; what hides them is refused."""
    family = family_of(model.config)
    if getattr(model.config, "inner_group_num", 1) > 1:
        raise PlanError("this ALBERT has several layers in a group; only groups of one layer can be pruned")
    find = _heads if block == "attention" else _neurons
    return [find(family, layer) for layer in layers_of(model)]


def counts_of(model: Any, block: Block) -> list[int]:
    """How many heads or neurons every entry of the layer list has."""
    return [units.count for units in units_of(model, block)]


def narrowed(model: Any, block: Block, kept: Sequence[Sequence[int]]) -> Any:
    """A copy of a model with only the named heads or neurons of every entry; the given model stays as it was.

    Its configuration tells their number where all entries have the same; no configuration can tell of several.
    """
    narrower = copy.deepcopy(model)
    family = family_of(narrower.config)
    for layer, units, stay in zip(layers_of(narrower), units_of(narrower, block), kept, strict=True):
        numbers = [unit * units.size + inner for unit in stay for inner in range(units.size)]
        for maker in units.makers:
            _keep_outputs(maker, numbers)
        _keep_inputs(units.reader, numbers)
        if block == "attention":
            for name, value in zip(family.head_numbers, (len(stay), len(numbers)), strict=True):
                setattr(part(layer, family.attention), name, value)
    counts = {len(stay) for stay in kept}
    if len(counts) == 1:
        setattr(narrower.config, family.key(QUANTITIES[block]), counts.pop())
    return narrower


def _heads(family: Family, layer: nn.Module) -> Units:
    holder = part(layer, family.attention)
    makers = tuple(_linear(holder, name) for name in family.projections)
    return Units(makers, _linear(layer, family.attention_output), int(holder.attention_head_size))


def _neurons(family: Family, layer: nn.Module) -> Units:
    maker, reader = (_linear(layer, path) for path in family.ffn_maps)
    return Units((maker,), reader, 1)


def _linear(holder: nn.Module, path: str) -> nn.Linear:
    found = part(holder, path)
    if not isinstance(found, nn.Linear):
        raise PlanError(f"{path} is no longer one matrix, so nothing can be taken out of it; prune before that step")
    return found


def _keep_outputs(linear: nn.Linear, numbers: list[int]) -> None:
    linear.weight = _cut(linear.weight, numbers, dim=0)
    if linear.bias is not None:
        linear.bias = _cut(linear.bias, numbers, dim=0)
    linear.out_features = len(numbers)


def _keep_inputs(linear: nn.Linear, numbers: list[int]) -> None:
    linear.weight = _cut(linear.weight, numbers, dim=1)
    linear.in_features = len(numbers)


def _cut(parameter: torch.Tensor, numbers: list[int], dim: int) -> nn.Parameter:
    kept = parameter.detach().index_select(dim, torch.tensor(numbers, device=parameter.device))
    return nn.Parameter(kept.contiguous(), requires_grad=parameter.requires_grad)
