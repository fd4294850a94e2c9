"""Scores: the official metrics from counts and sums alone, so that ten thousand resamplings are one calculation.

Their values are those of ``workbench.metrics``; the walls keep that module's libraries out of the cold rooms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.errors import UnknownNameError

Floats = NDArray[np.float64]
# Row weights, by row and draw, in; scores, by guesser and draw, out.
Weighed = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Score:
    """A metric that is higher when better; called with truth and guesses it gives their score.

    ``over`` (truth by row, guesses by guesser and row, size of the label set) prepares a function that scores all
    guessers under many weightings of the rows at once. A weight says how often a row occurs.
    """

    name: str
    kind: str
    over: Callable[[NDArray[Any], NDArray[Any], int], Weighed]

    def __call__(self, truth: ArrayLike, guess: ArrayLike, labels: int = 2) -> float:
        """Score one list of guesses; ``labels`` is the size of the task's label set, where it has one."""
        rows = np.asarray(truth)
        return float(self.over(rows, np.asarray(guess)[None], labels)(np.ones((len(rows), 1)))[0, 0])


def _accuracy(truth: NDArray[Any], guesses: NDArray[Any], labels: int) -> Weighed:
    right = (guesses == truth).astype(np.float64)
    return lambda weights: ratio(right @ weights, weights.sum(0))


def _f1(truth: NDArray[Any], guesses: NDArray[Any], labels: int) -> Weighed:
    tallies = _Tallies.of(truth, guesses, labels)

    def weighed(weights: Floats) -> Floats:
        true, said, hits = tallies.weighed(weights)
        each = ratio(2 * hits, true + said)
        return each[:, 1] if labels <= 2 else ratio(each.sum(1), (true + said > 0).sum(1))

    return weighed


def _matthews(truth: NDArray[Any], guesses: NDArray[Any], labels: int) -> Weighed:
    tallies = _Tallies.of(truth, guesses, labels)

    def weighed(weights: Floats) -> Floats:
        true, said, hits = tallies.weighed(weights)
        rows = weights.sum(0)
        above = hits.sum(1) * rows - (true * said).sum(1)
        below = (rows**2 - (true**2).sum(1)) * (rows**2 - (said**2).sum(1))
        return ratio(above, np.sqrt(below))

    return weighed


@dataclass(frozen=True)
class _Tallies:
    """Which rows have which label, which were given it, and which rightly: by guesser, label and row."""

    true: Floats
    said: Floats
    hits: Floats

    @classmethod
    def of(cls, truth: NDArray[Any], guesses: NDArray[Any], labels: int) -> _Tallies:
        names = np.arange(max(labels, 2))[:, None]
        true, said = truth == names, guesses[:, None] == names
        return cls(true[None].astype(np.float64), said.astype(np.float64), (said & true).astype(np.float64))

    def weighed(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        return self.true @ weights, self.said @ weights, self.hits @ weights


def _pearson(truth: NDArray[Any], guesses: NDArray[Any], labels: int) -> Weighed:
    y, x = _standard(truth[None]), _standard(guesses)
    products, y_squares, x_squares = x * y, y**2, x**2

    def weighed(weights: Floats) -> Floats:
        rows = weights.sum(0)
        y_mean, x_mean = y @ weights / rows, x @ weights / rows
        together = products @ weights / rows - x_mean * y_mean
        y_spread, x_spread = y_squares @ weights / rows - y_mean**2, x_squares @ weights / rows - x_mean**2
        # Equal values leave rounding errors of about 1e-16 where the spread of all rows is 1.
        varied = np.minimum(x_spread, y_spread) > 1e-12
        return ratio(together, np.sqrt(np.where(varied, x_spread * y_spread, 0)))

    return weighed


def _standard(values: NDArray[Any]) -> Floats:
    centred = values - values.mean(1, keepdims=True, dtype=np.float64)
    return np.asarray(centred / np.where(np.ptp(values, 1) == 0, np.inf, centred.std(1))[:, None])


def _spearman(truth: NDArray[Any], guesses: NDArray[Any], labels: int) -> Weighed:
    ladder, ladders = _Ladder.of(truth), [_Ladder.of(guess) for guess in guesses]

    def weighed(weights: Floats) -> Floats:
        ranks, spread = ladder.ranks(weights)
        ranks *= weights
        found = np.empty((len(ladders), weights.shape[1]))
        for number, other in enumerate(ladders):
            other_ranks, other_spread = other.ranks(weights)
            found[number] = ratio(np.einsum("rd,rd->d", ranks, other_ranks), np.sqrt(spread * other_spread))
        return found

    return weighed


@dataclass(frozen=True)
class _Ladder:
    """Values in ascending order: the rows in that order, where each distinct value begins, and each row's value."""

    order: NDArray[np.intp]
    begins: NDArray[np.intp]
    place: NDArray[np.intp]

    @classmethod
    def of(cls, values: NDArray[Any]) -> _Ladder:
        _, begins, place = np.unique(np.sort(values), return_index=True, return_inverse=True)
        order = np.argsort(values, kind="stable")
        by_row = np.empty_like(place)
        by_row[order] = place
        return cls(order, begins, by_row)

    def ranks(self, weights: Floats) -> tuple[Floats, Floats]:
        """Twice the mid-ranks of all rows in every draw, centred on zero, and the weighted sum of their squares."""
        counts = weights[self.order]
        if len(self.begins) < len(self.order):
            counts = np.add.reduceat(counts, self.begins, axis=0)
        ranks = np.cumsum(counts, axis=0)
        rows = ranks[-1].copy()
        ranks *= 2
        ranks -= rows
        ranks -= counts
        spread = np.einsum("vd,vd,vd->d", counts, ranks, ranks)
        return ranks[self.place], spread


def ratio(above: ArrayLike, below: ArrayLike) -> Floats:
    """Divide, and give zero where there is nothing to divide by."""
    shape = np.broadcast_shapes(np.shape(above), np.shape(below))
    return np.divide(above, below, out=np.zeros(shape), where=np.asarray(below) > 0)


accuracy = Score("accuracy", "classification", _accuracy)
f1 = Score("f1", "classification", _f1)
matthews = Score("matthews", "classification", _matthews)
pearson = Score("pearson", "regression", _pearson)
spearman = Score("spearman", "regression", _spearman)

METRICS: dict[str, Score] = {score.name: score for score in (accuracy, f1, matthews, pearson, spearman)}


def metric_named(name: str) -> Score:
    """Find a metric; an unknown name is answered with the known ones."""
    if name not in METRICS:
        raise UnknownNameError("metric", name, METRICS)
    return METRICS[name]
