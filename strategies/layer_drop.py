"""Layer dropping: keep some transformer layers, leave the others out.

Policies are named for what they leave out, as in Sajjad et al., "On the effect of dropping layers of pre-trained
transformer models" (2020); ``distilbert`` generalises the choice 0, 2, 4, 7, 9, 11 of twelve that DistilBERT was
initialised from.

A layer that is refitted stands in for those that went after it: it takes over the norm that the last of them ended
with, and its neurons are read anew, in least squares, so that the next layer finds what it was used to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import check_layers, family_of, norm_after, quantity, with_layers
from workbench.lineage import STANDS_FOR
from workbench.refit import refit
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.sketch import CLS_ONLY, GRAPH, Sketch
from workbench.strategy import Strategy
from workbench.tasks.kinds import Kind, Logits
from workbench.tokens import Tokens

Policy = Literal["top", "bottom", "alternate", "symmetric", "distilbert", "contribution", "search"]
Subset = tuple[int, ...]
# Up to this many subsets are all scored; where there are more, a beam of this width goes down layer by layer.
MOST_SUBSETS = 64
BEAM = 4


class LayerDrop(Strategy):
    """Keep a list of layers, or a number of them chosen by a policy; the others are removed from the model."""

    name = "layer-drop"
    needs = ("calibrate",)
    claims = ("fewer-layers",)
    portable = True
    # A layer that gives one token alone must stay the last.
    refuses = (GRAPH, CLS_ONLY)

    keep: tuple[int, ...] | None = Field(
        default=None, min_length=1, description="layers that stay, counted from 0, in ascending order"
    )
    layers: int | None = Field(default=None, ge=1, description="how many layers stay; half of them if not given")
    share: float | None = Field(
        default=None, gt=0, le=1, description="share of the layers that stay, rounded, instead of their number"
    )
    policy: Policy = Field(
        default="distilbert",
        description="which layers go: the top, bottom or middle (symmetric) ones, every other (alternate), all but an "
        "even spread with first and last (distilbert), those that change the hidden state least (contribution), or "
        "those whose loss moves the outputs least (search, on calibration rows)",
    )
    rows: int = Field(default=256, ge=8, description="calibration rows that contribution and search look at")
    refit: Literal[False, True, "classes"] = Field(
        default=False,
        description="let every layer make up, in least squares, for those that went after it; classes: only where the "
        "task asks for a class, not for a number",
    )
    refit_rows: int = Field(default=512, ge=8, description="calibration rows that refitting looks at")
    ridge: float = Field(
        default=0.001,
        gt=0,
        allow_inf_nan=False,
        description="how firmly refitting holds on to the old weights, relative to the variance of what they read",
    )

    @model_validator(mode="after")
    def _list_or_number(self) -> Self:
        if sum(given is not None for given in (self.keep, self.layers, self.share)) > 1:
            raise ValueError("give one of keep (a list of layers), layers (a number) and share, not several")
        return self

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse layers the encoder does not have, and more layers than it has."""
        return replace(sketch, layers=len(self._checked_keep(sketch.layers)))

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Choose the layers, and give an encoder with those alone."""
        count = quantity(encoder.model.config, "num_hidden_layers")
        detail: dict[str, Any] = {"keep": self._checked_keep(count)}
        wanted = len(detail["keep"])
        if self.keep is None and self.policy in {"contribution", "search"} and wanted < count:
            rows = bench.data.calibrate[: self.rows]
            tokens = bench.tokens(encoder, rows)
            if self.policy == "search":
                detail = search(encoder, tokens, bench.data.kind, wanted)
            else:
                detail = contribution(encoder, tokens, wanted)
        model = with_layers(encoder.model, detail["keep"])
        refitting = self.refit is True or (self.refit == "classes" and bench.data.task.kind != "regression")
        if refitting and family_of(model.config).shares_layers:
            detail["remark"] = "not refitted: layers that share their weights cannot make up for one another"
            bench.progress.say(f"  {detail['remark']}")
        elif refitting and len(detail["keep"]) < count:
            detail |= self._refitted(model, encoder, detail["keep"], bench)
        return encoder.evolve(model, by=self, detail=detail)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Leave the same layers out of an untrained model."""
        return with_layers(model, detail["keep"])

    def _refitted(self, model: Any, encoder: Encoder, keep: Subset, bench: Bench) -> dict[str, Any]:
        """Refit a model that lost layers, and tell how far its layers are from those they stand in for."""
        count, of_base = (quantity(each.model.config, "num_hidden_layers") for each in (encoder, bench.teacher))
        places = [*(after - 1 for after in keep[1:]), count - 1]
        for own, place in enumerate(places):
            norm_after(model, own, "ffn").load_state_dict(norm_after(encoder.model, place, "ffn").state_dict())
        rows = bench.data.calibrate[: self.refit_rows]
        with bench.progress.bar("refitting layers", len(keep)) as told:
            misfits = refit(model, encoder.model, "ffn", bench.tokens(encoder, rows), self.ridge, told, places)
        return {
            # Places in an encoder that lost layers before say nothing of the base's.
            **({STANDS_FOR: places} if count == of_base else {}),
            "refit_rows": len(rows),
            "error_cut": [found.cut for found in misfits],
            "error_refit": [found.refit for found in misfits],
        }

    def _wanted(self, count: int) -> int:
        return math.ceil(count / 2) if self.share is None else max(1, round(self.share * count))

    def _checked_keep(self, count: int) -> Subset:
        """The layers to keep as far as options alone decide them: a list, or a policy that needs no data."""
        if self.keep is None:
            wanted = self.layers or self._wanted(count)
            if wanted > count:
                raise PlanError(f"layers: {wanted} cannot stay, the encoder has {count}")
            return fixed_choice(self.policy, count, wanted)
        outside = [index for index in self.keep if not 0 <= index < count]
        if outside:
            raise PlanError(f"keep: layer {outside[0]} does not exist; the encoder has layers 0 to {count - 1}")
        if list(self.keep) != sorted(set(self.keep)):
            raise PlanError(f"keep: name each layer once, in ascending order (given: {list(self.keep)})")
        return self.keep


def fixed_choice(policy: Policy, count: int, wanted: int) -> Subset:
    """Which layers stay under a policy that looks at nothing but numbers."""
    if policy == "bottom":
        return tuple(range(count - wanted, count))
    if policy == "alternate":
        return tuple(index * count // wanted for index in range(wanted))
    if policy == "symmetric":
        low = math.ceil(wanted / 2)
        return (*range(low), *range(count - (wanted - low), count))
    if policy == "distilbert" and wanted > 1:
        return tuple(round(index * (count - 1) / (wanted - 1)) for index in range(wanted))
    return tuple(range(wanted))


def contribution(encoder: Encoder, tokens: Tokens, wanted: int) -> dict[str, Any]:
    """Keep the layers that turn the hidden state furthest, by the mean cosine between their input and output."""
    change: list[list[float]] = []
    for chosen in tokens.buckets():
        batch = {name: torch.from_numpy(values) for name, values in tokens.batch(chosen).items()}
        states = _hidden_states(encoder.model, batch)
        mask = batch["attention_mask"].bool()
        pairs = pairwise(states)
        change.append([float((1 - torch.cosine_similarity(a[mask], b[mask], dim=-1)).sum()) for a, b in pairs])
    means = np.sum(change, axis=0) / int(tokens.lengths.sum())
    feasible = [subset for subset in _most_telling(means, wanted) if _fits(encoder, subset)]
    return {"keep": feasible[0], "change": [round(float(value), 5) for value in means]}


def search(encoder: Encoder, tokens: Tokens, kind: Kind, wanted: int) -> dict[str, Any]:
    """Keep the subset whose outputs stay closest to the encoder's own; all are tried, or a beam where too many."""
    reference = encoder.logits(tokens)
    count = quantity(encoder.model.config, "num_hidden_layers")
    scores: dict[Subset, float] = {}

    def score(subset: Subset) -> float:
        if subset not in scores:
            scores[subset] = kind.divergence(_without_rest(encoder, tokens, subset), reference)
        return scores[subset]

    def best(subsets: set[Subset], many: int) -> list[Subset]:
        return sorted((subset for subset in subsets if _fits(encoder, subset)), key=score)[:many]

    if math.comb(count, wanted) <= MOST_SUBSETS:
        winners = best(set(combinations(range(count), wanted)), 1)
    else:
        beam: list[Subset] = [tuple(range(count))]
        for size in range(count - 1, wanted - 1, -1):
            shorter = {subset for longer in beam for subset in combinations(longer, size)}
            beam = best(shorter, BEAM)
        winners = beam
    return {"keep": winners[0], "divergence": scores[winners[0]], "subsets_scored": len(scores)}


def _without_rest(encoder: Encoder, tokens: Tokens, subset: Subset) -> Logits:
    return replace(encoder, runtime=TorchRuntime(with_layers(encoder.model, subset))).logits(tokens)


def _most_telling(means: Any, wanted: int) -> list[Subset]:
    """The most telling layers first; further subsets only matter where a family cannot hold the first."""
    best = tuple(sorted(int(index) for index in np.argsort(-means, kind="stable")[:wanted]))
    return [best, *combinations(range(len(means)), wanted)]


def _fits(encoder: Encoder, subset: Subset) -> bool:
    try:
        check_layers(encoder.model.config, subset)
    except PlanError:
        return False
    return True


def _hidden_states(model: Any, batch: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    runtime = TorchRuntime(model)
    with torch.inference_mode():
        return list(model(**runtime.accepted(batch), output_hidden_states=True).hidden_states)
