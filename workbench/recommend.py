"""Recommendation: which version to ship under a person's limits, why, how sure, and what nearly made it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from workbench.compare import Comparison
from workbench.delta import Delta
from workbench.errors import UnknownNameError, UsageError
from workbench.line import Line
from workbench.recipe import BASELINE
from workbench.wish import Limit, Wish

# shown: even the worse end of the interval keeps to the limit. met: the measured value does. missed: it does not.
# unknown: it was not measured.
State = Literal["shown", "met", "missed", "unknown"]
MOST_RUNNERS_UP = 3


class Check(BaseModel):
    """How a candidate stands to one limit; ``excess`` is by which share of the limit it misses it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: Limit
    state: State
    words: str
    excess: float = 0.0


class Candidate(BaseModel):
    """A recipe and how it stands to every limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recipe: str
    runs: tuple[str, ...]
    value: float | None
    checks: tuple[Check, ...]

    @property
    def qualifies(self) -> bool:
        """Whether every limit is kept by what was measured."""
        return all(check.state in ("shown", "met") for check in self.checks)

    @property
    def measured(self) -> bool:
        """Whether everything was measured that is asked for."""
        return self.value is not None and all(check.state != "unknown" for check in self.checks)

    @property
    def sure(self) -> bool:
        """Whether every limit is kept beyond doubt."""
        return all(check.state == "shown" for check in self.checks)


class Recommendation(BaseModel):
    """One pick with its reasons, or, where nothing qualifies, the nearest miss.

    ``doubts`` are about the pick, ``caveats`` about the whole comparison it was made from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: str
    task: str
    wish: Wish
    pick: Candidate | None
    nearest: Candidate | None = None
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]
    runners_up: tuple[Candidate, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        if self.pick:
            return f"ship {self.pick.recipe}" if self.pick.recipe != BASELINE else "ship the baseline as it is"
        if self.nearest:
            return f"nothing qualifies; {self.nearest.recipe} comes nearest"
        return "nothing qualifies, because nothing was measured on what you ask for"


def recommend(comparison: Comparison, wish: Wish, task: str | None = None) -> Recommendation:
    """Pick the best of a task, or of the mean over all tasks, that keeps to every limit."""
    lines = _lines_of(comparison, task)
    candidates = {line.recipe: _candidate(line, wish) for line in lines}
    ranked = _ranked([line for line in lines if candidates[line.recipe].qualifies], wish)
    if not ranked:
        return _nothing(comparison, wish, lines[0].task, list(candidates.values()))
    best, others = ranked[0], ranked[1:]
    pick = candidates[best.recipe]
    return Recommendation(
        study=comparison.study,
        task=best.task,
        wish=wish,
        pick=pick,
        reasons=(_why(best, wish), *(check.words for check in pick.checks)),
        doubts=(*_doubts(best, pick, others, wish, candidates), *_unmeasured(candidates.values(), wish)),
        runners_up=tuple(candidates[line.recipe] for line in others[:MOST_RUNNERS_UP]),
        caveats=comparison.caveats,
    )


def _lines_of(comparison: Comparison, task: str | None) -> list[Line]:
    if task is not None and task not in comparison.tasks:
        raise UnknownNameError("task in this comparison", task, comparison.tasks)
    lines = [line for line in comparison.of_task(task) if line.quality]
    if not lines:
        raise UsageError(
            f"study {comparison.study!r} has no finished run to recommend"
            + (" on every task; name one with --task" if len(comparison.tasks) > 1 else "")
        )
    return lines


def _ranked(lines: Sequence[Line], wish: Wish) -> list[Line]:
    """What was measured on what is to be best, the best first; of those that measured the same, the higher quality."""
    measured = [(line, wanted) for line in lines if (wanted := line.delta(wish.axis))]

    def rank(item: tuple[Line, Delta]) -> tuple[float, float]:
        line, wanted = item
        return -wanted.advantage(measured[0][1]), -(line.quality.value if line.quality else 0.0)

    return [line for line, _ in sorted(measured, key=rank)]


def _candidate(line: Line, wish: Wish) -> Candidate:
    wanted = line.delta(wish.axis)
    checks = tuple(_check(line, limit) for limit in wish.limits)
    return Candidate(recipe=line.recipe, runs=line.runs, value=wanted.value if wanted else None, checks=checks)


def _check(line: Line, limit: Limit) -> Check:
    delta = line.delta(limit.axis)
    if delta is None:
        return Check(limit=limit, state="unknown", words=_not_measured(limit.axis, limit.words()))
    if limit.share and (delta.base is None or delta.base <= 0):
        what = "is not there" if delta.base is None else "is not above 0"
        words = f"the baseline's quality {what}, so that no share of it can be told ({limit.words()} asked)"
        return Check(limit=limit, state="unknown", words=words)
    amount = limit.amount * delta.base if limit.share and delta.base else limit.amount
    state: State = "missed"
    if delta.meets(amount):
        state = "shown" if _shown(line, delta, limit) else "met"
    excess = 0.0 if state != "missed" else abs(delta.value - amount) / (abs(amount) or 1.0)
    return Check(limit=limit, state=state, words=f"{_standing(delta, limit)}: {_word(state, limit)}", excess=excess)


def _shown(line: Line, delta: Delta, limit: Limit) -> bool:
    """A share of quality is shown by the one-sided bound that judging computed; the rest by its interval."""
    if not limit.share:
        return delta.surely_meets(limit.amount)
    if line.recipe == BASELINE:
        return limit.amount <= 1
    return line.judged.keeps(limit.amount) if line.judged else delta.surely_keeps(limit.amount)


def _standing(delta: Delta, limit: Limit) -> str:
    if limit.axis == "quality":
        kept = f", {100 * delta.times:.1f} % of the baseline's" if delta.times is not None else ""
        return f"quality {100 * delta.value:.2f}{kept}"
    if limit.axis == "latency":
        return f"{delta.value:.2f} ms a call"
    return f"{delta.value / 1e6:.1f} MB {'on disk' if limit.axis == 'disk' else 'of memory'}"


def _word(state: State, limit: Limit) -> str:
    if state == "shown":
        return f"{limit.words()}, beyond doubt"
    return f"{limit.words()} {'as measured, not beyond doubt' if state == 'met' else 'is missed'}"


def _why(line: Line, wish: Wish) -> str:
    delta = line.delta(wish.axis)
    assert delta is not None
    superlative = {"latency": "fastest", "size": "smallest", "memory": "lightest in memory", "quality": "best"}
    told = _standing(delta, Limit(axis=wish.axis, amount=0))
    reason = f"the {superlative[wish.optimise]} of what keeps to the limits: {told}"
    if not delta.times or line.recipe == BASELINE or wish.axis == "quality":
        return reason
    if wish.axis == "latency":
        return f"{reason}, {delta.times:.2f} times as fast as the baseline"
    return f"{reason}, the baseline's is {delta.times:.2f} times that"


def _doubts(
    best: Line, pick: Candidate, others: Sequence[Line], wish: Wish, candidates: dict[str, Candidate]
) -> list[str]:
    found = [check.words for check in pick.checks if check.state == "met"]
    mine = best.delta(wish.axis)
    close = [
        line.recipe for line in others if mine and (theirs := line.delta(wish.axis)) and not mine.surely_beats(theirs)
    ]
    if close:
        found.append(f"{', '.join(close)}: not told apart from it in {wish.optimise}")
    if not pick.sure:
        safe = next((line.recipe for line in others if candidates[line.recipe].sure), None)
        found.append(f"the safe choice is {safe}" if safe else "nothing keeps to all limits beyond doubt")
    if mine and mine.verdict == "unclear":
        found.append(f"its {wish.optimise} beside the baseline is unclear")
    return [*found, *best.caveats]


def _nothing(comparison: Comparison, wish: Wish, task: str, candidates: Sequence[Candidate]) -> Recommendation:
    known = [found for found in candidates if found.measured]
    nearest = min(known, key=lambda found: (sum(check.excess for check in found.checks), found.recipe), default=None)
    missed = [check for check in nearest.checks if check.state == "missed"] if nearest else []
    unknown = _unmeasured(candidates, wish)
    return Recommendation(
        study=comparison.study,
        task=task,
        wish=wish,
        pick=None,
        nearest=nearest,
        reasons=tuple(f"{check.words} by {100 * check.excess:.1f} %" for check in missed) or unknown,
        doubts=unknown if nearest else (),
        caveats=comparison.caveats,
    )


def _unmeasured(candidates: Iterable[Candidate], wish: Wish) -> tuple[str, ...]:
    """What could not be considered, and for want of what."""
    lacking: dict[str, list[str]] = defaultdict(list)
    for found in candidates:
        words = [check.words for check in found.checks if check.state == "unknown"]
        if found.value is None and not any(check.limit.axis == wish.axis for check in found.checks):
            words.append(_not_measured(wish.axis, f"best {wish.optimise}"))
        for sentence in words:
            lacking[sentence].append(found.recipe)
    return tuple(f"left out {', '.join(recipes)}: {sentence}" for sentence, recipes in lacking.items())


def _not_measured(axis: str, asked: str) -> str:
    way_out = "; workbench measure RUN does it" if axis in ("latency", "memory") else ""
    return f"{axis} was not measured ({asked} asked){way_out}"
