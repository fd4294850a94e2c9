"""Fit: what can be said of a recipe's steps from what their strategies declare, before anything is opened."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from workbench.sketch import CLS_ONLY, GRAPH, QUANTIZED_TABLE, ZEROED

# What reads badly after "already" as it is.
SPOKEN = {
    GRAPH: "turned into a runtime graph",
    QUANTIZED_TABLE: "given a word table in few bits",
    CLS_ONLY: "cls-only (its last layer gives the first token alone)",
    ZEROED: "zeroed (its zeroes would be filled again)",
}
NO_CONTROL = "no step learns from a teacher, so there is no control; leave it out"


class Declares(Protocol):
    """Whoever declares what a strategy serves and refuses: the strategy itself, or its entry in the catalogue."""

    @property
    def families(self) -> tuple[str, ...]:
        """Which families it handles."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which kinds of tasks it serves."""

    @property
    def refuses(self) -> tuple[str, ...]:
        """Which traits an encoder must not have yet."""


def misfit(step: Declares, traits: Collection[str], kind: str | None = None, family: str | None = None) -> str | None:
    """Why a step cannot work on an encoder with these traits; a kind or family that is not known is not judged."""
    if family is not None and family not in step.families:
        return f"cannot handle family {family!r}; it handles {', '.join(step.families)}"
    if kind is not None and kind not in step.kinds:
        return f"cannot serve {kind} tasks; it serves {', '.join(step.kinds)}"
    clash = sorted(set(traits) & set(step.refuses))
    if not clash:
        return None
    return f"cannot work on an encoder that is already {SPOKEN.get(clash[0], clash[0])}; move it before that step"


def control_name(recipe: str) -> str:
    """What the control of a recipe is called."""
    return f"{recipe}-control"


def control_clash(recipe: str, taken: Collection[str]) -> str | None:
    """Why the control of a recipe cannot have its name."""
    name = control_name(recipe)
    if name not in taken:
        return None
    return f"recipe {name!r}: the name is needed for the control of {recipe!r}; choose another"
