"""The weights of an ONNX graph: which of its tensors they are, what part they serve, and what is zero in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.inventory import Inventory, Weight
from workbench.quantized_table import table_weight
from workbench.runtimes.parts import part_named, part_of

# Shapes, axes and position numbers are 64-bit integers in the graph, and parameters of nobody; biases of quantized
# products have 32 bits.
WEIGHT_TYPES = ("FLOAT", "FLOAT16", "INT8", "UINT8", "INT32")
ZERO_POINT = "_zero_point"
BOOKKEEPING = ("_scale", ZERO_POINT)
QUANTIZED = "_quantized"
# Nodes that hand a weight on in another form; quantizers name some of them after nothing.
WRAPPERS = ("DequantizeLinear", "Identity", "Transpose", "Cast")


def onnx_inventory(model: Any) -> Inventory:
    """List the weights of a loaded graph, each stored one once."""
    import onnx

    counted = {onnx.TensorProto.DataType.Value(name) for name in WEIGHT_TYPES}
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    users = _users(model.graph)
    return Inventory(
        tuple(
            _weight(name, stored, users)
            for name, tensor in stored.items()
            if tensor.data_type in counted and not name.endswith(BOOKKEEPING)
        )
    )


def _users(graph: Any) -> dict[str, list[Any]]:
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    return users


def _weight(name: str, stored: dict[str, Any], users: dict[str, list[Any]]) -> Weight:
    from onnx import numpy_helper

    numbers = numpy_helper.to_array(stored[name])
    part = part_of(_names(name, users))
    of_table = table_weight(name, part, numbers)
    if of_table:
        return of_table
    beside = (f"{stem}{ZERO_POINT}" for stem in (name, name.removesuffix(QUANTIZED)))
    zero_point = next((numpy_helper.to_array(stored[near]) for near in beside if near in stored), np.zeros(1))
    axis = _channels(users.get(name, []))
    return Weight.stored(part, numbers, _spread(zero_point, axis, numbers.ndim))


def _names(name: str, users: dict[str, list[Any]]) -> Iterator[str]:
    """The names of the nodes that use a weight, behind those that only unwrap it."""
    for node in users.get(name, []):
        if node.op_type in WRAPPERS and part_named(node.name) is None:
            yield from _names(node.output[0], users)
        else:
            yield node.name


def _channels(users: list[Any]) -> int:
    """The axis along which a weight has zero points; products of integers have them along the last."""
    axes = [attribute.i for node in users for attribute in node.attribute if attribute.name == "axis"]
    return axes[0] if axes and users[0].op_type == "DequantizeLinear" else -1


def _spread(zero_point: NDArray[Any], axis: int, dimensions: int) -> NDArray[Any]:
    if zero_point.size == 1:
        return zero_point.reshape(())
    shape = [1] * dimensions
    shape[axis] = zero_point.size
    return zero_point.reshape(shape)
