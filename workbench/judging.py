"""Judging: from the answers of a run and of its baseline to what may be said about quality, doubt included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.errors import StoreError
from workbench.flips import Direction, Flip, count_flips, flips_of
from workbench.measurement import Measurement
from workbench.predictions import Predictions
from workbench.resampling import DRAWS, Answers, Draws, bootstrap
from workbench.scores import Score, metric_named
from workbench.statistics import Interval, Verdict, bootstrap_p, interval_of, lower_bound, mcnemar, verdict
from workbench.tasks.kinds import KINDS

# Outputs closer than this everywhere come from the same function up to the rounding of another runtime.
ROUNDING = 1e-3
DIVERGENCES = {"classification": "nats", "regression": "squared score"}


@dataclass(frozen=True)
class SeedPair:
    """The answers of one seed: ours and the baseline's, by test part."""

    seed: int
    ours: list[Predictions]
    base: list[Predictions]


@dataclass(frozen=True)
class NonInferiority:
    """Whether a share of the baseline's metric is kept: ``bound`` is the one-sided 95 % lower bound of
    (ours - share × baseline), and above 0 where that is shown.
    """

    metric: str
    share: float
    bound: float
    shown: bool

    @property
    def words(self) -> str:
        """The claim, or that it is not shown and why."""
        kept = f"{100 * self.share:g} % of the baseline's {self.metric}"
        if self.shown:
            return f"keeps at least {kept} (one-sided 95 %)"
        if self.bound > 0:
            return f"not shown: the baseline's {self.metric} is not above 0, so a share of it means nothing"
        return f"not shown: {self.metric} may fall {-self.bound:.4f} short of {kept} (one-sided 95 %)"


@dataclass(frozen=True)
class Judgement:
    """What may be said of a recipe beside its baseline on one task.

    ``ours`` and ``base`` are means over test parts and seeds, ``interval`` the 95 % interval of their difference.
    With one seed it tells of other test rows; only with several does it tell of training again. ``p`` is two-sided
    and ``test`` says by which test. ``divergence`` is the mean Kullback-Leibler divergence of label probabilities,
    or the mean squared distance of scores. Scores have no flips: every one of them differs a little. ``blind`` is the
    most that giving every row the same label scores; there is none for numbers.
    """

    metric: str
    rows: int
    seeds: tuple[int, ...]
    ours: float
    base: float
    difference: float
    interval: Interval
    p: float
    test: str
    agreement: Measurement
    divergence: Measurement
    flips: tuple[Flip, ...]
    blind: float | None
    draws: Draws = field(repr=False, compare=False)

    def keeps(self, share: float = 0.97) -> NonInferiority:
        """Ask whether at least this share of the baseline's metric is kept."""
        bound = lower_bound(self.draws.of(lambda ours, base: ours - share * base))
        return NonInferiority(self.metric, share, bound, shown=bound > 0 and self.base > 0)

    @property
    def largest_share(self) -> float | None:
        """The largest share that can be shown to be kept, down to 0.01 %; absent where none can."""
        low, high = 0.0, 2.0
        if not self.keeps(low).shown:
            return None
        while high - low > 1e-4:
            middle = (low + high) / 2
            low, high = (middle, high) if self.keeps(middle).shown else (low, middle)
        return low

    def verdict(self, margin: float | None = None) -> Verdict:
        """Better, worse, equivalent (all of the interval within the margin) or unclear.

        The margin is a difference of the metric; when not given, 1 % of the baseline's value.
        """
        return verdict(self.interval, 0.01 * abs(self.base) if margin is None else margin)

    @property
    def beats_blindness(self) -> bool:
        """Whether the baseline is shown, one-sided at 95 %, to be better than giving every row the same label."""
        blind = self.blind
        return blind is None or lower_bound(self.draws.of(lambda ours, base: base - blind)) > 0

    @property
    def flip_counts(self) -> dict[tuple[int, Direction], int]:
        """How many rows of each label flipped in each direction, over all seeds."""
        return count_flips(self.flips)


def judge(metric: str, pairs: Sequence[SeedPair], *, draws: int = DRAWS, chance_seed: int = 0) -> Judgement:
    """Judge one or several seeds of a recipe beside their baselines; the same answers are always judged alike."""
    score = metric_named(metric)
    parts = _answers(pairs)
    drawn = bootstrap(score, parts, np.random.default_rng(chance_seed), draws, 0.0 if _same_function(pairs) else 1.0)
    differences = drawn.of(np.subtract)
    p, test = _test(score, parts, bootstrap_p(differences))
    agreement, divergence = _fidelity(score.kind, pairs)
    return Judgement(
        metric=metric,
        rows=sum(len(part.truth) for part in parts),
        seeds=tuple(pair.seed for pair in pairs),
        ours=float(drawn.seen_ours.mean()),
        base=float(drawn.seen_base.mean()),
        difference=float((drawn.seen_ours - drawn.seen_base).mean()),
        interval=interval_of(differences),
        p=p,
        test=test,
        agreement=agreement,
        divergence=divergence,
        flips=_flips(pairs) if score.kind == "classification" else (),
        blind=_blind(score, parts) if score.kind == "classification" else None,
        draws=drawn,
    )


def _answers(pairs: Sequence[SeedPair]) -> list[Answers]:
    """The answers of all seeds by test part, sure to be answers to the same rows."""
    if not pairs:
        raise StoreError("there is no run with a baseline of its seed to judge; run the study first")
    first = pairs[0].base
    for pair in pairs:
        _check_rows(pair.seed, "its run", pair.ours, first)
        _check_rows(pair.seed, "its baseline", pair.base, first)
    found = []
    for place, part in enumerate(first):
        ours = np.array([pair.ours[place].predictions for pair in pairs])
        base = np.array([pair.base[place].predictions for pair in pairs])
        found.append(Answers(np.asarray(part.labels), ours, base, len(part.logits[0])))
    return found


def _check_rows(seed: int, who: str, answers: list[Predictions], expected: list[Predictions]) -> None:
    way_out = "only answers to the same rows can be compared: run the study again from its start"
    names, wanted = [part.part for part in answers], [part.part for part in expected]
    if names != wanted or not wanted:
        told = [", ".join(map(repr, parts)) or "no test part" for parts in (names, wanted)]
        raise StoreError(f"seed {seed}: {who} answered {told[0]} where {told[1]} was expected; {way_out}")
    for part, other in zip(answers, expected, strict=True):
        if not other.ids:
            raise StoreError(f"seed {seed}: part {part.part!r} holds no rows, so there is nothing to judge")
        if part.ids != other.ids or part.labels != other.labels:
            raise StoreError(
                f"seed {seed}: {who} answered other rows of part {part.part!r} "
                f"({len(part.ids)}, expected {len(other.ids)}); {way_out}"
            )


def _same_function(pairs: Sequence[SeedPair]) -> bool:
    """Whether all outputs are equal up to rounding, so that flips nobody saw are not to be reckoned with."""
    return all(
        np.allclose(np.stack(ours.logits), np.stack(base.logits), rtol=0, atol=ROUNDING)
        for pair in pairs
        for ours, base in zip(pair.ours, pair.base, strict=True)
    )


def _test(score: Score, parts: Sequence[Answers], drawn_p: float) -> tuple[float, str]:
    # Several seeds answer the same rows; counted together, their flips are not independent as McNemar's test asks.
    if score.name != "accuracy" or parts[0].seeds > 1:
        return drawn_p, "paired bootstrap"
    ours, base = (np.concatenate([getattr(part, who)[0] == part.truth for part in parts]) for who in ("ours", "base"))
    return mcnemar(ours, base).p, "exact McNemar"


def _blind(score: Score, parts: Sequence[Answers]) -> float:
    """The best mean score over the parts that one label for all rows can have."""
    labels = parts[0].labels
    return max(
        float(np.mean([score(part.truth, np.full(len(part.truth), label), labels) for part in parts]))
        for label in range(labels)
    )


def _fidelity(kind_name: str, pairs: Sequence[SeedPair]) -> tuple[Measurement, Measurement]:
    """Agreement with the baseline and divergence from it, over the rows of all parts, one value a seed."""
    kind = KINDS[kind_name]
    agreements, divergences = [], []
    for pair in pairs:
        ours, base = (
            (
                [answer for part in parts for answer in part.predictions],
                [row for part in parts for row in part.logits],
            )
            for parts in (pair.ours, pair.base)
        )
        agreements.append(kind.agreement(ours[0], base[0]))
        divergences.append(kind.divergence(ours[1], base[1]))
    together = agreements[0].model_copy(update={"values": tuple(one.value for one in agreements)})
    unit = DIVERGENCES[kind_name]
    return together, Measurement(metric="divergence", unit=unit, better="lower", values=tuple(divergences))


def _flips(pairs: Sequence[SeedPair]) -> tuple[Flip, ...]:
    return tuple(
        flip
        for pair in pairs
        for ours, base in zip(pair.ours, pair.base, strict=True)
        for flip in flips_of(pair.seed, ours, base)
    )
