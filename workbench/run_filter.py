"""RunFilter: which runs a person wants to see; a value that no run has is told beside those that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from workbench.errors import UnknownNameError
from workbench.run_index import RunHead


@dataclass(frozen=True)
class RunFilter:
    """Wanted values by fact; a run must have one of the values of every fact that is named, and none is named at first.

    The names of the fields are those of a head's facts.
    """

    study: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    recipe: tuple[str, ...] = ()
    seed: tuple[int, ...] = ()
    status: tuple[str, ...] = ()

    @property
    def named(self) -> dict[str, tuple[object, ...]]:
        """The facts that were named, with what is wanted of them."""
        wanted = {field.name: getattr(self, field.name) for field in fields(self)}
        return {fact: values for fact, values in wanted.items() if values}

    def chosen(self, heads: Sequence[RunHead]) -> list[RunHead]:
        """The runs that are wanted; a value that no run at all has is refused."""
        for fact, values in self.named.items():
            there = {getattr(head, fact) for head in heads}
            for value in values:
                if value not in there and fact != "status":
                    raise UnknownNameError(f"run with {fact}", str(value), map(str, sorted(there)))
        return [head for head in heads if self._wants(head)]

    def _wants(self, head: RunHead) -> bool:
        return all(getattr(head, fact) in values for fact, values in self.named.items())

    def __str__(self) -> str:
        wanted = [f"{fact} {' or '.join(map(str, values))}" for fact, values in self.named.items()]
        return f" with {' and '.join(wanted)}" if wanted else ""
