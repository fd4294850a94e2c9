"""Sensitivity: which parts of an encoder suffer most in few bits, and which must stay in float for it to answer alike.

Rows that ranges were calibrated on say little about other rows, so agreement is looked at on rows held apart.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from workbench.encoder import Encoder
from workbench.errors import DataError
from workbench.fidelity import agreement, distance
from workbench.measurement import Measurement
from workbench.operators import Operators, Pattern
from workbench.progress import Reporter
from workbench.runtimes.runtime import Runtime
from workbench.tasks.kinds import KINDS
from workbench.tasks.task import Row
from workbench.tokens import Tokens

HELD_ROWS = 256
RANKING_ROWS = 64


class Quantizer(ABC):
    """Quantizes one graph, again and again, each time with other parts left in float."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[str]:
        """What can be left in float by itself."""

    @abstractmethod
    def without(self, parts: Collection[str]) -> Runtime:
        """Quantize everything but some parts."""

    @abstractmethod
    def only(self, part: str) -> Runtime:
        """Quantize one part alone; it may be done roughly, because it is only compared with other parts."""


@dataclass(frozen=True)
class OperatorQuantizer(Quantizer):
    """A quantizer of some of a graph's operators; subclasses say how a set of them is quantized."""

    operators: Operators
    nodes: frozenset[str]

    @abstractmethod
    def quantized(self, nodes: frozenset[str], *, roughly: bool) -> Runtime:
        """Quantize some operators; roughly where the result is only compared with others like it."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that hold operators to be quantized."""
        return tuple(part for part, nodes in self.operators.parts.items() if nodes & self.nodes)

    def without(self, parts: Collection[str]) -> Runtime:
        """Quantize all operators outside some parts."""
        return self.quantized(self.nodes - self.operators.inside(parts), roughly=False)

    def only(self, part: str) -> Runtime:
        """Quantize the operators of one part."""
        return self.quantized(self.nodes & self.operators.inside([part]), roughly=True)


class CalibratedOptions(BaseModel):
    """The options that strategies calibrating on the task's rows have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int = Field(default=128, ge=1, description="how many calibration rows decide the ranges of activations")
    embeddings: bool = Field(default=True, description="quantize the embedding tables as well")
    exclude: tuple[Pattern, ...] = Field(
        default=(),
        description="operators to leave in float: regular expressions found anywhere in their names in the graph, such "
        "as 'layer.5.output' or 'classifier'; operators that share a weight go together",
    )
    threshold: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="agreement with the float encoder on rows held apart (share of equal predictions, correlation of "
        "scores) below which the parts that suffer most are left in float; nothing is if not given",
    )
    cap: int = Field(default=8, ge=1, description="how many parts may be left in float to reach the threshold")

    def guarded(
        self, quantizer: OperatorQuantizer, encoder: Encoder, seen: Tokens, held: Tokens, progress: Reporter
    ) -> tuple[Runtime, dict[str, Any]]:
        """Quantize as far as the threshold allows; give the graph, and what was decided for the record."""
        outcome = guarded(quantizer, encoder, held, Guard(self.threshold, self.cap), progress)
        operators = quantizer.operators
        excluded = sorted(operators.named(self.exclude) | operators.inside(outcome.parts))
        return outcome.runtime, {"calibrated_on": len(seen), **outcome.record, "excluded_operators": excluded}


@dataclass(frozen=True)
class Guard:
    """How much a quantized encoder must agree with the float one, and how many parts may stay in float for it."""

    threshold: float | None
    cap: int


@dataclass(frozen=True)
class Trial:
    """A quantized graph, the parts of it left in float, and how far it agrees with the float encoder."""

    runtime: Runtime
    parts: tuple[str, ...]
    agreement: Measurement


@dataclass(frozen=True)
class Outcome:
    """The graph that was accepted, the parts left in float, and a record of how it came to that, in plain JSON."""

    runtime: Runtime
    parts: tuple[str, ...]
    record: dict[str, Any]


def divided(rows: Sequence[Row], wanted: int) -> tuple[Sequence[Row], Sequence[Row]]:
    """Take up to ``wanted`` rows to calibrate on, never more than two thirds, and hold others apart."""
    if len(rows) < 2:
        raise DataError(
            f"calibrating takes at least 2 calibration rows, one of them held apart, but there are {len(rows)}; "
            "give the task more training rows, or raise the study's limit"
        )
    used = min(wanted, max(1, len(rows) * 2 // 3))
    return rows[:used], rows[used : used + HELD_ROWS]


def guarded(quantizer: Quantizer, encoder: Encoder, held: Tokens, guard: Guard, progress: Reporter) -> Outcome:
    """Quantize; if the result agrees too little with the encoder on the held rows, leave the worst parts in float.

    Parts are taken in the order of the harm each does when quantized alone, and as few as reach the threshold. When
    even ``cap`` of them do not, the trial that agreed best is the outcome, and its record says so.
    """
    trials = _Trials(quantizer, encoder, held)
    plain = trials.of(())
    threshold = guard.threshold
    if threshold is None or plain.agreement.value >= threshold:
        return _outcome(plain, plain, len(held), threshold)
    progress.say(f"  agreement {plain.agreement.value:.3f} is below {threshold}: looking for the parts that suffer")
    harm = ranked(quantizer, encoder, held, progress)
    order = tuple(harm)
    cap = min(guard.cap, len(order) - 1)
    chosen = _fewest(lambda count: trials.of(order[:count]), threshold, cap)
    if chosen.agreement.value < threshold:
        progress.say(f"  with {cap} parts in float it is at most {chosen.agreement.value:.3f}; that is what is kept")
    return _outcome(plain, chosen, len(held), threshold, harm)


def ranked(quantizer: Quantizer, encoder: Encoder, held: Tokens, progress: Reporter) -> dict[str, float]:
    """The distance from the float outputs that quantizing each part alone makes, greatest first."""
    some = replace(held, starts=held.starts[: RANKING_ROWS + 1])
    wanted = encoder.logits(some)
    harm = {}
    with progress.bar("quantizing part by part", len(quantizer.parts)) as told:
        for number, part in enumerate(quantizer.parts, 1):
            harm[part] = distance(replace(encoder, runtime=quantizer.only(part)).logits(some), wanted)
            told(number)
    return dict(sorted(harm.items(), key=lambda found: -found[1]))


class _Trials:
    """Makes each trial once."""

    def __init__(self, quantizer: Quantizer, encoder: Encoder, held: Tokens) -> None:
        self._quantizer = quantizer
        self._encoder = encoder
        self._held = held
        self._wanted = encoder.logits(held)
        self._made: dict[tuple[str, ...], Trial] = {}

    def of(self, parts: tuple[str, ...]) -> Trial:
        if parts not in self._made:
            runtime = self._quantizer.without(parts)
            # A copy is opened to be asked; what it holds open is gone with it, and trials do not add up in memory.
            given = replace(self._encoder, runtime=copy.copy(runtime)).logits(self._held)
            found = agreement(KINDS[self._encoder.lineage.kind], given, self._wanted)
            self._made[parts] = Trial(runtime, parts, found)
        return self._made[parts]


def _fewest(trial: Callable[[int], Trial], threshold: float, cap: int) -> Trial:
    """Double the number of parts until the threshold is reached, then halve the last step down to what is needed."""
    seen = [trial(0)]
    enough = 0
    while seen[-1].agreement.value < threshold and enough < cap:
        too_few, enough = enough, min(max(1, 2 * enough), cap)
        seen.append(trial(enough))
    if seen[-1].agreement.value < threshold:
        return max(seen, key=lambda tried: (tried.agreement.value, -len(tried.parts)))
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        reached = trial(middle).agreement.value >= threshold
        too_few, enough = (too_few, middle) if reached else (middle, enough)
    return trial(enough)


def _outcome(
    plain: Trial, chosen: Trial, rows: int, threshold: float | None, harm: dict[str, float] | None = None
) -> Outcome:
    seen: dict[str, Any] = {
        "unit": chosen.agreement.unit,
        "rows": rows,
        "before": plain.agreement.value,
        "after": chosen.agreement.value,
    }
    if threshold is not None:
        seen |= {"threshold": threshold, "reached": chosen.agreement.value >= threshold}
    record: dict[str, Any] = {"agreement": seen, "excluded_parts": list(chosen.parts)}
    if harm is not None:
        record["harm_alone"] = harm
    return Outcome(chosen.runtime, chosen.parts, record)
