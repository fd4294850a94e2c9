"""Runs are chosen by what they are, and what no run has is told beside what is there."""

import pytest
from records import a_run

from workbench.errors import UnknownNameError
from workbench.run_filter import RunFilter
from workbench.run_index import RunHead


def head(run_id: str, **changes: object) -> RunHead:
    return RunHead.of(run_id, a_run(run_id, **changes))


FAILURE = {"stage": "apply", "message": "no room"}
HEADS = [
    head("base", study="one"),
    head("drop", recipe="drop", study="one", seed=1),
    head("topic", recipe="drop", study="two", task="topics"),
    head("fail", recipe="int8", study="two", failure=FAILURE),
]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["base", "drop", "topic", "fail"]),
        ({"study": ("one",)}, ["base", "drop"]),
        ({"study": ("one", "two")}, ["base", "drop", "topic", "fail"]),
        ({"study": ("two",), "task": ("topics",)}, ["topic"]),
        ({"recipe": ("drop", "int8"), "seed": (0,)}, ["topic", "fail"]),
        ({"status": ("failed",)}, ["fail"]),
        ({"study": ("one",), "status": ("failed",)}, []),
    ],
)
def test_a_run_must_have_one_of_the_values_of_every_fact(wanted, expected):
    assert [found.id for found in RunFilter(**wanted).chosen(HEADS)] == expected


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"study": ("oen",)}, "no run with study 'oen'; did you mean 'one'? known: one, two"),
        ({"task": ("reviews", "topic")}, "no run with task 'topic'; did you mean 'topics'? known: reviews, topics"),
        ({"recipe": ("zebra",)}, "no run with recipe 'zebra'; known: baseline, drop, int8"),
        ({"seed": (4,)}, "no run with seed '4'; known: 0, 1"),
    ],
)
def test_a_value_that_no_run_has_is_answered_with_those_that_are_there(wanted, said):
    with pytest.raises(UnknownNameError) as error:
        RunFilter(**wanted).chosen(HEADS)
    assert str(error.value) == said


def test_no_run_need_have_failed_to_be_asked_for_failures():
    assert RunFilter(status=("failed",)).chosen(HEADS[:2]) == []


def test_a_filter_can_be_spoken():
    assert str(RunFilter()) == ""
    assert str(RunFilter(study=("a",), seed=(1, 2))) == " with study a and seed 1 or 2"
