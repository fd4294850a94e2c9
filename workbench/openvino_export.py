"""OpenVINO export: a torch encoder as a graph file, and what of that graph can be quantized."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from typing import Any

import torch

from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.operators import Operators
from workbench.runtimes.openvino_runtime import GRAPH_FILE, missing, openvino
from workbench.silence import silenced

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PRODUCTS = ("MatMul", "ScaledDotProductAttention")
LOOKUP = "Gather"
ANY_BATCH_ANY_LENGTH = [-1, -1]


def check_installed(*packages: str) -> None:
    """Refuse, at plan time, what takes a package that is not there."""
    lack = missing(*packages)
    if lack:
        raise PlanError(lack)


class _Outputs(torch.nn.Module):
    """A model that takes its inputs by place and gives its logits alone, as a tracer likes it."""

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, inputs, strict=True))).logits  # type: ignore[no-any-return]


def export_openvino(encoder: Encoder, folder: Path) -> Path:
    """Write graph, weights and configuration of a torch encoder into a new folder; the encoder stays as it was."""
    library = openvino()
    taken = inspect.signature(encoder.model.forward).parameters
    names = [name for name in INPUTS if name in taken and name in (*encoder.tokenizer.model_input_names, *INPUTS[:2])]
    # Two rows, one of them padded, so that the tracer sees every branch that a mask opens.
    example = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    # The converter patches the model's methods while it traces.
    traced = _Outputs(copy.deepcopy(encoder.model), names)
    with silenced():
        model = library.convert_model(
            traced,
            example_input=tuple(example * (name != "token_type_ids") for name in names),
            input=[library.PartialShape(ANY_BATCH_ANY_LENGTH)] * len(names),
        )
    _name(model, [*names, "logits"])
    folder.mkdir()
    library.save_model(model, folder / GRAPH_FILE, compress_to_fp16=False)
    encoder.model.config.save_pretrained(folder)
    return folder


def _name(model: Any, names: list[str]) -> None:
    """Call inputs and output by their names, and nodes after the model's own modules, as if nothing wrapped it."""
    for port, name in zip([*model.inputs, *model.outputs], names, strict=True):
        port.get_tensor().set_names({name})
    for node in model.get_ops():
        node.set_friendly_name(node.get_friendly_name().replace("__module.model.", "__module.", 1))


def openvino_operators(model: Any) -> Operators:
    """Find the products, those inside attention too, and the lookups in a table of an exported graph."""
    nodes = model.get_ordered_ops()
    products = [node for node in nodes if node.get_type_name() in PRODUCTS]
    lookups = [node for node in nodes if node.get_type_name() == LOOKUP and _weight(node, 0)]
    return Operators(
        products={node.get_friendly_name(): _weight(node, 1) or node.get_friendly_name() for node in products},
        tables={node.get_friendly_name(): _weight(node, 0) for node in lookups},
    )


def _weight(node: Any, place: int) -> str:
    """The name of the float constant a node takes at a place, or nothing."""
    source = node.input_value(place).get_node()
    stored = source.get_type_name() == "Constant" and source.get_element_type().get_type_name() == "f32"
    return str(source.get_friendly_name()) if stored else ""
