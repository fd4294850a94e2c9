"""Sketch: an encoder's outline before it exists, so that a recipe can be checked without any work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

GRAPH = "graph"
QUANTIZED = "quantized"


@dataclass(frozen=True)
class Sketch:
    """What is known of an encoder at plan time: its family, its sizes, its task, and the traits steps gave it.

    ``groups`` is how many sets of layer weights ALBERT has, 0 for families that do not share layers. ``tokenizer``
    is its fingerprint. Traits are plain words. ``graph`` (no longer a torch model) and ``quantized`` (weights in few
    bits) are known to the workbench; strategies may agree on others.
    """

    family: str
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    kind: str
    labels: tuple[str, ...] = ()
    groups: int = 0
    tokenizer: str = ""
    traits: frozenset[str] = field(default_factory=frozenset)

    def with_traits(self, *traits: str) -> Sketch:
        """The outline after a step that gave it traits."""
        return replace(self, traits=self.traits | set(traits))
