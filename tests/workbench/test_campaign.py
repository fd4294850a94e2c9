"""A campaign's words follow from its control and its answers, never from a number alone."""

import pytest
from pydantic import ValidationError
from records import EVEN, a_campaign, a_failed_entry, a_round, an_entry

from workbench.campaign import TWIN
from workbench.ratios import Ratio

TWICE = Ratio(value=2.0, low=1.9, high=2.1, processes=3)
UNSURE = Ratio(value=1.0, low=0.8, high=1.25, processes=3)


def verdict(campaign, name: str):
    return campaign.verdict(campaign.entry(name))


def test_an_entry_is_found_by_name_and_by_run():
    campaign = a_campaign(an_entry("drop", TWICE), an_entry("share", TWICE))
    assert campaign.entry("share").recipe == "share"
    assert campaign.entry("nobody") is None
    assert campaign.entry_of("run-of-drop").name == "drop"
    assert campaign.entry_of("run-of-nobody") is None


def test_the_baseline_s_run_is_its_first_entry():
    twin = an_entry(TWIN, EVEN, run="run-of-baseline")
    campaign = a_campaign(entries=(twin, an_entry("baseline")))
    assert campaign.entry_of("run-of-baseline").name == "baseline"


def test_the_baseline_has_no_verdict_and_its_twin_has():
    campaign = a_campaign()
    assert verdict(campaign, "baseline") is None
    assert verdict(campaign, TWIN) == "equivalent"


def test_a_sound_control_leaves_each_verdict_to_its_ratio():
    campaign = a_campaign(an_entry("drop", TWICE), an_entry("share", UNSURE))
    assert campaign.fault is None
    assert (verdict(campaign, "drop"), verdict(campaign, "share")) == ("faster", "unclear")


def test_a_noisy_control_leaves_only_what_exceeds_it():
    slightly = Ratio(value=1.2, low=1.15, high=1.24, processes=3)
    campaign = a_campaign(an_entry("drop", TWICE), an_entry("share", slightly), control=UNSURE)
    assert campaign.fault
    assert [verdict(campaign, name) for name in ("drop", "share", TWIN)] == ["faster", "unclear", "unclear"]


def test_without_a_control_everything_is_unclear():
    campaign = a_campaign(an_entry("drop", TWICE), control=None)
    assert campaign.fault
    assert verdict(campaign, "drop") == "unclear"


def test_wrong_or_unchecked_answers_leave_this_one_unclear():
    campaign = a_campaign(
        an_entry("liar", TWICE, answers={"timed": 8, "differing": 1, "beyond_rounding": 1}),
        an_entry("unknown", TWICE, answers=None, unchecked="predictions cannot be read"),
        an_entry("rounding", TWICE, answers={"timed": 8, "differing": 1, "beyond_rounding": 0}),
    )
    assert [verdict(campaign, name) for name in ("liar", "unknown", "rounding")] == ["unclear", "unclear", "faster"]


def test_what_failed_has_no_verdict():
    assert verdict(a_campaign(a_failed_entry("drop", "it crashed")), "drop") is None


def test_a_campaign_that_only_weighed_has_no_control_and_no_fault():
    weighed = [an_entry(name, measured={"memory": 1.0}, answers=None) for name in ("baseline", TWIN, "drop")]
    campaign = a_campaign(entries=weighed, rounds=())
    assert not campaign.was_timed
    assert campaign.fault is None


def test_a_campaign_in_which_nobody_could_be_timed_is_at_fault():
    campaign = a_campaign(entries=[a_failed_entry(name, "no") for name in ("baseline", TWIN)], rounds=())
    assert campaign.was_timed
    assert campaign.fault == "the baseline could not be measured twice, so there is no control"


def test_rounds_that_were_not_kept_are_counted():
    rounds = [a_round(0), a_round(1, quiet=False, kept=False), a_round(2, quiet=False, kept=True)]
    assert a_campaign(rounds=rounds).dropped_rounds == 1


def test_a_record_is_frozen_and_knows_all_its_facts():
    with pytest.raises(ValidationError):
        a_campaign().task = "other"
    with pytest.raises(ValidationError):
        a_campaign(mood="good")
