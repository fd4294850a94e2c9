"""Sketch: an encoder's outline before it exists, so that a recipe can be checked without any work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

GRAPH = "graph"
QUANTIZED = "quantized"
CLS_ONLY = "cls-only"
ZEROED = "zeroed"
QUANTIZED_TABLE = "quantized-embeddings"
SHARED = "shared"
UNEVEN_HEADS = "uneven in heads"
UNEVEN_NEURONS = "uneven in neurons"


@dataclass(frozen=True)
class Sketch:
    """What is known of an encoder at plan time: its family, its sizes, its task, and the traits steps gave it.

    ``groups`` is how many sets of layer weights ALBERT has, 0 for families that do not share layers. ``tokenizer`` is
    the fingerprint of the base's, empty where it is not known; ``respelt`` says that a step has since changed the
    pieces that text is split into. ``vocabulary`` and ``positions`` (the longest input) are absent where the data
    decides them. Traits are plain words. ``graph`` (no longer a torch model), ``quantized`` (weights in few bits),
    ``quantized-embeddings`` (the word table alone in few bits), ``cls-only`` (the last layer gives the first token
    alone), ``zeroed`` (weights were set to zero, which training would fill again), ``shared`` (layers use the same
    weights) and ``uneven in heads`` or ``neurons`` (layers differ in them; ``heads`` or ``ffn`` is then the most that a
    layer may have) are known to the workbench; strategies may agree on others.
    """

    family: str
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int | None
    kind: str
    labels: tuple[str, ...] = ()
    groups: int = 0
    tokenizer: str = ""
    respelt: bool = False
    positions: int | None = None
    traits: frozenset[str] = field(default_factory=frozenset)

    def with_traits(self, *traits: str) -> Sketch:
        """The outline after a step that gave it traits."""
        return replace(self, traits=self.traits | set(traits))
