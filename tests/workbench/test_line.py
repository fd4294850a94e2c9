"""A line holds what was measured of a recipe beside its baseline, and the mean of lines what they have in common."""

from typing import Any

import pytest
from records import (
    a_campaign,
    a_failed_run,
    a_judged,
    a_line,
    a_quality,
    a_ratio,
    a_run,
    a_step,
    a_time,
    an_entry,
    observed,
)

from workbench.campaign import Campaign
from workbench.delta import Delta
from workbench.judged import Judged
from workbench.line import AXES, Line, mean_line, task_line
from workbench.run import Run

BASE = a_run("base", measurements=observed(accuracy=0.8, disk=100, parameters=40, macs=9))


def drop(run_id: str = "drop", seed: int = 0, **changes: Any) -> Run:
    values = {"accuracy": 0.7, "disk": 25, "parameters": 10, "parameters__zeroed": 2, "macs": 3, "agreement": 0.9}
    return a_run(run_id, "drop", seed=seed, **{"measurements": observed(**values), **changes})


def line_of(*runs: Run, judged: Judged | None = None, campaign: Campaign | None = None, base: Run = BASE) -> Line:
    done = [run for run in runs if not run.failure]
    return task_line(runs, [(run, base) for run in done], judged, campaign)


def timed(entry_changes: dict[str, Any] | None = None, interval=(9.0, 11.0), **changes: Any) -> Campaign:
    """A campaign in which the baseline takes 20 ms and 100 MB, and the run called drop 10 ms and 60 MB."""
    base = an_entry("baseline", a_ratio(1, 0.0), {"latency": 20.0, "memory": 100e6}, run="base")
    facts = {"ratio": a_ratio(2.0), "run": "drop", **(entry_changes or {})}
    entry = an_entry("drop", measured={"latency": 10.0, "memory": 60e6}, **facts)
    if entry.measurements:
        latency = entry.measurements[0].model_copy(update={"interval": interval})
        entry = entry.model_copy(update={"measurements": (latency, *entry.measurements[1:])})
    plain = a_campaign(entry, **changes)
    return plain.model_copy(update={"entries": (base, *plain.entries[1:])})


def test_a_line_tells_what_was_measured_and_what_it_was_made_of():
    artifact = {"runtime": "onnxruntime", "portable": False, "files": {}}
    line = line_of(drop(artifact=artifact, steps=[a_step(2), a_step(3)]))
    assert (line.task, line.recipe, line.metric, line.seeds, line.runs) == (
        "reviews",
        "drop",
        "accuracy",
        (0,),
        ("drop",),
    )
    assert (line.runtime, line.portable, line.seconds, line.agreement) == ("onnxruntime", False, 5, 0.9)
    assert (line.disk.value, line.disk.base, line.disk.times, line.disk.verdict) == (25, 100, 4, "better")
    assert (line.parameters.times, line.macs.times) == (4, 3)
    assert line.zeroed == pytest.approx(0.2)
    assert [line.delta(axis) for axis in AXES] == [
        line.quality,
        line.latency,
        line.memory,
        line.disk,
        line.parameters,
        line.macs,
    ]
    assert line.delta("seeds") is None


def test_a_judged_quality_has_intervals_beside_the_baseline_and_by_itself():
    judged = a_judged()
    quality = line_of(drop(), judged=judged).quality
    assert (quality.value, quality.base, quality.verdict) == (0.79, 0.8, "unclear")
    assert (quality.low, quality.high) == pytest.approx((0.77, 0.81))
    assert quality.alone == judged.alone


def test_a_quality_that_was_not_judged_has_a_value_and_no_doubt_that_anybody_knows():
    quality = line_of(drop()).quality
    assert (quality.value, quality.base, quality.low, quality.alone, quality.verdict) == (0.7, 0.8, None, None, None)
    assert not quality.known


def test_beside_itself_the_baseline_stands_fast_though_nobody_judged_it():
    quality = line_of(BASE).quality
    assert (quality.value, quality.low, quality.high, quality.times) == (0.8, 0.8, 0.8, 1)
    assert quality.alone is None


def test_a_line_without_baseline_has_values_alone():
    line = task_line([drop()], [], None, None)
    assert (line.quality.value, line.quality.base, line.quality.known) == (0.7, None, False)
    assert (line.disk.value, line.disk.base, line.disk.verdict) == (25, None, None)


def test_only_seeds_that_have_a_baseline_are_averaged():
    other = drop("other", 1, measurements=observed(accuracy=0.1, disk=99))
    line = task_line([drop(), other], [(drop(), BASE)], None, None)
    assert (line.quality.value, line.disk.value, line.seeds) == (0.7, 25, (0, 1))


def test_runs_are_told_in_the_order_of_their_seeds():
    assert line_of(drop("late", 2), drop("early", 1)).runs == ("early", "late")


def test_a_failed_recipe_has_its_failure_and_no_numbers():
    line = line_of(a_failed_run("x", "drop", "no room"))
    assert (line.failures, line.seeds, line.runs, line.runtime) == (("no room",), (), (), None)
    assert [line.delta(axis) for axis in AXES] == [None] * 6
    assert (line.zeroed, line.agreement, line.seconds) == (None, None, 0)


def test_a_failure_that_was_made_good_is_not_told_and_another_seeds_is():
    line = line_of(a_failed_run("x", "drop", "once"), a_failed_run("y", "drop", "no room", seed=1), drop())
    assert line.failures == ("no room",)


def test_without_parameters_nothing_is_zeroed():
    assert line_of(drop(measurements=observed(accuracy=0.5, parameters__zeroed=0))).zeroed is None


def test_a_timed_line_has_the_ratio_of_its_campaign_and_its_interval():
    line = line_of(drop(), campaign=timed())
    assert (line.campaign, line.entry) == ("reviews-1", "drop")
    latency = line.latency
    assert (latency.value, latency.base, latency.times, latency.verdict) == (10, 20, 2, "better")
    assert (latency.low, latency.high) == pytest.approx((10 / 1.02, 10.2))
    assert (latency.alone, latency.known) == ((9, 11), True)


def test_memory_is_compared_within_what_another_process_would_take():
    memory = line_of(drop(), campaign=timed()).memory
    assert (memory.value, memory.base, memory.verdict, memory.within) == (60e6, 100e6, "better", 0.05)


def test_the_baseline_is_exactly_once_as_fast_as_itself():
    latency = line_of(BASE, campaign=timed()).latency
    assert (latency.value, latency.low, latency.high, latency.times, latency.verdict) == (20, 20, 20, 1, None)
    assert latency.known


def test_wrong_answers_leave_a_speed_unclear_and_nothing_beyond_doubt():
    wrong = {"answers": {"timed": 8, "differing": 1, "beyond_rounding": 1}}
    latency = line_of(drop(), campaign=timed(wrong)).latency
    assert (latency.verdict, latency.doubted, latency.known) == ("unclear", True, False)


def test_without_a_control_every_speed_is_unclear_and_in_doubt():
    for run, verdict in ((drop(), "unclear"), (BASE, None)):
        latency = line_of(run, campaign=timed(control=None)).latency
        assert (latency.verdict, latency.doubted) == (verdict, True)


@pytest.mark.parametrize(("noise", "word"), [(1.2, "better"), (2.1, "unclear")])
def test_a_noisy_control_widens_what_a_time_may_be(noise, word):
    control = a_ratio(noise, 0.0)
    latency = line_of(drop(), campaign=timed(control=control)).latency
    assert (latency.low, latency.high) == pytest.approx((10 / 1.02 / noise, 10.2 * noise))
    assert latency.alone == pytest.approx((9 / noise, 11 * noise))
    assert (latency.verdict, latency.paired.low) == (word, pytest.approx(2 / 1.02))


def test_one_process_alone_gives_a_time_but_no_interval():
    latency = line_of(drop(), campaign=timed({"ratio": None}, interval=None)).latency
    assert (latency.value, latency.base, latency.times, latency.verdict) == (10, 20, 2, None)
    assert not latency.known


def test_an_entry_that_failed_leaves_no_time():
    line = line_of(drop(), campaign=timed({"measurements": [], "ratio": None, "failure": "it crashed"}))
    assert (line.latency, line.memory) == (None, None)


def test_a_campaign_that_only_weighed_leaves_no_time():
    weighed = [{"metric": "memory", "unit": "bytes", "better": "lower", "values": [60e6]}]
    line = line_of(drop(), campaign=timed({"measurements": weighed, "ratio": None}, interval=None))
    assert (line.latency, line.memory.value) == (None, 60e6)


def test_a_campaign_of_other_runs_says_nothing():
    line = line_of(drop("another"), campaign=timed())
    assert (line.campaign, line.latency, line.memory) == (None, None, None)


def on(task: str, quality: Delta | None, **changes: Any) -> Line:
    return a_line("drop", quality, **{"task": task, "latency": a_time(10), "disk": 50e6, **changes})


def test_a_mean_line_averages_qualities_plainly_and_the_rest_geometrically():
    line = mean_line(
        [
            on("a", a_quality(0.9, base=1.0), agreement=0.9, seconds=1, runs=("x",)),
            on(
                "b",
                a_quality(0.5, base=0.6),
                latency=a_time(20, base=80),
                agreement=0.7,
                seconds=2,
                runs=("y", "z"),
                seeds=(0, 1),
            ),
        ]
    )
    assert (line.task, line.recipe, line.metric) == ("all tasks", "drop", "mean of accuracy")
    assert (line.quality.value, line.quality.base) == (pytest.approx(0.7), pytest.approx(0.8))
    assert (line.latency.value, line.latency.base) == (pytest.approx(200**0.5), pytest.approx(40))
    assert line.latency.times == pytest.approx(8**0.5)
    assert (line.disk.value, line.disk.times, line.disk.verdict) == (pytest.approx(50e6), pytest.approx(2), "better")
    assert (line.agreement, line.seconds, line.seeds, line.runs) == (pytest.approx(0.8), 3, (0, 1), ("x", "y", "z"))


@pytest.mark.parametrize(
    ("value", "reach", "word"),
    [(0.80, 0.005, "equivalent"), (0.80, 0.05, "unclear"), (0.70, 0.05, "worse"), (0.90, 0.05, "better")],
)
def test_the_mean_of_qualities_has_a_word_of_its_own(value, reach, word):
    line = mean_line([on("a", a_quality(value, reach)), on("b", a_quality(value, reach))])
    assert line.quality.verdict == word


def test_what_no_single_task_can_tell_several_may_tell_together():
    each = a_quality(0.78, 0.025, verdict="unclear")
    assert mean_line([on("a", each), on("b", each)]).quality.verdict == "worse"
    slow = a_time(19.2, 0.05)
    assert slow.verdict == "unclear"
    four = mean_line([on(task, each, latency=slow) for task in "abcd"])
    assert four.latency.verdict == "better"


def test_a_mean_over_a_speed_in_doubt_is_unclear():
    doubted = a_time(10, doubted=True)
    line = mean_line([on("a", None, latency=a_time(10)), on("b", None, latency=doubted)])
    assert (line.latency.verdict, line.latency.known) == ("unclear", False)


def test_a_mean_over_noisy_campaigns_tells_only_what_exceeds_the_noise():
    noisy = Delta.timed("latency", "ms", 10.0, 20.0, a_ratio(2.0), "unclear", noise=3.0)
    assert mean_line([on("a", None, latency=noisy), on("b", None, latency=noisy)]).latency.verdict == "unclear"
    assert mean_line([on("a", None), on("b", None)]).latency.verdict == "better"


def test_the_mean_of_the_baseline_has_no_word_for_its_speed():
    time = Delta(metric="latency", unit="ms", better="lower", value=20, base=20, low=20, high=20)
    line = mean_line([on("a", a_quality(0.8, 0.0), latency=time), on("b", a_quality(0.8, 0.0), latency=time)])
    assert (line.latency.verdict, line.latency.times, line.latency.known) == (None, pytest.approx(1), True)
    assert line.quality.verdict == "equivalent"


def test_what_one_task_lacks_the_mean_lacks():
    line = mean_line([on("a", a_quality(0.8)), on("b", a_quality(0.8), latency=None, portable=True)])
    assert (line.latency, line.memory, line.portable) == (None, None, None)
    assert mean_line([on("a", None, portable=True), on("b", None, portable=False)]).portable is False


def test_a_mean_names_every_metric_it_is_of():
    line = mean_line([on("a", a_quality(0.8)), on("b", a_quality(0.4), metric="matthews"), on("c", a_quality(0.8))])
    assert line.metric == line.quality.metric == "mean of accuracy, matthews"


def test_a_mean_brings_the_caveats_of_its_tasks_along():
    line = mean_line([on("a", None, caveats=("odd",)), on("b", None), on("c", None, caveats=("few", "old"))])
    assert line.caveats == ("a: odd", "c: few", "c: old")


def test_the_mean_of_memory_is_as_unsure_as_memory_is():
    memory = Delta.counted("memory", "bytes", 96, 100, 0.05)
    line = mean_line([on("a", None, memory=memory), on("b", None, memory=memory)])
    assert (line.memory.verdict, line.memory.within) == ("equivalent", 0.05)
