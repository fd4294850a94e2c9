"""Simulations: nominal 95 % intervals hold the truth in about 95 % of cases, and false claims are as rare as stated."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from workbench.resampling import Answers, bootstrap
from workbench.scores import Score, accuracy, f1, matthews, pearson
from workbench.statistics import interval_of, lower_bound

pytestmark = pytest.mark.slow

CASES = 1000
DRAWS = 500
EVENTS = np.arange(8)
TRUTH, GUESSES = EVENTS // 4, np.array([EVENTS // 2 % 2, EVENTS % 2])


def population(positive: float, both: float, broken: float, mended: float) -> np.ndarray:
    """Probabilities of (label, ours, base), the errors falling on both labels alike."""
    shares = np.where(TRUTH == 1, positive, 1 - positive)
    ours, base = GUESSES == TRUTH
    given = np.select([ours & base, base, ours], [both, broken, mended], 1 - both - broken - mended)
    return shares * given


def true_scores(score: Score, chances: np.ndarray) -> np.ndarray:
    return score.over(TRUTH, GUESSES, 2)(chances[:, None])[:, 0]


def sampled(chances: np.ndarray, rows: int, chance: np.random.Generator) -> Answers:
    events = chance.choice(8, rows, p=chances)
    return Answers(TRUTH[events], GUESSES[:1, events], GUESSES[1:, events], 2)


def coverage(score: Score, truth: float, sample: Callable[[np.random.Generator], Answers], seed: int) -> float:
    chance = np.random.default_rng(seed)
    held = 0
    for _ in range(CASES):
        drawn = bootstrap(score, [sample(chance)], chance, DRAWS).of(np.subtract)
        held += not interval_of(drawn).excludes(truth)
    return held / CASES


def false_claims(
    score: Score, share: float, sample: Callable[[np.random.Generator], Answers], unseen: float = 1.0
) -> float:
    chance = np.random.default_rng(11)
    claims = 0
    for _ in range(CASES):
        drawn = bootstrap(score, [sample(chance)], chance, DRAWS, unseen)
        claims += lower_bound(drawn.of(lambda ours, base: ours - share * base)) > 0
    return claims / CASES


@pytest.mark.parametrize("score", [accuracy, f1, matthews], ids=lambda score: score.name)
@pytest.mark.parametrize("rows", [500, 872])
def test_intervals_of_label_scores_hold_the_truth(score, rows):
    chances = population(0.4, both=0.84, broken=0.05, mended=0.03)
    ours, base = true_scores(score, chances)
    assert 0.93 <= coverage(score, ours - base, lambda chance: sampled(chances, rows, chance), rows) <= 0.97


def test_intervals_of_few_flips_hold_the_truth_at_least_as_often():
    chances = population(0.5, both=0.92, broken=0.004, mended=0.002)
    assert coverage(accuracy, -0.002, lambda chance: sampled(chances, 872, chance), 1) >= 0.94


def test_intervals_of_a_difference_of_correlations_hold_the_truth():
    def sample(chance):
        truth = chance.normal(size=500)
        base = truth + chance.normal(0, 0.5, 500)
        return Answers(truth, (base + chance.normal(0, 0.4, 500))[None], base[None])

    expected = 1 / np.sqrt(1 + 0.25 + 0.16) - 1 / np.sqrt(1 + 0.25)
    assert 0.93 <= coverage(pearson, expected, sample, 2) <= 0.97


def trained(seeds: int, rows: int, apart: float, harm: float, chance: np.random.Generator) -> Answers:
    """Rows are hard for everyone, compression harms some rows, seeds are ``apart``, and the rest is luck."""
    hard, harmed = chance.normal(size=rows), harm * chance.normal(size=rows)
    ours, base = apart * chance.normal(size=(2, seeds, 1)) + 0.5 * chance.normal(size=(2, seeds, rows)) + hard
    truth = chance.integers(0, 2, rows)
    right = (ours + harmed + 1.0 > 0, base + 1.15 > 0)
    return Answers(truth, np.where(right[0], truth, 1 - truth), np.where(right[1], truth, 1 - truth), 2)


def expected_accuracy(apart: float, harm: float) -> tuple[float, float]:
    rest = 1 + 0.25 + apart**2
    return float(norm.cdf(1.0 / np.sqrt(rest + harm**2))), float(norm.cdf(1.15 / np.sqrt(rest)))


@pytest.mark.parametrize(("seeds", "apart"), [(3, 0.0), (3, 0.2), (5, 0.0), (5, 0.2)])
def test_intervals_over_several_seeds_hold_the_truth(seeds, apart):
    ours, base = expected_accuracy(apart, 0.3)
    held = coverage(accuracy, ours - base, lambda chance: trained(seeds, 600, apart, 0.3, chance), seeds)
    assert 0.93 <= held <= 0.97


def test_a_share_is_falsely_claimed_over_three_seeds_as_rarely_as_stated():
    ours, base = expected_accuracy(0.1, 0.3)
    assert false_claims(accuracy, ours / base, lambda chance: trained(3, 600, 0.1, 0.3, chance)) <= 0.06


@pytest.mark.parametrize("score", [accuracy, f1], ids=lambda score: score.name)
@pytest.mark.parametrize(("rows", "both", "broken", "mended"), [(872, 0.87, 0.042, 0.015), (277, 0.6, 0.035, 0.0155)])
def test_a_share_is_falsely_claimed_at_its_boundary_as_rarely_as_stated(score, rows, both, broken, mended):
    chances = population(0.5, both, broken, mended)
    ours, base = true_scores(score, chances)
    assert ours / base == pytest.approx(0.97, abs=0.002)
    assert 0.03 <= false_claims(score, ours / base, lambda chance: sampled(chances, rows, chance)) <= 0.065


def test_flips_reckoned_with_unseen_are_what_keeps_claims_on_few_rows_honest():
    chances = population(0.5, both=0.5, broken=0.02, mended=0.003)
    ours, base = true_scores(accuracy, chances)
    wary, blind = (
        false_claims(accuracy, ours / base, lambda chance: sampled(chances, 71, chance), unseen) for unseen in (1.0, 0)
    )
    assert wary <= 0.05
    assert blind > 0.15
