"""The products of an OpenVINO graph: how many multiply-accumulates it makes for a batch, read from its shapes."""

from __future__ import annotations

import math
from typing import Any

from workbench.tokens import Batch


def openvino_macs(model: Any, batch: Batch) -> int:
    """Count the multiply-accumulates of one run of a graph that was read; it takes on the shape of the batch."""
    shape = list(batch["input_ids"].shape)
    model.reshape({given.any_name: shape for given in model.inputs})
    return sum(COUNTED[node.get_type_name()](node) for node in model.get_ops() if node.get_type_name() in COUNTED)


def _product(node: Any) -> int:
    depth = _shape(node.input(0))[-2 if node.get_attributes()["transpose_a"] else -1]
    return math.prod(_shape(node.output(0))) * depth


def _attention(node: Any) -> int:
    query, key, value = (_shape(node.input(place)) for place in range(3))
    return math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _shape(port: Any) -> list[int]:
    return list(port.get_shape())


COUNTED = {"MatMul": _product, "ScaledDotProductAttention": _attention}
