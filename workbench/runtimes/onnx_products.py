"""The products of an ONNX graph: how many multiply-accumulates it makes for a batch, seen by running it."""

from __future__ import annotations

import math
from typing import Any

from workbench.runtimes.runtime import inputs_for
from workbench.tokens import Batch

# Each multiplies its first input, along that input's last axis, with a matrix.
PRODUCTS = ("MatMul", "Gemm", "MatMulInteger", "QLinearMatMul")

Shape = tuple[int, ...]


def onnx_macs(model: Any, batch: Batch) -> int:
    """Count the multiply-accumulates of one run of a loaded graph, which is changed by this."""
    products = [node for node in model.graph.node if node.op_type in PRODUCTS]
    shapes = _shapes_seen(model, {name for node in products for name in (node.input[0], node.output[0])}, batch)
    return sum(math.prod(shapes[node.output[0]]) * _depth(node, shapes[node.input[0]]) for node in products)


def _depth(product: Any, first: Shape) -> int:
    """How many products each number of a result is the sum of."""
    turned = any(attribute.name == "transA" and attribute.i for attribute in product.attribute)
    return first[0] if turned else first[-1]


def _shapes_seen(model: Any, names: set[str], batch: Batch) -> dict[str, Shape]:
    """Run a graph as it is written, every named tensor being one of its results."""
    import onnx
    import onnxruntime

    there = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(names - there))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    asked = sorted(names)
    results = session.run(asked, inputs_for([given.name for given in session.get_inputs()], batch))
    return {name: result.shape for name, result in zip(asked, results, strict=True)}
