"""Ratios have Student's interval over processes, and words that stay true however often one looks."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from workbench.ratios import Ratio, fault_of_control, interval_over_processes, ratio_of

# The quantiles of Student's distribution that have a closed form: with one and with two degrees of freedom.
T1 = math.tan(0.475 * math.pi)
T2 = 0.95 / math.sqrt(2 * 0.975 * 0.025)
CASES = 1000
ROUNDS = 20


def ratio(low: float, high: float) -> Ratio:
    return Ratio(value=math.sqrt(low * high), low=low, high=high, processes=3)


def test_two_processes_have_the_interval_of_one_degree_of_freedom():
    found = ratio_of([[math.log(2.0)], [math.log(2.2)]])
    middle, reach = math.log(2.0 * 2.2) / 2, T1 * math.log(2.2 / 2.0) / 2
    assert found.value == pytest.approx(math.exp(middle))
    assert (found.low, found.high) == pytest.approx((math.exp(middle - reach), math.exp(middle + reach)))
    assert found.processes == 2


def test_three_processes_have_the_interval_of_two_degrees_of_freedom():
    found = ratio_of([[0.1], [0.2], [0.3]])
    reach = T2 * 0.1 / math.sqrt(3)
    assert found.value == pytest.approx(math.exp(0.2))
    assert (found.low, found.high) == pytest.approx((math.exp(0.2 - reach), math.exp(0.2 + reach)))


def test_a_process_counts_once_however_many_rounds_it_had():
    few = ratio_of([[0.1, 0.3], [0.4]])
    many = ratio_of([[0.1, 0.3] * 50, [0.4] * 7])
    assert few.model_dump() == pytest.approx(many.model_dump())
    assert few.value == pytest.approx(math.exp(0.3))


def test_processes_that_agree_exactly_leave_no_doubt():
    found = ratio_of([[0.5, 0.5], [0.5], [0.5]])
    assert found.low == found.value == found.high == pytest.approx(math.exp(0.5))
    assert found.half_width == 0


@pytest.mark.parametrize("logs", [[], [[0.1, 0.2]], [[0.1], []], [[], []]])
def test_below_two_processes_there_is_no_ratio(logs):
    assert ratio_of(logs) is None


def test_a_process_without_rounds_is_not_counted():
    assert ratio_of([[0.1], [], [0.3]]).processes == 2


def test_the_other_way_round_the_ratio_is_the_inverse():
    logs = [[0.1, 0.2], [0.4], [0.3]]
    forth, back = ratio_of(logs), ratio_of([[-value for value in rounds] for rounds in logs])
    assert (forth.value, forth.low, forth.high) == pytest.approx((1 / back.value, 1 / back.high, 1 / back.low))
    assert forth.half_width == pytest.approx(back.half_width)


def test_half_the_width_is_a_share_of_the_ratio():
    assert ratio(2 / 1.1, 2 * 1.1).half_width == pytest.approx(0.1)


def test_the_interval_over_processes_tells_its_middle_reach_and_number():
    assert interval_over_processes([[1.0], [3.0]]) == pytest.approx((2.0, T1, 2))
    assert interval_over_processes([[1.0]]) is None


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1 / 1.03, 1.03, "equivalent"),
        (1.0, 1.0, "equivalent"),
        (1.001, 1.029, "equivalent"),
        (0.975, 0.999, "equivalent"),
        (1 / 1.03, 1.031, "unclear"),
        (0.97, 1.03, "unclear"),
        (1.0, 1.031, "unclear"),
        (0.9, 1.0, "unclear"),
        (0.5, 2.0, "unclear"),
        (1.0001, 1.031, "faster"),
        (1.9, 2.1, "faster"),
        (0.9, 0.9999, "slower"),
        (0.4, 0.6, "slower"),
    ],
)
def test_the_word_for_a_ratio_at_its_borders(low, high, word):
    assert ratio(low, high).verdict == word


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_no_ratio(value):
    with pytest.raises(ValidationError):
        Ratio(value=value, low=1, high=1, processes=2)


@pytest.mark.parametrize(("low", "high"), [(0.99, 1.01), (1.001, 1.029), (1 / 1.049, 1.049), (0.97, 1.06)])
def test_a_control_around_one_is_no_fault(low, high):
    assert fault_of_control(ratio(low, high)) is None


def test_a_control_that_shows_a_difference_is_a_fault():
    told = fault_of_control(ratio(1.01, 1.05))
    assert told == ("the baseline beside itself came out as 1.030× (1.010 to 1.050), a difference where there is none")
    assert fault_of_control(ratio(0.9, 0.95)).endswith("a difference where there is none")


def test_a_control_that_is_unsure_is_a_fault():
    assert fault_of_control(ratio(1 / 1.051, 1.051)).endswith("(0.951 to 1.051), less sure than ±5%")
    assert fault_of_control(ratio(0.5, 2)).endswith("less sure than ±5%")


def test_a_control_that_is_not_there_is_a_fault():
    assert fault_of_control(None) == "the baseline could not be measured twice, so there is no control"


@pytest.mark.parametrize(
    ("low", "high", "word"), [(1.9, 2.1, "faster"), (0.98, 1.02, "equivalent"), (0.9, 1.1, "unclear")]
)
def test_beside_a_sound_control_a_ratio_has_its_own_word(low, high, word):
    sound = ratio(0.97, 1.02)
    assert sound.noise == 1
    assert ratio(low, high).verdict_beside(sound) == word


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        *((1.251, 1.5, "faster"), (1.2, 1.5, "unclear"), (1.25, 1.25, "unclear"), (1.0, 1.0, "unclear")),
        *((0.5, 0.799, "slower"), (0.5, 0.801, "unclear"), (0.5, 1.5, "unclear")),
    ],
)
@pytest.mark.parametrize("control", [ratio(0.95, 1.25), ratio(0.8, 1.05), ratio(1.1, 1.25), ratio(0.8, 0.9)])
def test_beside_a_noisy_control_only_what_exceeds_it_either_way_is_told(low, high, word, control):
    assert control.noise == pytest.approx(1.25)
    assert ratio(low, high).verdict_beside(control) == word


@pytest.mark.parametrize("control", [ratio(0.5, 2.0), ratio(1.1, 1.2), ratio(0.6, 0.7)])
def test_a_noisy_control_beside_itself_is_unclear(control):
    assert control.verdict_beside(control) == "unclear"


def noisy_logs(truth: float, processes: int, chance: np.random.Generator) -> np.ndarray:
    """Log ratios of some processes: each has a luck of its own, each round too, and slow rounds are the longer ones."""
    luck = chance.normal(0, 0.02, (processes, 1))
    return truth + luck + 0.05 * (chance.exponential(1, (processes, ROUNDS)) - 1)


def percentile_bootstrap(logs: np.ndarray, chance: np.random.Generator, draws: int = 400) -> tuple[float, float]:
    """The 95 % interval of the mean by drawing processes, then rounds of each, with replacement."""
    processes, rounds = logs.shape
    chosen = chance.integers(processes, size=(draws, processes, 1))
    means = logs[chosen, chance.integers(rounds, size=(draws, processes, rounds))].mean(axis=(1, 2))
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [3, 5])
def test_the_interval_holds_the_truth_as_often_as_it_says_and_a_bootstrap_of_so_few_does_not(processes):
    chance, truth = np.random.default_rng(processes), math.log(1.5)
    held = held_by_bootstrap = 0
    for _ in range(CASES):
        logs = noisy_logs(truth, processes, chance)
        found = ratio_of(logs.tolist())
        held += found.low <= 1.5 <= found.high
        low, high = percentile_bootstrap(logs, chance)
        held_by_bootstrap += low <= truth <= high
    assert 0.93 <= held / CASES <= 0.97
    assert held_by_bootstrap / CASES < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("processes", [3, 5])
def test_identical_workloads_are_seldom_told_apart(processes):
    chance = np.random.default_rng(10 + processes)
    words = [ratio_of(noisy_logs(0.0, processes, chance).tolist()).verdict for _ in range(CASES)]
    assert sum(word in ("faster", "slower") for word in words) / CASES <= 0.05
