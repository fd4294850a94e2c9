"""ONNX export: a torch encoder as a graph file, through optimum, and what of that graph can be quantized."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from workbench.encoder import Encoder
from workbench.operators import Operators
from workbench.runtimes.onnx_runtime import GRAPH_FILE
from workbench.silence import silenced
from workbench.tasks.kinds import KINDS

PRODUCTS = ("MatMul", "Gemm")
LOOKUP = "Gather"


def export_onnx(encoder: Encoder, folder: Path) -> Path:
    """Write ``model.onnx`` and ``config.json`` of a torch encoder into a new folder; the encoder stays as it was."""
    from optimum.exporters.onnx import onnx_export_from_model

    # The exporter patches the model's methods while it traces.
    model = copy.deepcopy(encoder.model)
    with silenced():
        onnx_export_from_model(
            model,
            folder,
            task=KINDS[encoder.lineage.kind].export_task,
            do_validation=False,
        )
    _join_shared_weights(folder / GRAPH_FILE)
    return folder


def onnx_operators(exported: Path) -> Operators:
    """Find the products with a weight and the lookups in a table of an exported graph.

    The products of attention scores have no weight; they are few operations and stay in float.
    """
    import onnx

    graph = onnx.load(exported / GRAPH_FILE).graph
    weights = {tensor.name for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    return Operators(
        products={
            node.name: node.input[1] for node in graph.node if node.op_type in PRODUCTS and node.input[1] in weights
        },
        tables={node.name: node.input[0] for node in graph.node if node.op_type == LOOKUP and node.input[0] in weights},
    )


def _join_shared_weights(path: Path) -> None:
    """Let every node that uses a shared weight name it directly.

    The exporter stores it once and hands it on through Identity nodes, behind which a quantizer sees no weight.
    """
    import onnx

    model = onnx.load(path)
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializer}
    kept = {output.name for output in graph.output}
    aliases = {node.output[0]: node.input[0] for node in graph.node if _hands_on(node, stored, kept)}
    if not aliases:
        return
    nodes = [node for node in graph.node if node.output[0] not in aliases]
    for node in nodes:
        node.input[:] = [aliases.get(name, name) for name in node.input]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.save(model, path)


def _hands_on(node: Any, stored: set[str], kept: set[str]) -> bool:
    return node.op_type == "Identity" and node.input[0] in stored and node.output[0] not in kept
