"""Numbers are worded as people read them, and names are left as they are."""

import pytest

from reports.wording import chance, counted, duration, ended, points, points_between, sentence, signed


@pytest.mark.parametrize(
    ("value", "told"), [(0.0123, "+1.2"), (-0.0349, "−3.5"), (0.00001, "0.0"), (-0.00001, "0.0"), (None, "–")]
)
def test_points_have_a_sign_unless_they_are_none(value, told):
    assert points(value) == told


def test_an_interval_names_both_ends():
    assert points_between(-0.039, 0.004) == "−3.9 to +0.4"


def test_a_minus_is_a_minus_and_not_a_dash():
    assert signed(-1234.5, 1) == "−1234.5"


@pytest.mark.parametrize(("p", "told"), [(0.05477, "0.055"), (0.0009, "< 0.001"), (1.0, "1.000"), (None, "–")])
def test_no_chance_is_told_as_zero(p, told):
    assert chance(p) == told


@pytest.mark.parametrize(("value", "told"), [(0.0, "< 0.1 s"), (0.06, "0.1 s"), (12.34, "12.3 s"), (240, "4.0 min")])
def test_a_time_however_short_was_spent(value, told):
    assert duration(value) == told


def test_one_thing_has_no_plural():
    assert (counted(1, "seed"), counted(2, "seed"), counted(1018, "row")) == ("1 seed", "2 seeds", "1,018 rows")


def test_a_sentence_starts_and_ends_like_one_and_a_name_stays_as_it_is():
    assert sentence("ship it") == "Ship it."
    assert sentence("Ship it!") == "Ship it!"
    assert ended("int8: 3 rows") == "int8: 3 rows."
