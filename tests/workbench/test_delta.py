"""A delta says how much better a value is than its baseline's, and claims beyond doubt only what its intervals bear."""

import math

import numpy as np
import pytest
from records import a_quality, a_ratio, a_time
from scipy import stats

from workbench.delta import MEMORY_WITHIN, Delta, averaged


def a_size(value: float, base: float | None = 100.0, within: float = 0.0) -> Delta:
    return Delta.counted("disk", "bytes", value, base, within)


def test_higher_quality_is_a_larger_share_of_the_baselines():
    delta = a_quality(0.6, reach=0.04)
    assert delta.times == pytest.approx(0.75)
    assert delta.times_interval == pytest.approx((0.7, 0.8))
    assert delta.difference == pytest.approx(-0.2)
    assert delta.reach == pytest.approx(0.04)


def test_a_smaller_size_is_so_many_times_as_good():
    delta = a_size(25)
    assert (delta.times, delta.difference, delta.reach) == (4, -75, 0)
    assert delta.times_interval is None


def test_a_time_is_as_many_times_as_good_as_its_pairs_say_and_not_as_the_two_medians_say():
    delta = Delta.timed("latency", "ms", 10.0, 20.0, a_ratio(1.9, 0.1), "faster")
    assert delta.times == 1.9
    assert delta.times_interval == pytest.approx((1.9 / 1.1, 1.9 * 1.1))
    assert (delta.low, delta.high) == pytest.approx((10 / 1.1, 11))
    assert delta.verdict == "better"


@pytest.mark.parametrize(
    ("told", "word"), [("faster", "better"), ("slower", "worse"), ("equivalent", "equivalent"), ("unclear", "unclear")]
)
def test_words_of_speed_become_words_of_every_metric(told, word):
    assert Delta.timed("latency", "ms", 10.0, 20.0, a_ratio(2.0), told).verdict == word


def test_noise_widens_what_a_time_may_be_but_not_the_ratio_that_was_seen():
    delta = Delta.timed("latency", "ms", 10.0, 20.0, a_ratio(2.0, 0.1), "faster", noise=1.5)
    assert (delta.low, delta.high) == pytest.approx((10 / 1.1 / 1.5, 11 * 1.5))
    assert delta.times_interval == pytest.approx((2 / 1.1, 2.2))


def test_without_a_baseline_there_is_nothing_to_compare_with():
    delta = a_quality(0.6, base=None)
    assert (delta.times, delta.times_interval, delta.difference, delta.verdict) == (None, None, None, None)
    assert not delta.surely_keeps(0.5)
    assert a_size(25, base=None).verdict is None


@pytest.mark.parametrize("base", [0.0, -0.2])
def test_a_quality_that_is_not_above_zero_has_no_shares(base):
    delta = a_quality(0.6, base=base)
    assert (delta.times, delta.times_interval) == (None, None)
    assert delta.difference == pytest.approx(0.6 - base)
    assert not delta.surely_keeps(0.97)


def test_a_quality_below_zero_is_no_share_of_one_above():
    delta = a_quality(-0.01, reach=0.03, base=0.5)
    assert (delta.times, delta.times_interval) == (None, None)
    assert delta.difference == pytest.approx(-0.51)


def test_an_interval_that_goes_below_zero_has_no_share_though_the_value_has():
    delta = a_quality(0.02, reach=0.03, base=0.5)
    assert delta.times == pytest.approx(0.04)
    assert delta.times_interval is None


def test_a_size_of_zero_is_not_infinitely_many_times_smaller():
    assert a_size(0.0).times is None


@pytest.mark.parametrize(
    ("value", "word"),
    [(100, "equivalent"), (101, "equivalent"), (99, "equivalent"), (101.1, "worse"), (98.9, "better"), (50, "better")],
)
def test_what_was_counted_differs_beyond_one_in_a_hundred(value, word):
    assert a_size(value).verdict == word


def test_memory_differs_only_beyond_what_another_process_would_differ():
    assert a_size(96, within=MEMORY_WITHIN).verdict == "equivalent"
    assert a_size(94, within=MEMORY_WITHIN).verdict == "better"
    assert a_size(94, within=MEMORY_WITHIN).reach == pytest.approx(4.7)


@pytest.mark.parametrize(
    ("ours", "theirs", "sure"),
    [
        (a_quality(0.80, 0.01), a_quality(0.78, 0.01), True),
        (a_quality(0.80, 0.01), a_quality(0.787, 0.01), False),
        (a_quality(0.80, 0.0), a_quality(0.793, 0.0), False),
        (a_quality(0.80, 0.0), a_quality(0.79, 0.0), True),
        (a_time(10, 0.02), a_time(11, 0.02), True),
        (a_time(10, 0.02), a_time(10.2, 0.02), False),
        (a_size(50), a_size(51), True),
        (a_size(50), a_size(50.4), False),
        (a_size(50, within=MEMORY_WITHIN), a_size(53, within=MEMORY_WITHIN), False),
        (a_size(50, within=MEMORY_WITHIN), a_size(54, within=MEMORY_WITHIN), True),
    ],
)
def test_a_value_beats_another_surely_beyond_both_intervals_and_one_in_a_hundred(ours, theirs, sure):
    assert ours.advantage(theirs) > 0
    assert theirs.advantage(ours) == pytest.approx(-ours.advantage(theirs))
    assert ours.surely_beats(theirs) == sure
    assert not theirs.surely_beats(ours)


def test_taken_together_two_reaches_are_less_than_their_sum():
    far, near = a_quality(0.8, 0.03), a_quality(0.749, 0.04)
    assert far.surely_beats(near)
    assert not a_quality(0.798, 0.03).surely_beats(near)


def test_nothing_is_sure_of_a_value_of_which_nobody_knows_how_far_it_is_off():
    unsure = a_quality(0.9, reach=None)
    assert (unsure.known, unsure.reach, unsure.times) == (False, 0, pytest.approx(0.9 / 0.8))
    assert not unsure.surely_beats(a_quality(0.1))
    assert not a_quality(0.99).surely_beats(unsure)
    assert not unsure.surely_meets(0.1)
    assert not unsure.surely_keeps(0.1)
    assert unsure.meets(0.9)


def test_nothing_is_sure_of_a_value_whose_measuring_was_at_fault():
    doubted = a_time(1, doubted=True)
    assert not doubted.known
    assert not doubted.surely_beats(a_time(20))
    assert not a_time(0.1).surely_beats(doubted)
    assert not doubted.surely_meets(1000)
    assert doubted.meets(1)


def test_a_limit_is_met_surely_by_the_worse_end_of_what_the_value_is_by_itself():
    delta = a_quality(0.8, reach=0.01)
    assert (delta.meets(0.8), delta.surely_meets(0.8)) == (True, False)
    assert (delta.surely_meets(0.78), delta.surely_meets(0.7699)) == (False, True)
    time = a_time(10, reach=0.02)
    assert (time.meets(10), time.meets(9.99)) == (True, False)
    assert (time.surely_meets(10.5), time.surely_meets(10.61)) == (False, True)


def test_a_counted_size_meets_a_limit_to_the_byte_and_memory_with_room_to_spare():
    assert a_size(50).surely_meets(50)
    assert not a_size(50).surely_meets(49.9)
    memory = a_size(50, within=MEMORY_WITHIN)
    assert memory.meets(50)
    assert (memory.surely_meets(52.4), memory.surely_meets(52.5)) == (False, True)


def test_a_share_is_kept_surely_by_the_lower_end_beside_the_baseline():
    delta = a_quality(0.79, reach=0.01, base=0.8)
    assert delta.surely_keeps(0.975)
    assert not delta.surely_keeps(0.976)


def test_times_of_two_campaigns_are_compared_by_their_ratio_to_the_baseline_of_each():
    """On a slow day a faster encoder takes longer."""
    quick_day, slow_day = a_time(10, base=20), a_time(12, base=30)
    assert slow_day.beside(quick_day) == pytest.approx(8)
    assert slow_day.advantage(quick_day) == pytest.approx(2)
    assert slow_day.surely_beats(quick_day)
    assert not quick_day.surely_beats(slow_day)


def test_qualities_of_other_seeds_are_compared_by_their_distance_from_the_baseline_of_each():
    lucky, unlucky = a_quality(0.80, base=0.82), a_quality(0.79, base=0.79)
    assert unlucky.advantage(lucky) == pytest.approx(0.02)
    assert unlucky.surely_beats(lucky)


def test_a_value_without_a_baseline_is_compared_as_it_is():
    assert a_quality(0.7, base=None).advantage(a_quality(0.6)) == pytest.approx(0.1)
    assert a_size(50, base=0.0).advantage(a_size(60)) == 10


def test_the_mean_of_qualities_is_plain_and_that_of_times_geometric():
    quality = averaged([a_quality(0.9, base=1.0), a_quality(0.4, base=0.5)], "difference")
    assert (quality.value, quality.base) == (pytest.approx(0.65), pytest.approx(0.75))
    time = averaged([a_time(4, base=16), a_time(9, base=9)], "ratio")
    assert (time.value, time.base) == (pytest.approx(6), pytest.approx(12))
    assert time.times == pytest.approx(2)


def test_the_mean_of_exactly_equal_intervals_is_narrower_by_the_root_of_their_number():
    four = averaged([a_quality(0.8, 0.02)] * 4, "difference")
    assert (four.low, four.high) == pytest.approx((0.79, 0.81))
    assert four.alone == pytest.approx((0.77, 0.83))
    times = averaged([a_time(10, 0.02)] * 4, "ratio")
    assert math.log(times.paired.high / times.paired.value) == pytest.approx(math.log(1.02) / 2)
    assert (times.low, times.high) == pytest.approx((10 / math.sqrt(1.02), 10 * math.sqrt(1.02)))


def test_a_mean_keeps_of_its_parts_what_they_all_have():
    mixed = averaged([a_quality(0.8), a_quality(0.8, reach=None)], "difference")
    assert (mixed.low, mixed.high, mixed.alone, mixed.known) == (None, None, None, False)
    assert averaged([a_quality(0.8), a_quality(0.8, base=None)], "difference").base is None
    assert averaged([a_time(10), a_time(10, doubted=True)], "ratio").doubted
    assert averaged([a_size(50), a_size(50, within=0.05)], "ratio").within == 0.05
    assert averaged([a_time(10), a_time(10).model_copy(update={"paired": None})], "ratio").paired is None
    assert averaged([a_time(10)], "ratio").verdict is None


def test_nothing_and_what_has_no_logarithm_have_no_mean():
    assert averaged([], "difference") is None
    assert averaged([a_size(0.0), a_size(5)], "ratio") is None
    assert averaged([a_size(5, base=0.0), a_size(5)], "ratio") is None
    assert averaged([a_quality(0.0), a_quality(-0.1)], "difference").value == pytest.approx(-0.05)


def test_the_interval_of_a_mean_holds_the_true_mean_as_often_as_it_says():
    chance = np.random.default_rng(7)
    quantile = stats.norm.ppf(0.975)
    truth, errors = np.array([0.9, 0.7, 0.5]), np.array([0.004, 0.02, 0.01])
    hits = {"difference": 0, "ratio": 0}
    for draw in truth + errors * chance.standard_normal((2000, 3)):
        qualities = [a_quality(value, quantile * error) for value, error in zip(draw, errors, strict=True)]
        mean = averaged(qualities, "difference")
        hits["difference"] += mean.low <= truth.mean() <= mean.high
        logs = draw - truth
        times = [a_time(10 * math.exp(log), math.expm1(quantile * e)) for log, e in zip(logs, errors, strict=True)]
        ratio = averaged(times, "ratio").paired
        hits["ratio"] += ratio.low <= 2.0 <= ratio.high
    for scale, count in hits.items():
        assert stats.binomtest(count, 2000, 0.95).pvalue > 0.001, (scale, count)
