"""The front holds what nothing else measured better than, and a line falls behind only beyond doubt."""

import itertools

import numpy as np
import pytest
from records import a_line, a_quality, a_time

from workbench.delta import Delta
from workbench.pareto import standings

TWO = ("quality", "disk")
THREE = ("quality", "latency", "disk")


def a_baseline(quality: float = 0.8, ms: float = 20.0, disk: float = 100e6):
    time = Delta(metric="latency", unit="ms", better="lower", value=ms, base=ms, low=ms, high=ms)
    return a_line("baseline", a_quality(quality, 0.0), latency=time, disk=disk)


def test_two_axes_and_no_doubt():
    lines = [a_baseline(), a_line("small", 0.7, disk=20e6), a_line("poor", 0.6, disk=50e6)]
    assert standings(lines, TWO) == {"baseline": "front", "small": "front", "poor": "dominated"}


def test_a_third_axis_can_bring_a_line_back_to_the_front():
    lines = [a_baseline(), a_line("small", 0.7, 15, disk=20e6), a_line("fast", 0.6, 5, disk=50e6)]
    assert standings(lines, TWO)["fast"] == "dominated"
    assert standings(lines, THREE) == {"baseline": "front", "small": "front", "fast": "front"}


def test_the_baseline_takes_part_and_can_be_dominated():
    lines = [a_baseline(), a_line("all-better", 0.83, 5, disk=20e6), a_line("all-worse", 0.75, 25, disk=110e6)]
    assert standings(lines, THREE) == {"baseline": "dominated", "all-better": "front", "all-worse": "dominated"}


def test_what_is_worse_within_doubt_is_tied():
    lines = [a_baseline(), a_line("one", 0.700, 10, disk=20e6), a_line("other", 0.695, 11, disk=25e6)]
    assert standings(lines, THREE)["other"] == "tied"


@pytest.mark.parametrize("axis", ["quality", "latency"])
def test_one_axis_in_doubt_is_enough_to_be_tied(axis):
    clear = {"quality": a_quality(0.6), "latency": a_time(15), "disk": 50e6}
    near = {"quality": a_quality(0.695), "latency": a_time(10.1)}
    best = a_line("best", 0.7, 10, disk=20e6)
    assert standings([best, a_line("clear", **clear)], THREE)["clear"] == "dominated"
    assert standings([best, a_line("near", **{**clear, axis: near[axis]})], THREE)["near"] == "tied"


def test_counted_sizes_that_are_equal_keep_nobody_from_dominating():
    lines = [a_line("quick", 0.7, 10, disk=20e6), a_line("slow", 0.6, 15, disk=20e6)]
    assert standings(lines, THREE) == {"quick": "front", "slow": "dominated"}


def test_what_measured_exactly_alike_is_on_the_front_together():
    lines = [a_line("one", 0.7, 10, disk=20e6), a_line("other", 0.7, 10, disk=20e6)]
    assert standings(lines, THREE) == {"one": "front", "other": "front"}


def test_equal_answers_and_less_of_everything_else_dominate():
    """An exported graph answers to the last bit like its baseline."""
    lines = [a_baseline(), a_line("graph", a_quality(0.8, 0.0), 10, disk=90e6)]
    assert standings(lines, THREE) == {"baseline": "dominated", "graph": "front"}


def test_a_line_that_was_not_measured_on_an_axis_is_left_out_and_dominates_nobody():
    lines = [a_baseline(), a_line("untimed", 0.9, disk=1e6), a_line("failed", None), a_line("slow", 0.7, 25, disk=90e6)]
    assert standings(lines, THREE) == {"baseline": "front", "slow": "front"}
    assert standings(lines, TWO)["slow"] == "dominated"


@pytest.mark.parametrize(
    "unsure",
    [
        {"quality": a_quality(0.9, reach=None)},
        {"latency": a_time(5, doubted=True)},
        {"latency": Delta(metric="latency", unit="ms", better="lower", value=5, base=20)},
    ],
)
def test_what_nobody_knows_the_doubt_of_dominates_nobody_and_is_dominated_by_nobody(unsure):
    best = {"quality": a_quality(0.9), "latency": a_time(5), "disk": 20e6}
    worst = a_line("worst", 0.5, 19, disk=90e6)
    assert standings([a_line("best", **best), worst], THREE)["worst"] == "dominated"
    assert standings([a_line("best", **{**best, **unsure}), worst], THREE)["worst"] == "tied"
    hopeless = a_line("hopeless", **{"quality": a_quality(0.4), "latency": a_time(19), "disk": 95e6, **_worse(unsure)})
    assert standings([a_line("best", **best), hopeless], THREE)["hopeless"] == "tied"


def _worse(unsure: dict[str, Delta]) -> dict[str, Delta]:
    return {
        axis: delta.model_copy(update={"value": {"quality": 0.4, "latency": 19}[axis]})
        for axis, delta in unsure.items()
    }


def test_two_of_which_nobody_knows_the_doubt_are_not_taken_for_exact():
    lines = [a_line("one", a_quality(0.9, None), disk=20e6), a_line("other", a_quality(0.5, None), disk=90e6)]
    assert standings(lines, TWO) == {"one": "front", "other": "tied"}


def test_without_lines_there_is_no_front():
    assert standings([], THREE) == {}


def test_the_front_is_what_a_plain_search_finds_where_nothing_is_in_doubt():
    chance = np.random.default_rng(3)
    points = chance.integers(1, 12, (25, 3)).astype(float)
    lines = [
        a_line(f"r{n}", a_quality(q / 20, 0.0), latency=Delta.counted("latency", "ms", t, 20.0), disk=1e6 * d)
        for n, (q, t, d) in enumerate(points)
    ]
    behind = {
        f"r{n}"
        for n, m in itertools.permutations(range(25), 2)
        if all(np.array([1, -1, -1]) * points[m] >= np.array([1, -1, -1]) * points[n]) and any(points[m] != points[n])
    }
    found = standings(lines, THREE)
    assert {name for name, standing in found.items() if standing != "front"} == behind
    assert {name for name, standing in found.items() if standing == "dominated"} == behind
