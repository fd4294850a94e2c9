"""The torch runtime: a transformers model in memory, safetensors on disk."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_model, save_model

from workbench.families import takes_token_types
from workbench.inventory import Inventory, Weight
from workbench.quantized_table import QuantizedTable, table_weight
from workbench.runtimes.parts import part_of
from workbench.runtimes.runtime import Runtime
from workbench.tokens import Batch

WEIGHTS = "model.safetensors"
FLOPS_A_MAC = 2

Shape = Sequence[int]


def _attention_flops(query: Shape, key: Shape, value: Shape, *others: Any, **more: Any) -> int:
    scores = math.prod(query[:-1]) * key[-2]
    return FLOPS_A_MAC * scores * (query[-1] + value[-1])


# Torch counts the attention of graphics processors and takes that of others for free.
ATTENTION = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_flops}


class TorchRuntime(Runtime):
    """Runs a transformers model eagerly."""

    name = "torch"

    def __init__(self, model: Any) -> None:
        self.model = model.eval()
        self._takes_types = takes_token_types(model.config)

    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """Run one batch without gradients; a batch without padding goes without a mask, which is faster."""
        tensors = self.accepted({name: torch.from_numpy(values) for name, values in batch.items()})
        if bool(tensors["attention_mask"].all()):
            del tensors["attention_mask"]
        device = next(self.model.parameters()).device
        with torch.inference_mode():
            output = self.model(**{name: tensor.to(device) for name, tensor in tensors.items()})
        return output.logits.float().cpu().numpy()  # type: ignore[no-any-return]

    def accepted(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The part of a batch that the model takes."""
        return {name: tensor for name, tensor in batch.items() if name != "token_type_ids" or self._takes_types}

    def save(self, folder: Path) -> None:
        """Write configuration and weights; tensors that are shared stand in the file once."""
        config = copy.deepcopy(self.model.config)
        config.architectures = [type(self.model).__name__]
        config.save_pretrained(folder)
        save_model(self.model, str(folder / WEIGHTS), metadata={"format": "pt"})

    def inventory(self) -> Inventory:
        """List every distinct tensor of parameters, and what a quantized table is stored as."""
        names: dict[int, list[str]] = {}
        tensors: dict[int, torch.Tensor] = {}
        for name, parameter in self.model.named_parameters(remove_duplicate=False):
            place = parameter.untyped_storage().data_ptr()
            names.setdefault(place, []).append(name)
            tensors[place] = parameter
        learned = (_weight(tensor, names[place]) for place, tensor in tensors.items())
        return Inventory((*learned, *_quantized_tables(self.model)))

    def macs(self, batch: Batch) -> int:
        """Count them while a real call runs."""
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False, custom_mapping=ATTENTION) as counter:
            self.logits(batch)
        return int(counter.get_total_flops()) // FLOPS_A_MAC


def _weight(tensor: torch.Tensor, names: list[str]) -> Weight:
    return Weight(
        part=part_of(names),
        dtype=str(tensor.dtype).removeprefix("torch."),
        count=tensor.numel(),
        zeroed=int((tensor == 0).sum()),
        bytes=tensor.nbytes,
    )


def _quantized_tables(model: Any) -> Iterator[Weight]:
    for path, module in model.named_modules():
        if isinstance(module, QuantizedTable):
            for name, buffer in module.named_buffers(path):
                weight = table_weight(name, part_of([name]), buffer.cpu().numpy())
                if weight:
                    yield weight


def load_weights(model: Any, folder: Path) -> Any:
    """Fill a model of the right architecture with the weights of a folder."""
    load_model(model, str(folder / WEIGHTS), strict=True)
    return model.eval()
