"""The weights of an OpenVINO graph: which of its constants they are, what part they serve, and what is zero in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.inventory import Inventory, Weight
from workbench.quantized_table import table_weight
from workbench.runtimes.parts import part_named, part_of

WEIGHT_TYPES = ("f32", "f16", "i8", "u8")
# Nodes that hand a weight on in another form; only some of them are named after a module.
WRAPPERS = ("Convert", "Subtract", "Multiply", "Reshape", "Transpose")


def openvino_inventory(model: Any) -> Inventory:
    """List the weights of a graph that was read, each shared one once."""
    # A weight that is shared appears once for each use in the shape that this use wants.
    uses: dict[bytes, list[Any]] = {}
    for node in model.get_ops():
        if node.get_type_name() == "Constant" and _is_weight(node):
            uses.setdefault(hashlib.sha256(np.ascontiguousarray(node.get_data()).data).digest(), []).append(node)
    return Inventory(tuple(_weight(constants) for constants in uses.values()))


def _weight(constants: list[Any]) -> Weight:
    part = part_of(name for constant in constants for name in _names(constant))
    numbers = constants[0].get_data()
    of_table = table_weight(constants[0].get_friendly_name(), part, numbers)
    return of_table or Weight.stored(part, numbers, _zero_point(constants[0]))


def _names(node: Any) -> Iterator[str]:
    """The names of the nodes that use a weight, behind those that only unwrap it."""
    for user in _users(node):
        name = user.get_friendly_name()
        if user.get_type_name() in WRAPPERS and part_named(name) is None:
            yield from _names(user)
        else:
            yield name


def _zero_point(constant: Any) -> NDArray[Any]:
    """What is taken from a quantized weight before it is scaled; nothing is taken from a symmetric one."""
    shifts = [user for restored in _users(constant, "Convert") for user in _users(restored, "Subtract")]
    if not shifts:
        return np.zeros(())
    taken = shifts[0].input_value(1).get_node()
    return _constant_behind(taken).get_data()  # type: ignore[no-any-return]


def _is_weight(constant: Any) -> bool:
    """Whether a constant came from the model: no shape, no range, no scale, and no number of a formula."""
    if constant.get_element_type().get_type_name() not in WEIGHT_TYPES:
        return False
    if np.prod(constant.get_output_shape(0)) == 1:
        return any(_adds_to_product(user) for user in _users(constant, "Add"))
    return not _keeps_books(constant)


def _adds_to_product(user: Any) -> bool:
    return any(user.input_value(place).get_node().get_type_name() == "MatMul" for place in range(2))


def _keeps_books(node: Any) -> bool:
    """Whether a constant, converted or not, only tells how others are to be read."""
    return (
        any(_keeps_books(converted) for converted in _users(node, "Convert"))
        or bool(_users(node, "FakeQuantize"))
        or any(_restores(target) for target in node.output(0).get_target_inputs())
        or any("smooth_quant" in user.get_friendly_name() for user in _users(node))
    )


def _restores(target: Any) -> bool:
    """Whether what comes in here shifts or scales a quantized weight, which comes in before it."""
    user = target.get_node()
    shifts_or_scales = user.get_type_name() in ("Multiply", "Subtract") and target.get_index() == 1
    return shifts_or_scales and user.input_value(0).get_node().get_type_name() in ("Convert", "Subtract")


def _constant_behind(node: Any) -> Any:
    return node.input_value(0).get_node() if node.get_type_name() == "Convert" else node


def _users(node: Any, kind: str | None = None) -> list[Any]:
    users = [target.get_node() for target in node.output(0).get_target_inputs()]
    return [user for user in users if kind in (None, user.get_type_name())]
