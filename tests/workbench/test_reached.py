"""A goal is met, missed or open as the measured numbers say, and shown only where doubt allows."""

import pytest
from records import a_judged, a_line, a_quality, a_time

from workbench.delta import Delta
from workbench.goal import Goal
from workbench.line import Line
from workbench.reached import Reached, reached


def a_disk(value: float) -> Delta:
    return Delta.counted("disk", "bytes", value, 90e6)


def a_measured_line(recipe: str = "drop", task: str = "reviews", **changes) -> Line:
    facts = {
        "quality": a_quality(0.79, 0.005),
        "latency": a_time(4.0),
        "disk": a_disk(10e6),
        "judged": a_judged(largest_share=0.97),
        "campaign": "c1",
    }
    given = {**facts, **changes}
    line = a_line(recipe, given.pop("quality"), judged=given.pop("judged"))
    return line.model_copy(update={"task": task, **given})


def only(goal: Goal, *lines: Line) -> Reached:
    (found,) = reached([goal], lines)
    return found


@pytest.mark.parametrize(("asked", "met", "sure"), [(4.0, True, True), (4.95, True, False), (5.1, False, False)])
def test_speed_is_met_by_its_value_and_shown_by_its_interval(asked, met, sure):
    found = only(Goal(recipe="drop", faster=asked), a_measured_line())
    assert (found.value, found.met, found.sure) == (pytest.approx(5.0), met, sure)
    assert found.low < 5 < found.high


@pytest.mark.parametrize(("asked", "met"), [(9.0, True), (9.1, False)])
def test_size_is_counted_and_therefore_sure(asked, met):
    found = only(Goal(recipe="drop", smaller=asked), a_measured_line())
    assert (found.value, found.met, found.sure) == (pytest.approx(9.0), met, met)


@pytest.mark.parametrize(("asked", "met", "sure"), [(0.96, True, True), (0.98, True, False), (0.99, False, False)])
def test_a_share_of_quality_is_shown_as_the_judgement_shows_it(asked, met, sure):
    found = only(Goal(recipe="drop", keeps=asked), a_measured_line())
    assert (found.value, found.met, found.sure) == (pytest.approx(0.79 / 0.8), met, sure)


@pytest.mark.parametrize(("asked", "met", "sure"), [(1.9, True, True), (1.999, True, False), (2.1, False, False)])
def test_another_recipe_is_beaten_by_the_ratio_of_both_with_the_doubts_of_both(asked, met, sure):
    other = a_measured_line("int8", latency=a_time(8.0))
    mine, theirs = (only(Goal(recipe="drop", faster=1), a_measured_line()), only(Goal(recipe="int8", faster=1), other))
    found = only(Goal(recipe="drop", faster_than={"int8": asked}), a_measured_line(), other)
    assert (found.value, found.met, found.sure, found.other) == (pytest.approx(2.0), met, sure, "int8")
    assert found.high / found.low > max(each.high / each.low for each in (mine, theirs))


def test_times_of_different_campaigns_are_not_held_against_each_other():
    other = a_measured_line("int8", campaign="c2")
    found = only(Goal(recipe="drop", faster_than={"int8": 1.0}), a_measured_line(), other)
    assert (found.value, found.met, found.sure) == (None, None, False)


@pytest.mark.parametrize(("theirs", "met"), [(0.785, True), (0.79, True), (0.795, False)])
def test_quality_is_no_worse_where_its_value_is_no_less(theirs, met):
    other = a_measured_line("int8", quality=a_quality(theirs, 0.005))
    found = only(Goal(recipe="drop", no_worse_than=("int8",)), a_measured_line(), other)
    assert found.met is met
    assert found.value == pytest.approx(0.79 / theirs)


def test_what_was_not_measured_or_not_made_is_open():
    bare = a_line("drop", None).model_copy(update={"task": "reviews"})
    goal = Goal(recipe="drop", faster=1, smaller=1, keeps=1, faster_than={"int8": 1}, no_worse_than=("int8",))
    for lines in ([bare], [a_measured_line("int8")]):
        found = reached([goal], lines)
        assert [each.aim for each in found] == ["faster", "smaller", "keeps", "faster than", "no worse than"]
        assert {(each.value, each.met, each.sure) for each in found} == {(None, None, False)}


def test_a_goal_holds_for_its_tasks_alone_or_for_all():
    lines = [a_measured_line(task=task) for task in ("sst2", "mrpc")]
    assert [found.task for found in reached([Goal(recipe="drop", smaller=1)], lines)] == ["sst2", "mrpc"]
    assert [found.task for found in reached([Goal(recipe="drop", smaller=1, tasks=("mrpc",))], lines)] == ["mrpc"]
