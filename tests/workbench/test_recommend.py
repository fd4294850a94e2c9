"""A recommendation is one pick with its reasons and doubts, or the nearest miss; what was not measured is said."""

import json
from typing import Any

import pytest
from records import a_comparison, a_judged, a_line, a_quality, a_time

from workbench.delta import Delta
from workbench.errors import UnknownNameError, UsageError
from workbench.line import Line, mean_line
from workbench.recommend import Recommendation, recommend
from workbench.wish import Wish

SHARE = "at least 97 % of the baseline's quality"


def a_baseline(task: str = "reviews", quality: float = 0.8, ms: float | None = 20.0) -> Line:
    time = None
    if ms is not None:
        ends = {"low": ms, "high": ms, "alone": (0.95 * ms, 1.05 * ms)}
        time = Delta(metric="latency", unit="ms", better="lower", value=ms, base=ms, **ends)
    base = a_quality(quality, 0.0, quality, alone=(quality - 0.04, quality + 0.04))
    return a_line("baseline", base, task=task, latency=time, disk=100e6, judged=a_judged(largest_share=0.9999))


def judged_line(recipe: str, value: float, shown: float | None, ms: float | None = 10.0, **changes: Any) -> Line:
    """A line whose quality was shown to keep at least a share of the baseline's."""
    facts = {"disk": 50e6, "judged": a_judged(largest_share=shown), **changes}
    return a_line(recipe, a_quality(value), ms, **facts)


SURE = judged_line("sure", 0.79, 0.975, 10)
BOLD = judged_line("bold", 0.78, 0.95, 5)
POOR = judged_line("poor", 0.70, 0.85, 2, disk=10e6)
ALL = a_comparison(a_baseline(), SURE, BOLD, POOR)


def asked(comparison=ALL, task: str | None = None, **wishes: Any) -> Recommendation:
    return recommend(comparison, Wish.of(**wishes), task)


def told(found: Recommendation, axis: str) -> str:
    """The word on one limit."""
    return next(check for check in (found.pick or found.nearest).checks if check.limit.axis == axis).state


def test_the_fastest_that_keeps_97_percent_as_measured_is_picked_and_its_doubt_told():
    found = asked()
    assert found.headline == "ship bold"
    assert (found.study, found.task, found.pick.runs, found.pick.value) == ("s", "reviews", ("run-of-bold",), 5)
    assert found.reasons == (
        "the fastest of what keeps to the limits: 5.00 ms a call, 4.00 times as fast as the baseline",
        f"quality 78.00, 97.5 % of the baseline's: {SHARE} as measured, not beyond doubt",
    )
    assert found.doubts[0] == f"quality 78.00, 97.5 % of the baseline's: {SHARE} as measured, not beyond doubt"
    assert "the safe choice is sure" in found.doubts
    assert found.wish.assumed


def test_of_the_smallest_it_is_told_how_much_more_the_baseline_takes():
    found = asked(optimise="size", min_quality="85%")
    assert (
        found.reasons[0]
        == "the smallest of what keeps to the limits: 10.0 MB on disk, the baseline's is 10.00 times that"
    )


def test_a_share_is_shown_by_the_bound_that_judging_found():
    found = asked(a_comparison(a_baseline(), SURE))
    assert told(found, "quality") == "shown"
    assert found.reasons[1] == f"quality 79.00, 98.8 % of the baseline's: {SHARE}, beyond doubt"
    assert found.doubts == ()


def test_what_came_next_is_told_in_order_and_not_more_than_three():
    assert [one.recipe for one in asked().runners_up] == ["sure", "baseline"]
    many = a_comparison(a_baseline(), *(judged_line(f"r{n}", 0.8, 0.98, 5 + n) for n in range(6)))
    assert asked(many).pick.recipe == "r0"
    assert [one.recipe for one in asked(many).runners_up] == ["r1", "r2", "r3"]


@pytest.mark.parametrize(
    ("goal", "pick"), [("latency", "bold"), ("size", "poor"), ("quality", "baseline"), ("memory", "light")]
)
def test_the_goal_decides_among_what_keeps_to_the_limits(goal, pick):
    light = judged_line("light", 0.75, 0.9, 30, memory=Delta.counted("memory", "bytes", 10e6, 100e6, 0.05))
    found = recommend(
        a_comparison(*ALL.lines, light), Wish.of(optimise=goal, min_quality="85%" if pick != "bold" else None)
    )
    assert found.pick.recipe == pick


def test_of_two_that_measured_the_same_the_one_of_higher_quality_is_picked():
    one, other = judged_line("one", 0.785, 0.975), judged_line("other", 0.79, 0.975)
    for lines in ([one, other], [other, one]):
        found = asked(a_comparison(a_baseline(), *lines))
        assert found.pick.recipe == "other"
        assert "one: not told apart from it in latency" in found.doubts


def test_what_is_as_fast_within_doubt_is_named():
    near = judged_line("near", 0.79, 0.975, 10.1)
    assert "near: not told apart from it in latency" in asked(a_comparison(a_baseline(), SURE, near)).doubts
    far = judged_line("far", 0.79, 0.975, 12)
    assert not any("told apart" in doubt for doubt in asked(a_comparison(a_baseline(), SURE, far)).doubts)


def test_times_of_another_campaign_are_ranked_by_what_they_are_beside_their_own_baseline():
    slow_day = a_line("slow-day", a_quality(0.79), judged=a_judged(largest_share=0.98), latency=a_time(12, base=30))
    assert asked(a_comparison(a_baseline(), SURE, slow_day)).pick.recipe == "slow-day"


def test_the_baseline_may_win():
    slower = judged_line("slower", 0.8, 0.99, 25)
    found = asked(a_comparison(a_baseline(), slower))
    assert found.headline == "ship the baseline as it is"
    assert told(found, "quality") == "shown"
    assert [one.recipe for one in found.runners_up] == ["slower"]


def test_the_baseline_keeps_all_of_itself_and_not_more():
    only = a_comparison(a_baseline())
    assert told(asked(only, min_quality="100%"), "quality") == "shown"
    assert asked(only, min_quality="101%").pick is None


def test_a_limit_is_met_by_the_measured_value_and_shown_by_the_worse_end():
    line = judged_line("drop", 0.79, 0.98, 10)
    only = a_comparison(line)
    assert told(asked(only, max_latency_ms=9.99), "latency") == "missed"
    assert told(asked(only, max_latency_ms=10), "latency") == "met"
    assert told(asked(only, max_latency_ms=10.7), "latency") == "shown"
    assert told(asked(only, max_size_mb=50), "disk") == "shown"
    assert told(asked(only, max_size_mb=49.9), "disk") == "missed"
    assert told(asked(only, min_quality="79"), "quality") == "met"
    assert told(asked(only, min_quality="76"), "quality") == "shown"


def test_a_score_is_shown_by_what_the_quality_is_by_itself_even_of_the_baseline():
    """Beside itself the baseline stands fast; on other rows it would not."""
    only = a_comparison(a_baseline())
    assert told(asked(only, min_quality="80"), "quality") == "met"
    assert told(asked(only, min_quality="76"), "quality") == "shown"
    assert told(asked(only, max_latency_ms=20.5), "latency") == "met"
    assert told(asked(only, max_latency_ms=21), "latency") == "shown"


def test_what_has_no_interval_keeps_no_limit_beyond_doubt():
    """Its answers are gone, so nobody knows how far its quality may be off."""
    line = a_line("drop", a_quality(0.8, reach=None), 10, disk=50e6)
    found = asked(a_comparison(a_baseline(), line))
    assert found.pick.recipe == "drop"
    assert told(found, "quality") == "met"
    assert "the safe choice is baseline" in found.doubts


def test_memory_is_shown_only_with_room_for_what_another_process_would_take():
    memory = Delta.counted("memory", "bytes", 60e6, 100e6, 0.05)
    only = a_comparison(judged_line("drop", 0.79, 0.98, 10, memory=memory))
    assert told(asked(only, max_memory_mb=61), "memory") == "met"
    assert told(asked(only, max_memory_mb=63), "memory") == "shown"
    assert "60.0 MB of memory: at most 63 MB of memory, beyond doubt" in asked(only, max_memory_mb=63).reasons


def test_a_pick_in_doubt_without_a_safe_choice_says_so():
    found = asked(a_comparison(BOLD))
    assert found.pick.recipe == "bold"
    assert "nothing keeps to all limits beyond doubt" in found.doubts


def test_a_speed_that_is_unclear_is_told_and_never_beyond_doubt():
    doubted = a_time(5, doubted=True).model_copy(update={"verdict": "unclear"})
    found = asked(a_comparison(a_baseline(), judged_line("bold", 0.79, 0.98, latency=doubted)), max_latency_ms=15)
    assert found.pick.recipe == "bold"
    assert told(found, "latency") == "met"
    assert "its latency beside the baseline is unclear" in found.doubts
    assert "baseline: not told apart from it in latency" not in found.doubts  # the baseline is beyond 15 ms


def test_the_caveats_of_the_pick_are_its_doubts_and_those_of_the_whole_come_along():
    line = judged_line("drop", 0.79, 0.98, caveats=("half of it is zero",))
    found = asked(a_comparison(a_baseline(), line, caveats=("one seed only",)))
    assert found.doubts == ("half of it is zero",)
    assert found.caveats == ("one seed only",)


def test_where_nothing_qualifies_the_nearest_miss_is_told_with_its_amount():
    found = asked(max_latency_ms=4, min_quality="96%")
    assert (found.pick, found.nearest.recipe) == (None, "poor")
    assert found.headline == "nothing qualifies; poor comes nearest"
    assert found.reasons == (
        "quality 70.00, 87.5 % of the baseline's: at least 96 % of the baseline's quality is missed by 8.9 %",
    )
    nearer = asked(max_latency_ms=4.9, min_quality="96%")
    assert nearer.nearest.recipe == "bold"
    assert nearer.reasons == ("5.00 ms a call: at most 4.9 ms a call is missed by 2.0 %",)
    assert nearer.runners_up == ()


def test_the_nearest_miss_counts_all_that_is_missed():
    both = judged_line("both", 0.76, 0.9, 5.5)
    found = asked(a_comparison(judged_line("one", 0.6, 0.7, 4), both), max_latency_ms=5)
    assert found.nearest.recipe == "both"
    assert len(found.reasons) == 2


def test_a_limit_that_was_not_measured_is_said_with_the_way_out():
    found = asked(max_memory_mb=100)
    assert (found.pick, found.nearest) == (None, None)
    assert found.headline == "nothing qualifies, because nothing was measured on what you ask for"
    assert found.reasons == (
        "left out baseline, sure, bold, poor: memory was not measured (at most 100 MB of memory asked); "
        "workbench measure RUN does it",
    )


def test_a_goal_that_was_not_measured_is_said_and_no_miss_is_made_up():
    found = asked(a_comparison(a_baseline(ms=None), judged_line("drop", 0.79, 0.98, None)))
    assert (found.pick, found.nearest) == (None, None)
    assert found.reasons == (
        "left out baseline, drop: latency was not measured (best latency asked); workbench measure RUN does it",
    )


def test_what_could_not_be_considered_beside_a_pick_is_said():
    found = asked(a_comparison(a_baseline(), SURE, judged_line("untimed", 0.8, 0.99, None)))
    assert found.pick.recipe == "sure"
    assert found.doubts == (
        "left out untimed: latency was not measured (best latency asked); workbench measure RUN does it",
    )


def test_what_could_not_be_considered_beside_a_miss_is_said():
    found = asked(a_comparison(POOR, judged_line("untimed", 0.8, 0.99, None)))
    assert found.nearest.recipe == "poor"
    assert found.doubts == (
        "left out untimed: latency was not measured (best latency asked); workbench measure RUN does it",
    )


def test_one_thing_that_was_not_measured_is_said_once_though_it_is_limit_and_goal():
    found = asked(a_comparison(judged_line("untimed", 0.8, 0.99, None)), max_latency_ms=5)
    assert found.reasons == (
        "left out untimed: latency was not measured (at most 5 ms a call asked); workbench measure RUN does it",
    )


@pytest.mark.parametrize(("base", "words"), [(None, "is not there"), (0.0, "is not above 0"), (-0.1, "is not above 0")])
def test_no_share_of_a_baseline_that_is_missing_or_not_above_zero_can_be_told(base, words):
    line = a_line("drop", a_quality(0.1, base=base), 10, disk=50e6)
    found = asked(a_comparison(line))
    assert found.pick is None
    assert f"the baseline's quality {words}, so that no share of it can be told" in found.reasons[0]
    assert asked(a_comparison(line), min_quality="5").pick.recipe == "drop"


def test_a_quality_below_zero_misses_a_limit_of_zero_by_its_amount():
    line = a_line("drop", a_quality(-0.1, base=0.5), 10)
    found = asked(a_comparison(line), min_quality="0")
    assert found.nearest.checks[0].excess == pytest.approx(0.1)


def means_of(*lines: Line) -> tuple[Line, ...]:
    names = dict.fromkeys(line.recipe for line in lines)
    return tuple(mean_line([line for line in lines if line.recipe == name]) for name in names)


def two_tasks() -> list[Line]:
    return [
        a_baseline("a", 0.9, 20),
        a_line("drop", a_quality(0.89, base=0.9), 10, task="a", disk=50e6, caveats=("odd",)),
        a_baseline("b", 0.7, 40),
        a_line("drop", a_quality(0.6, base=0.7), task="b", latency=a_time(20, base=40), disk=50e6),
    ]


def test_several_tasks_are_answered_by_their_means_and_one_by_name():
    lines = two_tasks()
    comparison = a_comparison(*lines, means=means_of(*lines))
    mean = asked(comparison, min_quality="90%")
    assert (mean.task, mean.pick.recipe, mean.pick.value) == ("all tasks", "drop", pytest.approx(200**0.5))
    assert "quality 74.50, 93.1 % of the baseline's" in mean.reasons[1]
    assert "a: odd" in mean.doubts
    assert asked(comparison).pick.recipe == "baseline"
    assert asked(comparison, "a").pick.recipe == "drop"
    assert asked(comparison, "b").pick.recipe == "baseline"


def test_a_share_of_a_mean_is_shown_by_the_interval_of_the_mean():
    lines = two_tasks()
    comparison = a_comparison(*lines, means=means_of(*lines))
    reach = (0.01**2 + 0.01**2) ** 0.5 / 2
    shown = 100 * (0.745 - reach) / 0.8
    assert told(asked(comparison, min_quality=f"{shown - 0.01:.2f}%"), "quality") == "shown"
    assert told(asked(comparison, min_quality=f"{shown + 0.01:.2f}%"), "quality") == "met"


def test_an_unknown_task_is_told_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="no task in this comparison 'revews'; did you mean 'reviews'"):
        asked(task="revews")


def test_where_no_recipe_was_finished_there_is_nothing_to_recommend():
    with pytest.raises(UsageError, match=r"study 's' has no finished run to recommend$"):
        asked(a_comparison(a_line("drop", None)))


def test_tasks_without_a_recipe_in_common_are_not_mixed():
    apart = a_comparison(a_baseline("a"), a_line("drop", 0.8, 10, task="b"))
    with pytest.raises(UsageError, match="on every task; name one with --task"):
        asked(apart)
    assert asked(apart, "a").pick.recipe == "baseline"


def test_the_json_holds_everything_and_can_be_read_back():
    for found in (asked(), asked(max_latency_ms=1), asked(max_memory_mb=1)):
        text = json.dumps(found.model_dump(mode="json"), allow_nan=False)
        assert Recommendation.model_validate_json(text) == found
