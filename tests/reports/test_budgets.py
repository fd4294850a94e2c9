"""Budgets are round limits around what was measured, and none at all can always be chosen."""

import pytest
from records import a_line, a_quality

from reports.budgets import NO_LIMIT, at_least_quality, at_most
from workbench.wish import Limit


def lines(*times: float):
    return [a_line(f"recipe-{place}", ms=ms) for place, ms in enumerate(times)]


def test_limits_reach_from_what_nothing_keeps_to_what_everything_keeps():
    amounts = [limit.amount for limit in at_most("latency", lines(1.4, 15.8)).values() if limit]
    assert amounts == [1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20]


def test_values_near_each_other_get_even_steps():
    amounts = [limit.amount for limit in at_most("latency", lines(10.1, 11.0)).values() if limit]
    assert len(amounts) >= 8
    assert amounts == sorted(amounts)
    assert (amounts[0], amounts[-1]) == (10, 12)


def test_equal_values_can_be_limited_too():
    amounts = [limit.amount for limit in at_most("latency", lines(10.0, 10.0)).values() if limit]
    assert amounts == [9, 10]


def test_no_limit_is_the_last_of_what_is_at_most_and_the_first_of_what_is_at_least():
    assert list(at_most("latency", lines(1, 20)))[-1] == NO_LIMIT
    assert next(iter(at_least_quality(lines(1, 20)))) == NO_LIMIT


def test_sizes_are_limited_in_megabytes():
    found = at_most("disk", [a_line("small", disk=20e6), a_line("large", disk=91e6)])
    assert found["50 MB"] == Limit(axis="disk", amount=50e6)


def test_what_fewer_than_two_were_measured_in_has_no_limits():
    assert at_most("latency", [a_line("one", ms=1.0), a_line("other")]) == {}


def test_quality_is_limited_as_a_share_of_the_baseline_and_the_usual_share_is_there():
    found = at_least_quality([a_line("worse", 0.78), a_line("better", 0.81)])
    assert found["97 %"] == Limit(axis="quality", amount=0.97, share=True)
    assert {"97.5 %", "100 %", "101.5 %"} <= set(found)


def test_a_wide_range_of_quality_is_walked_in_whole_percents():
    found = at_least_quality([a_line("bad", 0.1), a_line("good", 0.8)])
    assert "50 %" in found and "50.5 %" not in found


def test_without_a_baseline_quality_is_limited_in_points():
    found = at_least_quality([a_line("one", a_quality(0.7, base=None)), a_line("other", a_quality(0.8, base=None))])
    assert found["75 points"] == Limit(axis="quality", amount=0.75)


def test_where_nothing_is_finished_there_is_nothing_to_limit():
    assert at_least_quality([a_line("failed", None)]) == {}


@pytest.mark.parametrize("smallest", [1e-4, 0.3, 7.0, 12345.0])
def test_the_tightest_limit_is_below_everything_and_the_loosest_above(smallest):
    amounts = [limit.amount for limit in at_most("latency", lines(smallest, 2.9 * smallest)).values() if limit]
    assert amounts[0] < smallest
    assert amounts[-1] >= 2.9 * smallest
