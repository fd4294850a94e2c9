"""Pruning: decide how many heads or neurons stay, take the others out, and let what is left make up for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import Block
from workbench.importance import Floats, importance
from workbench.narrowing import counts_of, narrowed
from workbench.refit import Misfit, refit
from workbench.sketch import UNEVEN_HEADS, UNEVEN_NEURONS, Sketch
from workbench.training import lesson

Spread = Literal["even", "global"]
HALF = 0.5
UNITS: dict[Block, str] = {"attention": "heads", "ffn": "neurons"}
# What the sketch calls their number, and the trait of an encoder whose layers differ in it.
FORETOLD: dict[Block, tuple[str, str]] = {"attention": ("heads", UNEVEN_HEADS), "ffn": ("ffn", UNEVEN_NEURONS)}


@dataclass(frozen=True)
class Quota:
    """How many heads or neurons stay: a number in every layer, or a share of each layer or of all layers together.

    By share, whole lots of ``multiple`` stay, at least one in every layer; a layer's last lot may be short.
    """

    number: int | None = None
    share: float = HALF
    spread: Spread = "even"
    multiple: int = 1

    def counts(self, given: Sequence[int], weights: Sequence[Floats], done: float = 1.0) -> list[int]:
        """How many stay in each layer when a part of the pruning is done.

        ``given`` is how many there were at first, ``weights`` the importance of those still there.
        """
        if self.wherever:
            return self._wherever(given, weights, done)
        return [self.even(count, done) for count in given]

    @property
    def wherever(self) -> bool:
        """Whether layers may come to differ."""
        return self.number is None and self.spread == "global"

    def even(self, given: int, done: float = 1.0) -> int:
        """How many stay of a layer's own."""
        if self.number is not None:
            return round(given - done * (given - self.number))
        return min(given, self.multiple * max(1, round(self._share(done) * self._lots(given))))

    def _wherever(self, given: Sequence[int], weights: Sequence[Floats], done: float) -> list[int]:
        """Each layer's best lot stays, and then the best of all others."""
        wanted = max(len(given), round(self._share(done) * sum(map(self._lots, given))))
        others = [(value, layer) for layer, found in enumerate(weights) for value in self._values(found)[1:]]
        best = sorted(others, key=lambda lot: -lot[0])[: wanted - len(given)]
        lots = [1 + sum(home == layer for _, home in best) for layer in range(len(given))]
        return [min(len(found), self.multiple * many) for found, many in zip(weights, lots, strict=True)]

    def _values(self, weights: Floats) -> list[float]:
        """The mean importance of each lot, the most important heads or neurons together in the first."""
        ordered = np.sort(weights)[::-1]
        return [float(ordered[at : at + self.multiple].mean()) for at in range(0, len(ordered), self.multiple)]

    def _share(self, done: float) -> float:
        return 1.0 - done * (1.0 - self.share)

    def _lots(self, count: int) -> int:
        return math.ceil(count / self.multiple)


@dataclass(frozen=True)
class Pruned:
    """A pruned model: how many there were in each layer, what stayed by its old place, and how well it makes up."""

    model: Any
    given: list[int]
    kept: list[list[int]]
    rows: int
    importance_kept: float | None
    misfits: list[Misfit]

    @property
    def counts(self) -> list[int]:
        """How many stayed in each layer."""
        return [len(stay) for stay in self.kept]

    @property
    def changed(self) -> bool:
        """Whether anything is gone."""
        return self.counts != self.given

    def told(self) -> dict[str, Any]:
        """What of it belongs into a record, its counts and places apart."""
        record: dict[str, Any] = {"rows": self.rows}
        if self.importance_kept is not None:
            record["importance_kept"] = self.importance_kept
        if self.misfits:
            record["error_cut"] = [found.cut for found in self.misfits]
            record["error_refit"] = [found.refit for found in self.misfits]
        return record


class PruningOptions(BaseModel):
    """The options that strategies pruning heads or neurons have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    share: float | None = Field(
        default=None, gt=0, le=1, description="share that stays; half, if no number is given either"
    )
    spread: Spread | None = Field(
        default=None,
        description="where the share is taken: of every layer alike (even), or of all layers together, so that the "
        "most important stay wherever they are and layers differ (global); by default heads even, neurons global",
    )
    passes: int = Field(default=1, ge=1, description="how many times to prune a little and weigh anew what is left")
    rows: int = Field(default=512, ge=8, description="calibration rows that decide what is important and how to refit")
    refit: bool = Field(
        default=True, description="let the maps that read what is left make up, in least squares, for what is gone"
    )
    ridge: float = Field(
        default=0.01,
        gt=0,
        allow_inf_nan=False,
        description="how firmly refitting holds on to the old weights, relative to the variance of what they read",
    )

    def quota(self, number: int | None, usual: Spread, multiple: int = 1) -> Quota:
        """How many stay, by a number in every layer or else by the share, spread as asked or as usual."""
        return Quota(number, HALF if self.share is None else self.share, self.spread or usual, multiple)

    def check_number(self, option: str, number: int | None) -> None:
        """Refuse, as a wrong option, a number together with what decides by share."""
        if number is not None and self.share is not None:
            raise ValueError(f"give {option} (a number in every layer) or share, not both")
        if number is not None and self.spread == "global":
            raise ValueError(f"give {option} (a number in every layer) or spread: global (each its own), not both")

    def prune(self, encoder: Encoder, bench: Bench, block: Block, quota: Quota) -> Pruned:
        """Prune a copy of an encoder's model; in every pass what is left is weighed, cut and refitted anew."""
        rows = bench.data.calibrate[: self.rows]
        known = lesson(bench.tokens(encoder, rows), rows)
        given = counts_of(encoder.model, block)
        model, places = encoder.model, [np.arange(count) for count in given]
        at_first: list[Floats] = []
        misfits: list[Misfit] = []
        for number in range(1, self.passes + 1):
            label = UNITS[block] + (f", pass {number} of {self.passes}" if self.passes > 1 else "")
            with bench.progress.bar(f"weighing {label}", len(rows)) as told:
                weights = importance(model, block, known, bench.data.kind, told)
            at_first = at_first or weights
            stay = most_important(weights, quota.counts(given, weights, number / self.passes))
            model = narrowed(model, block, stay)
            places = [place[chosen] for place, chosen in zip(places, stay, strict=True)]
            if self.refit:
                with bench.progress.bar(f"refitting what reads {label}", len(given)) as told:
                    misfits = refit(model, encoder.model, block, known.tokens, self.ridge, told)
        kept = [place.tolist() for place in places]
        return Pruned(model, given, kept, len(rows), _share_of(at_first, kept), misfits)


def most_important(weights: Sequence[Floats], counts: Sequence[int]) -> list[list[int]]:
    """The places of the most important of each layer, in ascending order; of equals, the first."""
    ranked = [np.argsort(-found, kind="stable") for found in weights]
    return [sorted(order[:count].tolist()) for order, count in zip(ranked, counts, strict=True)]


def foretold(sketch: Sketch, block: Block, quota: Quota, option: str) -> Sketch:
    """The outline after pruning, as far as it is known before; more than there are is refused."""
    size, uneven = FORETOLD[block]
    there = getattr(sketch, size)
    if uneven in sketch.traits:
        if quota.number is not None:
            raise PlanError(f"{option}: layers already differ in their {UNITS[block]}; give share")
        return sketch
    if quota.number is not None and quota.number > there:
        raise PlanError(f"{option}: {quota.number} {UNITS[block]} cannot stay, each layer has {there}")
    if quota.wherever and (sketch.groups or sketch.layers) > 1:
        return sketch.with_traits(uneven)
    known: dict[str, Any] = {size: quota.even(there)}
    return replace(sketch, **known)


def _share_of(weights: Sequence[Floats], kept: Sequence[Sequence[int]]) -> float | None:
    """The share of all importance that stayed; absent where nothing had any."""
    whole = sum(float(found.sum()) for found in weights)
    lost = sum(float(np.delete(found, list(stay)).sum()) for found, stay in zip(weights, kept, strict=True))
    return 1.0 - lost / whole if whole else None
