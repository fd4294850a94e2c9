"""A wish is read from words, takes 97 % for granted where nothing is said, and refuses what nothing could fulfil."""

import pytest
from pydantic import ValidationError

from workbench.errors import UsageError
from workbench.wish import Wish, read_quality


@pytest.mark.parametrize(
    ("text", "amount", "share"),
    [
        ("97%", 0.97, True),
        (" 97 % ", 0.97, True),
        ("99.5%", 0.995, True),
        ("100%", 1.0, True),
        ("102%", 1.02, True),
        ("85", 0.85, False),
        ("0.85", 0.85, False),
        ("100", 1.0, False),
        ("1", 1.0, False),
        ("0", 0.0, False),
        ("88.25", 0.8825, False),
    ],
)
def test_quality_is_a_share_of_the_baselines_or_a_score(text, amount, share):
    limit = read_quality(text)
    assert (limit.axis, limit.amount, limit.share) == ("quality", pytest.approx(amount), share)


@pytest.mark.parametrize("text", ["", "good", "-5", "-5%", "97 percent", "0,97", "1e3", "nan", "inf", "%", "9 7"])
def test_words_that_are_no_quality_are_refused_with_an_example(text):
    with pytest.raises(UsageError, match=r"like 97%, or a score like 0\.85 or 85"):
        read_quality(text)


@pytest.mark.parametrize(("text", "words"), [("101", "exceeds 100"), ("850", "exceeds 100"), ("201%", "2 times")])
def test_what_nothing_can_reach_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        read_quality(text)


def test_a_number_too_long_to_be_one_is_refused():
    for text in ("9" * 400, f"{'9' * 400}%"):
        with pytest.raises(UsageError):
            read_quality(text)


def test_without_a_word_the_fastest_that_keeps_97_percent_is_sought_and_that_is_said():
    wish = Wish.of()
    assert (wish.optimise, wish.axis, wish.assumed) == ("latency", "latency", True)
    assert [limit.words() for limit in wish.limits] == ["at least 97 % of the baseline's quality"]


def test_a_word_on_quality_stands_in_the_place_of_what_is_taken_for_granted():
    wish = Wish.of(min_quality="85")
    assert not wish.assumed
    assert [limit.words() for limit in wish.limits] == ["at least 85 points"]


def test_where_quality_itself_is_to_be_best_nothing_is_taken_for_granted():
    wish = Wish.of(optimise="quality")
    assert (wish.limits, wish.assumed, wish.axis) == ((), False, "quality")
    assert Wish.of(optimise="quality", min_quality="90%").limits[0].amount == 0.9


def test_limits_are_kept_in_the_units_of_what_is_measured_and_said_in_those_of_people():
    wish = Wish.of(max_latency_ms=12.5, max_size_mb=50, max_memory_mb=0.5, min_quality="99.5%", optimise="size")
    assert {limit.axis: limit.amount for limit in wish.limits} == {
        "latency": 12.5,
        "disk": 50e6,
        "memory": 0.5e6,
        "quality": pytest.approx(0.995),
    }
    assert [limit.words() for limit in wish.limits] == [
        "at most 12.5 ms a call",
        "at most 50 MB on disk",
        "at most 0.5 MB of memory",
        "at least 99.5 % of the baseline's quality",
    ]
    assert wish.axis == "disk"
    assert Wish.of(optimise="memory").axis == "memory"


@pytest.mark.parametrize("option", ["max_latency_ms", "max_size_mb", "max_memory_mb"])
@pytest.mark.parametrize("amount", [0.0, -1.0, float("nan"), float("inf")])
def test_a_limit_that_is_no_amount_is_refused_by_the_name_of_its_option(option, amount):
    with pytest.raises(UsageError, match=f"--{option.replace('_', '-')} .*a number above 0"):
        Wish.of(**{option: amount})


def test_a_goal_that_nobody_knows_is_no_wish():
    with pytest.raises(ValidationError):
        Wish.of(optimise="beauty")
