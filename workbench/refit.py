"""Refit: after layers, heads or neurons are gone, maps that stayed learn to make up for them.

Layer by layer, from the lowest up, the map is moved so that what it gives inside the pruned model comes closest, in
least squares, to what the original model has in that place. It answers for what lower layers still get wrong as well,
because the pruned model's own activations go in. A ridge holds it near the weights it had: few rows move it little,
and where nothing is missing it stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from workbench.families import Block, layer_groups, layers_of, norm_after
from workbench.narrowing import units_of
from workbench.progress import Advance
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.tokens import Tokens

Batch = dict[str, torch.Tensor]


class Misfit(NamedTuple):
    """How far from the original a place in the model is, as a share of what is there: as cut, and after refitting."""

    cut: float
    refit: float


class Turn(NamedTuple):
    """One turn of a layer: what went into it, what a map inside was given, and what came of it before the norm."""

    entered: torch.Tensor
    given: torch.Tensor
    result: torch.Tensor


@dataclass
class Moments:
    """Sums over tokens from which a linear map can be refitted: of what goes in, and of what comes out too little."""

    inputs: torch.Tensor
    lacks: torch.Tensor
    squares: torch.Tensor
    products: torch.Tensor
    count: int = 0
    lacking: float = 0.0
    wanted: float = 0.0

    @classmethod
    def of(cls, linear: nn.Linear) -> Moments:
        """Empty sums for a map."""

        def zeros(*shape: int) -> torch.Tensor:
            return torch.zeros(shape, dtype=torch.float64, device=linear.weight.device)

        wide, out = linear.in_features, linear.out_features
        return cls(zeros(wide), zeros(out), zeros(wide, wide), zeros(wide, out))

    def add(self, given: torch.Tensor, result: torch.Tensor, wanted: torch.Tensor) -> None:
        """Count tokens in, a row for each: what went into the map, what came of it, and what should have come."""
        given, wanted = given.double(), wanted.double()
        lack = wanted - result.double()
        self.inputs += given.sum(dim=0)
        self.lacks += lack.sum(dim=0)
        self.squares += given.T @ given
        self.products += given.T @ lack
        self.count += len(given)
        self.lacking += float(lack.square().sum())
        self.wanted += float(wanted.square().sum())

    def solve(self, ridge: float) -> tuple[torch.Tensor, torch.Tensor, Misfit]:
        """What to add to the map's matrix, inputs first, and to its bias; and how much that helps.

        The bias is free. Changes of the matrix cost ``ridge`` times the mean variance of an input.
        """
        mean, lack = self.inputs / self.count, self.lacks / self.count
        squares = self.squares - self.count * torch.outer(mean, mean)
        products = self.products - self.count * torch.outer(mean, lack)
        # Inputs that never vary ask for no change; a ridge of nothing would leave them undecided.
        held = (ridge * squares.diagonal().mean()).clamp(min=torch.finfo(squares.dtype).tiny)
        change = torch.linalg.solve(squares + held * torch.eye(len(squares)).to(squares), products)
        left = self.lacking - self.count * lack.square().sum() - (change * (2 * products - squares @ change)).sum()
        return change, lack - mean @ change, Misfit(self._length(self.lacking), self._length(float(left)))

    def _length(self, squared: float) -> float:
        return math.sqrt(max(0.0, squared) / self.wanted) if self.wanted else 0.0


def refit(
    model: Any,
    original: Any,
    block: Block,
    tokens: Tokens,
    ridge: float,
    told: Advance = lambda done: None,
    places: Sequence[int] | None = None,
) -> list[Misfit]:
    """Refit every map of a pruned model that reads heads or neurons, the model itself being changed.

    ``original`` is the model it was pruned from. ``told`` hears the entries done. Of a model that lost layers,
    ``places`` are the original's entries whose results its own are to give; without them they are the same.
    """
    misfits = []
    for entry, units in enumerate(units_of(model, block)):
        place = places[entry] if places else entry
        moments = Moments.of(units.reader)
        for batch in _batches(model, tokens):
            there = batch["attention_mask"].bool()
            theirs = _turns(original, block, place, batch)
            for mine, other in zip(_turns(model, block, entry, batch, follow=theirs), theirs, strict=True):
                result, wanted = mine.result[there], other.result[there]
                moments.add(mine.given[there], result, _as_large(wanted, result) if places else wanted)
        change, shift, misfit = moments.solve(ridge)
        with torch.no_grad():
            units.reader.weight.add_(change.T)
            units.reader.bias.add_(shift)
        misfits.append(misfit)
        told(entry + 1)
    return misfits


def _as_large(wanted: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Tokens with the mean and the spread of others: the norm behind them takes both away, and layers differ there."""
    spread, mean = torch.std_mean(wanted, dim=-1, keepdim=True)
    own_spread, own_mean = torch.std_mean(result, dim=-1, keepdim=True)
    return (wanted - mean) / spread.clamp(min=torch.finfo(spread.dtype).tiny) * own_spread + own_mean


def _batches(model: Any, tokens: Tokens) -> Iterator[Batch]:
    runtime, device = TorchRuntime(model), next(model.parameters()).device
    for chosen in tokens.buckets():
        batch = {name: torch.from_numpy(values).to(device) for name, values in tokens.batch(chosen).items()}
        yield runtime.accepted(batch)


class _FarEnough(Exception):  # noqa: N818 - nothing is wrong
    """Ends a call of a model whose further layers need not run."""


def _turns(model: Any, block: Block, entry: int, batch: Batch, follow: Sequence[Turn] = ()) -> list[Turn]:
    """What the map that reads heads or neurons is given at each turn of an entry, and what then goes into the norm.

    An entry of several turns starts each of them where the one it is to ``follow`` starts it: its weights cannot be
    right for this turn before they are for the next, and what one turn gets wrong would be all that the next one sees.
    """
    turns = layer_groups(model.config).count(entry)
    entered: list[torch.Tensor] = []
    given: list[torch.Tensor] = []
    found: list[Turn] = []

    def enter(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        entered.append(follow[len(entered)].entered if follow and turns > 1 else inputs[0])
        return entered[-1], *inputs[1:]

    def leave(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        found.append(Turn(entered[-1], given[-1], inputs[0]))
        if len(found) == turns:
            raise _FarEnough

    hooks = [
        layers_of(model)[entry].register_forward_pre_hook(enter),
        units_of(model, block)[entry].reader.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0])),
        norm_after(model, entry, block).register_forward_pre_hook(leave),
    ]
    try:
        with torch.no_grad(), suppress(_FarEnough):
            model(**batch)
    finally:
        for hook in hooks:
            hook.remove()
    return found
