"""Logbook: everything a campaign sees while it times, call by call and round by round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from workbench.answers import compare_answers
from workbench.campaign import Round
from workbench.timings import Sort, Timings


@dataclass(frozen=True)
class Visit:
    """One turn of one contestant: when it came, and what shape its calls had if not the texts' own."""

    name: str
    process: int
    sort: Sort
    round: int = 0
    place: int = 0
    samples: int | None = None
    tokens: int | None = None


@dataclass
class Seen:
    """What was seen of one contestant besides its calls."""

    load_ns: list[int] = field(default_factory=list)
    first_call_ns: list[int] = field(default_factory=list)
    logits: list[list[float]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    cpu_seconds: float = 0.0
    samples: int = 0
    unsteady: int = 0
    failure: str | None = None


class Logbook:
    """What is written down; nothing is summed up before all is over."""

    def __init__(self, names: Iterable[str]) -> None:
        self.seen = {name: Seen() for name in names}
        self.rounds: list[Round] = []
        self._calls: list[dict[str, object]] = []

    def ready(self, name: str, process: int, told: dict[str, Any]) -> None:
        """Note how a contestant started: opening, its first call, and what it answers."""
        seen = self.seen[name]
        seen.load_ns.append(told["load_ns"])
        seen.first_call_ns.append(told["model_ns"][0])
        seen.logits, seen.tokens = told["logits"], told["tokens"]
        self.calls(Visit(name, process, "first"), told)

    def block(self, visit: Visit, told: dict[str, Any], kept: bool) -> None:
        """Note a turn over all texts; of answers that changed since the start, the most of one turn are counted."""
        seen = self.seen[visit.name]
        seen.cpu_seconds += told["cpu_seconds"]
        seen.samples += len(told["model_ns"])
        seen.unsteady = max(seen.unsteady, compare_answers(told["logits"], seen.logits).differing)
        self.calls(visit, told, kept)

    def calls(self, visit: Visit, told: dict[str, Any], kept: bool = True) -> None:
        """Note every call of a turn."""
        of_texts = visit.samples is None
        lengths = self.seen[visit.name].tokens
        for number, model_ns in enumerate(told["model_ns"]):
            self._calls.append(
                {
                    "entry": visit.name,
                    "process": visit.process,
                    "sort": visit.sort,
                    "round": visit.round,
                    "place": visit.place,
                    "text": number if of_texts else None,
                    "samples": visit.samples or 1,
                    "tokens": lengths[number] if of_texts else visit.tokens,
                    "tokenize_ns": told["tokenize_ns"][number] if "tokenize_ns" in told else None,
                    "model_ns": model_ns,
                    "kept": kept,
                }
            )

    def timings(self) -> Timings:
        """All calls so far as a table."""
        return Timings.of(self._calls)
