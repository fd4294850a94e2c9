"""Two recipes are compared in words that claim no more than was shown."""

import pytest
from records import a_judged, a_ratio

from reports.versus_words import quality_words, versus_table
from workbench.delta import Delta
from workbench.versus import Speed, Versus


def a_versus(**changes) -> Versus:
    facts = {"task": "reviews", "first": "baseline", "second": "drop", "seeds": (0,), "judged": a_judged()}
    facts |= {"damage": None, "speed": None, "counted": (), "remarks": ()}
    return Versus(**{**facts, **changes})


def said(**judged) -> str:
    return "\n".join(quality_words(a_versus(judged=a_judged(**judged))))


def test_the_difference_is_told_with_its_interval_and_its_test():
    assert "drop differs from baseline by −1.0 points" in said()
    assert "may be −3.0 to +1.0 (95 % interval)" in said()
    assert "exact McNemar test" in said() and "p = 0.300" in said()
    assert "p < 0.001" in said(p=1e-9)


@pytest.mark.parametrize(
    ("largest", "words"),
    [
        (0.985, "It keeps at least 97 % of the accuracy of baseline: that is shown, one-sided at 95 %; up to 98.5 %"),
        (0.96, "is not shown (one-sided at 95 %); what is shown is 96.0 %."),
        (None, "is not shown (one-sided at 95 %)."),
    ],
)
def test_what_is_kept_is_claimed_only_where_it_is_shown(largest, words):
    assert words in said(largest_share=largest)


def test_one_seed_is_told_to_say_nothing_of_training_again():
    assert "not of training again" in said()
    assert "not of training again" not in said(seeds=(0, 1))


def test_without_answers_nothing_is_said():
    assert list(quality_words(a_versus(judged=None))) == []


def test_every_respect_has_a_row_with_its_verdict():
    speed = Speed(campaign="c", first_ms=20, second_ms=4, ratio=a_ratio(5.0), verdict="faster")
    counted = (Delta.counted("memory", "bytes", 50e6, 100e6, 0.05), Delta.counted("disk", "bytes", 90e6, 30e6))
    rows = [[cell.plain for cell in row] for row in versus_table(a_versus(speed=speed, counted=counted)).rows]
    assert rows[0] == ["quality (accuracy × 100)", "80.00", "79.00", "−1.0 points", "−3.0 to +1.0 points", "unclear"]
    assert rows[1] == ["time of one call", "20 ms", "4 ms", "5.00 times as fast", "4.90 to 5.10 times", "faster"]
    assert rows[2] == ["memory", "100.0 MB", "50.0 MB", "2.00 times less", "known within 5 %", "less"]
    assert rows[3] == ["size on disk", "30.0 MB", "90.0 MB", "3.00 times more", "exact", "larger"]
