"""Parts: which part of an encoder a name lies in, be it of a torch module or of a node that was exported from one."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.families import FAMILIES
from workbench.inventory import Part

# OpenVINO's converter begins every name with this.
PREFIX = "__module."
# ALBERT keeps the second factor of its narrow word table, the map to full width, beside its layers.
WIDENING = "albert.encoder.embedding_hidden_mapping_in"


def _within(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{path}." for path in paths)


HEAD = _within(path for family in FAMILIES.values() for path in family.head)
EMBEDDINGS = _within([WIDENING, *(family.word_embeddings.rpartition(".")[0] for family in FAMILIES.values())])
BACKBONE = _within(family.backbone for family in FAMILIES.values())


def part_named(name: str) -> Part | None:
    """The part that a name tells of, whether its steps are divided by dots or by slashes; none if it tells nothing."""
    path = name.removeprefix(PREFIX).removeprefix("/").replace("/", ".")
    if path.startswith(EMBEDDINGS):
        return "embeddings"
    if path.startswith(HEAD):
        return "head"
    return "encoder" if path.startswith(BACKBONE) else None


def part_of(names: Iterable[str]) -> Part:
    """The part of a weight that is used under some names.

    One that the embeddings or the head tie with others is theirs; one of which no name tells anything is the encoder's.
    """
    found = {part_named(name) for name in names}
    if "embeddings" in found:
        return "embeddings"
    return "head" if "head" in found else "encoder"
