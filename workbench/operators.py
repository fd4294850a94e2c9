"""Operators: the nodes of a runtime graph that can be quantized, and the ways to name some of them.

Exporters name a node after the module it came from: ``/bert/encoder/layer.0/output/dense/MatMul`` on ONNX Runtime,
``__module.bert.encoder.layer.0.output.dense/aten::linear/MatMul`` on OpenVINO. A *part* is a piece of the model small
enough to be left in float by itself: a block of a layer (``bert.encoder.layer.0.output``) or a module outside the
layers. Nodes that use one weight always go together, so that no weight is stored both in float and in few bits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator, Field

from workbench.errors import PlanError

EXAMPLES = 4


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression ({error})") from None
    return pattern


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_check_pattern)]


@dataclass
class _Group:
    name: str
    parts: set[str]
    held: set[str]
    nodes: set[str]

    def take(self, other: _Group) -> None:
        self.parts |= other.parts
        self.held |= other.held
        self.nodes |= other.nodes


@dataclass(frozen=True)
class Operators:
    """The quantizable nodes of a graph, products of matrices and lookups in tables, each with what it holds.

    What a node holds is the name of its weight; a product without a weight holds itself.
    """

    products: Mapping[str, str]
    tables: Mapping[str, str]

    @cached_property
    def everything(self) -> dict[str, str]:
        """Every quantizable node and what it holds."""
        return {**self.products, **self.tables}

    @cached_property
    def parts(self) -> dict[str, frozenset[str]]:
        """The products of every part; parts with a weight in common are one, under the first one's name."""
        groups: list[_Group] = []
        for node, held in self.products.items():
            part = part_of(node)
            groups.append(_Group(part, {part}, {held}, {node}))
            first, *others = [group for group in groups if part in group.parts or held in group.held]
            for other in others:
                first.take(other)
                groups.remove(other)
        return {group.name: frozenset(group.nodes) for group in groups}

    def inside(self, parts: Collection[str]) -> frozenset[str]:
        """The products of some parts."""
        return frozenset(node for part in parts for node in self.parts[part])

    def named(self, patterns: Collection[str]) -> frozenset[str]:
        """The nodes that a pattern is found in, and whoever shares a weight with them; each pattern must find one."""
        held: set[str] = set()
        for pattern in patterns:
            found = {holds for node, holds in self.everything.items() if re.search(pattern, node)}
            if not found:
                raise PlanError(f"exclude: no operator has {pattern!r} in its name; there are {self._some()}")
            held |= found
        return frozenset(node for node, holds in self.everything.items() if holds in held)

    def chosen(self, exclude: Collection[str], tables: bool) -> frozenset[str]:
        """What is to be quantized: everything but the excluded, with or without tables; nothing at all is refused."""
        nodes = frozenset(self.everything if tables else self.products) - self.named(exclude)
        if not nodes:
            raise PlanError("exclude: nothing is left to quantize; exclude less, or convert to a float graph instead")
        return nodes

    def _some(self) -> str:
        nodes = list(self.everything)
        return f"{len(nodes)}, such as " + ", ".join(nodes[:: max(1, len(nodes) // EXAMPLES)][:EXAMPLES])


def part_of(node: str) -> str:
    """The part a node belongs to: up to the block after the last number in its module's path, or the whole path.

    A module that is used again appears with its use's number at its end, which is no part of its name.
    """
    names = [re.sub(r"_\d+$", "", name) for name in _module_of(node).split(".")]
    numbers = [place for place, name in enumerate(names) if name.isdigit()]
    return ".".join(names[: numbers[-1] + 2] if numbers else names)


def _module_of(node: str) -> str:
    if node.startswith("__module."):
        return node.removeprefix("__module.").partition("/")[0]
    module, _, operation = node.strip("/").rpartition("/")
    return module.replace("/", ".") or operation
