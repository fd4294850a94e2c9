"""A comparison pairs runs with their baselines by task and seed, and never mixes what does not belong together."""

from typing import Any

import pytest
from records import a_campaign, a_judged, a_ratio, a_step, an_entry, observed
from records import a_run as a_record

from workbench.campaign import Campaign
from workbench.compare import Comparison, current_runs, pairs_of
from workbench.line import Line, headline
from workbench.run import Run

COUNTER = iter(range(1_000_000))


def a_run(recipe: str = "baseline", seed: int = 0, task: str = "reviews", **changes: Any) -> Run:
    """A record, each younger than those before it."""
    number = next(COUNTER)
    made = {"created": f"2026-01-01T00:00:00.{number:06}+00:00", "fingerprint": f"{number:064}"}
    return a_record(f"run-{number}", recipe, seed=seed, task=task, **{**made, **changes})


def lines(*runs: Run, **more: Any) -> dict[tuple[str, str], Line]:
    return {(line.task, line.recipe): line for line in Comparison.of("s", runs, **more).lines}


def failed(recipe: str, message: str, **changes: Any) -> Run:
    return a_run(recipe, failure={"stage": "apply", "message": message}, **changes)


def value(line: Line, axis: str = "quality") -> float | None:
    found = line.delta(axis)
    return found.value if found else None


def kept(line: Line) -> float | None:
    return line.quality.times if line.quality else None


def test_a_line_says_what_was_kept_and_how_much_smaller_it_got():
    line = lines(
        a_run(measurements=observed(accuracy=0.9, disk=400, parameters=100)),
        a_run("drop", measurements=observed(accuracy=0.81, agreement=0.95, disk=100, parameters=50), steps=[a_step(2)]),
    )["reviews", "drop"]
    assert line.metric == "accuracy"
    assert (value(line), kept(line), line.agreement) == (0.81, pytest.approx(0.9), 0.95)
    assert (line.disk.value, line.disk.times, line.disk.verdict) == (100, 4, "better")
    assert (line.parameters.value, line.parameters.times) == (50, 2)
    assert line.seconds == 2


def test_the_baseline_keeps_all_of_itself():
    line = lines(a_run(measurements=observed(accuracy=0.9, disk=400)))["reviews", "baseline"]
    assert (kept(line), line.disk.times, line.disk.verdict, line.agreement, line.seconds) == (
        1,
        1,
        "equivalent",
        None,
        0,
    )


def test_numbers_are_means_over_seeds_and_time_is_their_sum():
    line = lines(
        a_run(seed=0, measurements=observed(accuracy=0.8, disk=400)),
        a_run(seed=1, measurements=observed(accuracy=0.6, disk=400)),
        a_run("drop", seed=0, measurements=observed(accuracy=0.4, disk=100), steps=[a_step(1), a_step(2)]),
        a_run("drop", seed=1, measurements=observed(accuracy=0.6, disk=300), steps=[a_step(3)]),
    )["reviews", "drop"]
    assert line.seeds == (0, 1)
    assert (value(line), kept(line)) == (pytest.approx(0.5), pytest.approx(0.5 / 0.7))
    assert line.disk.times == pytest.approx(400 / 200)
    assert line.seconds == 6


def test_a_seed_whose_baseline_is_missing_does_not_count():
    line = lines(
        a_run(seed=0, measurements=observed(accuracy=0.8)),
        a_run("drop", seed=0, measurements=observed(accuracy=0.4)),
        a_run("drop", seed=1, measurements=observed(accuracy=0.6)),
    )["reviews", "drop"]
    assert (value(line), kept(line)) == (pytest.approx(0.4), pytest.approx(0.5))


@pytest.mark.parametrize("base", [[], [failed("baseline", "no room")]])
def test_without_a_baseline_or_with_one_that_failed_there_is_no_share(base):
    line = lines(*base, a_run("drop", measurements=observed(accuracy=0.4, disk=3)))["reviews", "drop"]
    assert (value(line), kept(line), value(line, "disk"), line.disk.times) == (0.4, None, 3, None)
    assert (line.quality.verdict, line.disk.verdict) == (None, None)


def test_a_baseline_of_zero_gives_no_share():
    found = lines(a_run(measurements=observed(accuracy=0.0)), a_run("drop", measurements=observed(accuracy=0.4)))
    assert kept(found["reviews", "drop"]) is None


def test_a_failed_run_has_a_line_that_says_why_and_no_numbers():
    line = lines(a_run(measurements=observed(accuracy=0.9)), failed("drop", "[red] no room"))["reviews", "drop"]
    assert line.failures == ("[red] no room",)
    assert (line.seeds, line.quality, line.disk, line.seconds) == ((), None, None, 0)


def test_a_failure_that_was_made_good_later_is_not_told():
    line = lines(failed("drop", "once"), a_run("drop", measurements=observed(accuracy=0.5)))["reviews", "drop"]
    assert (line.failures, value(line)) == ((), 0.5)


def test_a_failure_of_one_seed_is_told_beside_the_numbers_of_another():
    found = lines(failed("drop", "no", seed=1), a_run("drop", seed=0, measurements=observed(accuracy=0.5)))
    line = found["reviews", "drop"]
    assert (line.seeds, value(line), line.failures) == ((0,), 0.5, ("no",))


def test_runs_of_other_studies_are_left_out():
    found = lines(a_run(study="other"), a_run(measurements=observed(accuracy=0.5)))
    assert value(found["reviews", "baseline"]) == 0.5
    nothing = Comparison.of("nothing", [a_run()])
    assert (nothing.lines, nothing.means, nothing.tasks, nothing.front()) == ((), (), [], {})


def test_tasks_are_not_mixed():
    found = lines(
        a_run(task="a", measurements=observed(accuracy=0.5)),
        a_run(task="b", measurements=observed(accuracy=1.0)),
        a_run("drop", task="b", measurements=observed(accuracy=0.5)),
    )
    assert kept(found["b", "drop"]) == 0.5
    assert value(found["a", "baseline"]) == 0.5


def test_lines_are_ordered_by_task_with_the_baseline_first_whatever_the_order_of_runs():
    runs = [a_run("drop", task="b"), a_run("drop", task="a"), a_run(task="b"), a_run(task="a"), a_run("more", task="a")]
    for given in (runs, runs[::-1]):
        shown = [(line.task, line.recipe) for line in Comparison.of("s", given).lines]
        assert [task for task, _ in shown] == ["a", "a", "a", "b", "b"]
        assert shown[0] == ("a", "baseline")
        assert shown[3] == ("b", "baseline")


def on_other_data(**changes: Any) -> dict[str, Any]:
    return {"data": {"source": "files", "fingerprint": "few", "rows": {"train": 5, "test": 1}, "limit": 5}, **changes}


def test_an_earlier_try_on_fewer_rows_is_not_averaged_with_the_later_one():
    runs = [
        a_run(**on_other_data(measurements=observed(accuracy=0.2))),
        a_run("drop", **on_other_data(measurements=observed(accuracy=0.1), steps=[a_step(50)])),
        a_run(measurements=observed(accuracy=0.9)),
        a_run("drop", measurements=observed(accuracy=0.8), steps=[a_step(1)]),
    ]
    told = [(line.recipe, value(line), kept(line), line.seconds) for line in Comparison.of("s", runs).lines]
    assert told == [("baseline", 0.9, 1, 0), ("drop", 0.8, pytest.approx(0.8 / 0.9), 1)]


def test_a_run_is_never_paired_with_a_baseline_on_other_rows():
    runs = [
        a_run("drop", **on_other_data(measurements=observed(accuracy=0.2))),
        a_run(measurements=observed(accuracy=0.8)),
    ]
    assert [line.recipe for line in Comparison.of("s", runs).lines] == ["baseline"]
    assert pairs_of(current_runs(runs[:1])) == {}


def test_of_a_run_made_twice_with_one_seed_the_newest_counts():
    line = lines(
        a_run(measurements=observed(accuracy=0.2)),
        a_run(measurements=observed(accuracy=0.8)),
    )["reviews", "baseline"]
    assert (value(line), kept(line)) == (0.8, 1)


def test_current_runs_of_current_runs_are_the_same():
    runs = [a_run(), a_run(), failed("drop", "no"), a_run("drop"), a_run("drop", **on_other_data(task="b"))]
    current = current_runs(runs)
    assert current_runs(current) == current
    assert len(current) == 4


def test_each_run_is_paired_with_the_baseline_of_its_seed_and_the_baseline_with_itself():
    base, other, drop = a_run(), a_run(seed=1), a_run("drop", seed=1)
    assert pairs_of([base, other, drop, failed("more", "no")]) == {
        ("reviews", "baseline"): [(base, base), (other, other)],
        ("reviews", "drop"): [(drop, other)],
    }


def test_the_headline_is_the_first_metric_averaged_over_the_parts_of_the_test():
    run = a_run(measurements=observed(accuracy__matched=0.8, accuracy__mismatched=0.6, f1=0.1, agreement=1.0))
    assert headline(run) == pytest.approx(0.7)
    assert headline(a_run(metrics=["f1"], measurements=observed(accuracy=0.8, f1=0.1))) == 0.1
    assert headline(a_run(measurements=observed(disk=3))) is None


def on_tasks(*p_values: float, verdict: str = "worse") -> dict[str, Line]:
    """A recipe that was judged on as many tasks as there are p."""
    names = [f"task-{number}" for number in range(len(p_values))]
    runs = [a_run(recipe, task=task) for task in names for recipe in ("baseline", "drop")]
    judged = {(task, "drop"): a_judged(p=p, verdict=verdict) for task, p in zip(names, p_values, strict=True)}
    judged |= {(task, "baseline"): a_judged(p=1.0, verdict="equivalent") for task in names}
    return {task: line for (task, recipe), line in lines(*runs, judged=judged).items() if recipe == "drop"}


def test_p_is_adjusted_over_the_tasks_of_a_recipe_and_what_is_left_of_it_decides_the_word():
    found = on_tasks(0.01, 0.03, 0.04)
    assert [line.p_adjusted for line in found.values()] == pytest.approx([0.03, 0.06, 0.06])
    assert [line.quality.verdict for line in found.values()] == ["worse", "unclear", "unclear"]
    assert [line.judged.verdict for line in found.values()] == ["worse"] * 3
    assert "looking at several tasks" in found["task-1"].caveats[0]


def test_better_is_held_to_the_same_and_equivalent_is_not_asked():
    assert [line.quality.verdict for line in on_tasks(0.03, 0.04, verdict="better").values()] == ["unclear"] * 2
    assert [line.quality.verdict for line in on_tasks(0.9, 0.8, verdict="equivalent").values()] == ["equivalent"] * 2


def test_exactly_at_the_bound_a_difference_is_unclear():
    assert [line.quality.verdict for line in on_tasks(0.025, 0.05).values()] == ["unclear", "unclear"]


def test_one_task_alone_is_left_as_it_was_judged():
    (line,) = on_tasks(0.2).values()
    assert (line.p_adjusted, line.quality.verdict) == (0.2, "worse")


def test_the_baseline_is_not_tested_against_itself():
    runs = [a_run(task=task) for task in "ab"]
    judged = {(task, "baseline"): a_judged(p=1.0, verdict="equivalent") for task in "ab"}
    assert [line.p_adjusted for line in lines(*runs, judged=judged).values()] == [None, None]


def test_several_tasks_have_means_of_the_recipes_that_all_of_them_have():
    runs = [
        a_run(task="a", measurements=observed(accuracy=0.9)),
        a_run("drop", task="a", measurements=observed(accuracy=0.7)),
        a_run("more", task="a", measurements=observed(accuracy=0.5)),
        a_run(task="b", measurements=observed(accuracy=0.5)),
        a_run("drop", task="b", measurements=observed(accuracy=0.4)),
        failed("more", "no", task="b"),
    ]
    found = Comparison.of("s", runs)
    assert [(line.recipe, value(line)) for line in found.means] == [
        ("baseline", pytest.approx(0.7)),
        ("drop", pytest.approx(0.55)),
    ]
    assert found.of_task(None) == list(found.means)
    assert [line.recipe for line in found.of_task("b")] == ["baseline", "drop", "more"]
    assert found.tasks == ["a", "b"]


def test_one_task_has_no_means_and_stands_for_itself():
    found = Comparison.of("s", [a_run(measurements=observed(accuracy=0.9))])
    assert found.means == ()
    assert found.of_task(None) == list(found.lines)


def test_tasks_that_have_no_recipe_in_common_are_never_taken_for_one():
    found = Comparison.of(
        "s", [a_run(task="a", measurements=observed(accuracy=0.9)), failed("baseline", "no", task="b")]
    )
    assert found.of_task(None) == []
    assert found.front() == {}


def timed(campaign_id: str, *runs: Run, faster: float = 2.0, **changes: Any) -> Campaign:
    """A campaign over some runs; the first is the baseline."""
    base, *others = runs
    entries = [an_entry(run.recipe.name, a_ratio(faster), run=run.id) for run in others]
    plain = a_campaign(*entries, id=campaign_id, task=base.task, **changes)
    first = plain.entries[0].model_copy(update={"run": base.id})
    return plain.model_copy(update={"entries": (first, *plain.entries[1:])})


def campaigns_of(runs: list[Run], *campaigns: Campaign) -> dict[str, str | None]:
    return {line.recipe: line.campaign for line in Comparison.of("s", runs, campaigns=campaigns).lines}


BASE, DROP, MORE = a_run(), a_run("drop"), a_run("more")
RUNS = [BASE, DROP, MORE]


def test_the_newest_campaign_over_all_runs_is_taken():
    first, second = timed("first", *RUNS), timed("second", *RUNS, faster=3.0)
    assert campaigns_of(RUNS, first, second) == {"baseline": "second", "drop": "second", "more": "second"}
    found = Comparison.of("s", RUNS, campaigns=[first, second])
    assert found.lines[1].latency.times == 3.0
    assert found.campaigns == ("first", "second")


def test_a_later_look_at_some_runs_does_not_tear_the_table_apart():
    assert campaigns_of(RUNS, timed("all", *RUNS), timed("some", BASE, DROP)) == dict.fromkeys(
        ["baseline", "drop", "more"], "all"
    )


def test_what_was_timed_apart_stands_in_the_table_and_says_so():
    found = Comparison.of("s", RUNS, campaigns=[timed("one", BASE, MORE), timed("other", BASE, DROP)])
    assert [(line.recipe, line.campaign) for line in found.lines] == [
        ("baseline", "other"),
        ("drop", "other"),
        ("more", "one"),
    ]
    apart = [line.recipe for line in found.lines if any("timed apart" in caveat for caveat in line.caveats)]
    assert apart == ["more"]


def test_timings_with_other_threads_are_not_mixed_in():
    other = timed("two threads", BASE, MORE, settings={"threads": 2})
    assert campaigns_of(RUNS, other, timed("one thread", BASE, DROP)) == {
        "baseline": "one thread",
        "drop": "one thread",
        "more": None,
    }


def test_a_sound_control_is_rather_taken_than_a_faulty_one():
    faulty = timed("faulty", *RUNS, control=a_ratio(1.3))
    assert campaigns_of(RUNS, timed("sound", *RUNS), faulty)["drop"] == "sound"
    assert campaigns_of(RUNS, faulty)["drop"] == "faulty"


def test_a_campaign_that_timed_is_rather_taken_than_one_that_only_weighed():
    weighed = timed("weighed", *RUNS, rounds=[])
    assert campaigns_of(RUNS, timed("timed", *RUNS), weighed)["drop"] == "timed"


def test_an_entry_that_failed_is_looked_for_elsewhere():
    whole = timed("whole", *RUNS)
    broken = timed("broken", *RUNS)
    entries = [
        entry.model_copy(update={"measurements": (), "ratio": None, "failure": "it crashed"})
        if entry.run == MORE.id
        else entry
        for entry in broken.entries
    ]
    broken = broken.model_copy(update={"entries": tuple(entries)})
    assert campaigns_of(RUNS, timed("early", BASE, MORE), broken) == {
        "baseline": "broken",
        "drop": "broken",
        "more": "early",
    }
    assert campaigns_of(RUNS, whole, broken)["more"] == "whole"


def test_the_front_is_of_quality_speed_and_size_unless_others_are_asked_for():
    sizes = {"baseline": 100, "drop": 50, "more": 200}
    runs = [
        run.model_copy(
            update={
                "measurements": a_run(measurements=observed(accuracy=0.5, disk=sizes[run.recipe.name])).measurements
            }
        )
        for run in RUNS
    ]
    found = Comparison.of("s", runs, campaigns=[timed("all", *RUNS)])
    assert set(found.front()) == {"baseline", "drop", "more"}
    assert found.front("reviews", ("quality", "disk")) == {"baseline": "tied", "drop": "front", "more": "tied"}
    assert found.front("nowhere") == {}


def test_remarks_come_before_caveats():
    found = Comparison.of("s", [a_run(measurements=observed(accuracy=0.9))], remarks=["first"])
    assert found.caveats[0] == "first"
    assert found.caveats[1].startswith("one seed only")


def test_a_comparison_is_read_back_from_its_json_as_it_was():
    found = Comparison.of("s", RUNS, {("reviews", "drop"): a_judged()}, [timed("all", *RUNS)])
    assert Comparison.model_validate_json(found.model_dump_json()) == found
