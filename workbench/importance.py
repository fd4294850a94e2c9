"""Importance: how much a task's loss minds each head or neuron of an encoder.

A mask of ones is laid on what every one of them hands on, as in Kwon et al., "A fast post-training pruning framework
for transformers" (2022). The squared gradient of the loss by the mask, summed over rows, is the diagonal of the mask's
Fisher information, which tells what the loss would become without that one. Here gradients are squared row by row, not
batch by batch, so that what two rows disagree on does not cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.families import Block
from workbench.narrowing import Units, units_of
from workbench.progress import Advance
from workbench.tasks.kinds import Kind
from workbench.training import Collator, Lesson

Floats = NDArray[np.float64]
Masking = Callable[[Any, tuple[torch.Tensor, ...]], tuple[torch.Tensor, ...]]


def importance(model: Any, block: Block, lesson: Lesson, kind: Kind, told: Advance = lambda done: None) -> list[Floats]:
    """The Fisher information of a mask on the heads or neurons of every entry of the layer list.

    In families whose layers share weights, one mask serves all turns of an entry. ``told`` hears the rows done.
    """
    units = units_of(model, block)
    totals = [np.zeros(found.count) for found in units]
    collate, done = Collator(model, kind), 0
    for chosen in lesson.tokens.buckets():
        batch = collate([(lesson, int(index)) for index in chosen])
        squares = [found.double().square().sum(dim=0).cpu().numpy() for found in _mask_gradients(model, units, batch)]
        totals = [total + square for total, square in zip(totals, squares, strict=True)]
        done += len(chosen)
        told(done)
    return totals


def _mask_gradients(model: Any, units: Sequence[Units], batch: dict[str, torch.Tensor]) -> Sequence[torch.Tensor]:
    """For every entry of the layer list the gradient of each row's own loss by its mask: a row for each row."""
    rows = len(batch["labels"])
    device = next(model.parameters()).device
    masks = [torch.ones(rows, found.count, device=device, requires_grad=True) for found in units]
    hooks = [
        found.reader.register_forward_pre_hook(_masking(mask, found.size))
        for found, mask in zip(units, masks, strict=True)
    ]
    try:
        # The loss of a batch is the mean over its rows.
        loss = rows * model(**{name: tensor.to(device) for name, tensor in batch.items()}).loss
    finally:
        for hook in hooks:
            hook.remove()
    return torch.autograd.grad(loss, masks)


def _masking(mask: torch.Tensor, size: int) -> Masking:
    wide = mask.repeat_interleave(size, dim=1)[:, None]
    return lambda module, given: (given[0] * wide, *given[1:])
