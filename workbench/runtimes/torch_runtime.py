"""The torch runtime: a transformers model in memory, safetensors on disk."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_model, save_model

from workbench.families import takes_token_types
from workbench.runtimes.runtime import Runtime
from workbench.tokens import Batch

WEIGHTS = "model.safetensors"


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

    def parameters(self) -> int:
        """Count the elements of every distinct tensor."""
        distinct = {parameter.untyped_storage().data_ptr(): parameter for parameter in self.model.parameters()}
        return sum(parameter.numel() for parameter in distinct.values())


def load_weights(model: Any, folder: Path) -> Any:
    """Fill a model of the right architecture with the weights of a folder."""
    load_model(model, str(folder / WEIGHTS), strict=True)
    return model.eval()
