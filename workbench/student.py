"""A student in class: a model together with what it must match of its teacher, ready for the trainer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn
from torch.nn import functional

from workbench.families import quantity
from workbench.teacher import with_projections

LOGITS = "teacher_logits"
HIDDEN = "teacher_hidden_"
PROJECTIONS = "teacher_projections"
UNLABELLED = -100


@dataclass(frozen=True)
class Weights:
    """How much each loss counts, and its particulars."""

    soft: float
    hard: float
    hidden: float
    relations: float
    temperature: float
    hidden_loss: Literal["cosine", "mse"]
    relation_heads: int
    # Student layer -> teacher layer, both counted from 1.
    layer_map: dict[int, int]


class Student(nn.Module):
    """Runs the student, and turns what it and its teacher said into one loss.

    Batches without teacher outputs are judged by their labels alone, and while it is not training, those with them by
    the teacher's outputs alone. Where widths differ, hidden states are compared through a learned map that is thrown
    away afterwards.
    """

    def __init__(self, model: Any, weights: Weights, teacher_width: int, regression: bool) -> None:
        super().__init__()
        self.model = model
        self.config = model.config
        self._weights = weights
        self._regression = regression
        width = quantity(model.config, "hidden_size")
        mapped = weights.layer_map if weights.hidden and width != teacher_width else ()
        self.maps = nn.ModuleDict({str(own): nn.Linear(width, teacher_width) for own in mapped})
        self._last = quantity(model.config, "num_hidden_layers") - 1

    def forward(self, labels: torch.Tensor, **batch: torch.Tensor) -> dict[str, torch.Tensor]:
        """Give the loss and the outputs of a batch."""
        told = {name: batch.pop(name) for name in list(batch) if name.startswith("teacher_")}
        if PROJECTIONS in told:
            output, own = with_projections(self.model, batch, self._last)
        else:
            output = self.model(**batch, output_hidden_states=bool(self._weights.hidden and told))
        logits = output.logits
        if not told:
            return {"loss": self._hard(logits, labels), "logits": logits}
        if not self.training:
            return {"loss": self._soft(logits, told[LOGITS]), "logits": logits}
        loss = self._weights.hard * self._hard(logits, labels) + self._weights.soft * self._soft(logits, told[LOGITS])
        mask = batch["attention_mask"].bool()
        if self._weights.hidden:
            loss = loss + self._weights.hidden * self._hidden(output.hidden_states, told, mask)
        if PROJECTIONS in told:
            heads = self._weights.relation_heads
            loss = loss + self._weights.relations * relation_loss(own, told[PROJECTIONS], mask, heads)
        return {"loss": loss, "logits": logits}

    def _hard(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if self._regression:
            known = ~labels.isnan()
            distance = (logits.squeeze(-1) - labels.nan_to_num()).square()
        else:
            known = labels != UNLABELLED
            distance = functional.cross_entropy(logits, labels, ignore_index=UNLABELLED, reduction="none")
        return (distance * known).sum() / known.sum().clamp(min=1)

    def _soft(self, logits: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
        if self._regression:
            return functional.mse_loss(logits, theirs)
        degree = self._weights.temperature
        return degree**2 * functional.kl_div(
            functional.log_softmax(logits / degree, -1),
            functional.log_softmax(theirs / degree, -1),
            reduction="batchmean",
            log_target=True,
        )

    def _hidden(self, states: Any, told: dict[str, torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
        losses = []
        for own, theirs in self._weights.layer_map.items():
            mine, target = states[own][mask], told[f"{HIDDEN}{theirs}"][mask]
            if str(own) in self.maps:
                mine = self.maps[str(own)](mine)
            if self._weights.hidden_loss == "cosine":
                losses.append((1 - functional.cosine_similarity(mine, target, dim=-1)).mean())
            else:
                losses.append(functional.mse_loss(mine, target))
        return torch.stack(losses).mean()


def relation_loss(mine: torch.Tensor, theirs: torch.Tensor, mask: torch.Tensor, heads: int) -> torch.Tensor:
    """How far the student's query, key and value relations are from the teacher's, as in MiniLMv2.

    Both are split into the same number of relation heads, so that widths and head counts may differ.
    """
    losses = []
    for own, target in zip(mine.chunk(3, dim=-1), theirs.chunk(3, dim=-1), strict=True):
        wanted = _relations(target, mask, heads)
        divergence = (wanted.exp() * (wanted - _relations(own, mask, heads))).nan_to_num().sum(-1)
        losses.append((divergence * mask[:, None]).sum() / (mask.sum() * heads))
    return torch.stack(losses).mean()


def _relations(vectors: torch.Tensor, mask: torch.Tensor, heads: int) -> torch.Tensor:
    rows, length, width = vectors.shape
    split = vectors.view(rows, length, heads, width // heads).transpose(1, 2)
    scores = split @ split.transpose(-1, -2) / (width // heads) ** 0.5
    hidden = torch.finfo(scores.dtype).min
    return functional.log_softmax(scores.masked_fill(~mask[:, None, None], hidden), -1)
