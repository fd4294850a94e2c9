"""A comparison pairs runs with their baselines by task and seed, and never mixes what does not belong together."""

from typing import Any

import pytest

from workbench.compare import Comparison, Line, headline
from workbench.run import Run

ENVIRONMENT = {"system": "Linux", "machine": "x86_64", "python": "3.11", "cores": 2, "versions": {}}
COUNTER = iter(range(1_000_000))


def measured(**values: float) -> list[dict[str, Any]]:
    return [
        {"metric": name.replace("__", "/"), "unit": "score", "better": "higher", "values": [value]}
        for name, value in values.items()
    ]


def a_run(recipe: str = "baseline", seed: int = 0, task: str = "reviews", **changes: Any) -> Run:
    """A record, each younger than those before it."""
    number = next(COUNTER)
    steps = [] if recipe == "baseline" else [{"use": "layer-drop", "options": {"keep": [0]}}]
    facts: dict[str, Any] = {
        "id": f"run-{number}",
        "fingerprint": f"{number:064}",
        "study": "s",
        "recipe": {"name": recipe, "steps": steps},
        "task": task,
        "metrics": ["accuracy"],
        "seed": seed,
        "created": f"2026-01-01T00:00:00.{number:06}+00:00",
        "command": "",
        "environment": ENVIRONMENT,
        "data": {"source": "files", "fingerprint": "d", "rows": {"train": 10, "test": 2}},
    }
    return Run.model_validate({**facts, **changes})


def lines(*runs: Run) -> dict[tuple[str, str], Line]:
    return {(line.task, line.recipe): line for line in Comparison.of("s", runs).lines}


def step(seconds: float) -> dict[str, Any]:
    cost = {"wall_seconds": seconds, "cpu_seconds": seconds}
    return {"use": "layer-drop", "options": {}, "provider": "p", "version": "1", "detail": {}, "cost": cost}


def failed(recipe: str, message: str, **changes: Any) -> Run:
    return a_run(recipe, failure={"stage": "apply", "message": message}, **changes)


def test_a_line_says_what_was_kept_and_how_much_smaller_it_got():
    line = lines(
        a_run(measurements=measured(accuracy=0.9, disk=400, parameters=100)),
        a_run("drop", measurements=measured(accuracy=0.81, agreement=0.95, disk=100, parameters=50), steps=[step(2)]),
    )["reviews", "drop"]
    assert line.metric == "accuracy"
    assert line.quality == 0.81
    assert line.share == pytest.approx(0.9)
    assert line.agreement == 0.95
    assert (line.disk_bytes, line.disk_ratio) == (100, 4)
    assert (line.parameters, line.parameters_ratio) == (50, 2)
    assert line.seconds == 2


def test_the_baseline_keeps_all_of_itself():
    line = lines(a_run(measurements=measured(accuracy=0.9, disk=400)))["reviews", "baseline"]
    assert (line.share, line.disk_ratio, line.agreement, line.seconds) == (1, 1, None, 0)


def test_numbers_are_means_over_seeds_and_time_is_their_sum():
    line = lines(
        a_run(seed=0, measurements=measured(accuracy=0.8, disk=400)),
        a_run(seed=1, measurements=measured(accuracy=0.6, disk=400)),
        a_run("drop", seed=0, measurements=measured(accuracy=0.4, disk=100), steps=[step(1), step(2)]),
        a_run("drop", seed=1, measurements=measured(accuracy=0.6, disk=300), steps=[step(3)]),
    )["reviews", "drop"]
    assert line.seeds == (0, 1)
    assert line.quality == pytest.approx(0.5)
    assert line.share == pytest.approx(0.5 / 0.7)
    assert line.disk_ratio == pytest.approx(400 / 200)
    assert line.seconds == 6


def test_a_seed_whose_baseline_is_missing_counts_for_quality_but_not_for_shares():
    line = lines(
        a_run(seed=0, measurements=measured(accuracy=0.8)),
        a_run("drop", seed=0, measurements=measured(accuracy=0.4)),
        a_run("drop", seed=1, measurements=measured(accuracy=0.6)),
    )["reviews", "drop"]
    assert line.quality == pytest.approx(0.5)
    assert line.share == pytest.approx(0.5)


def test_without_a_baseline_there_is_no_share():
    line = lines(a_run("drop", measurements=measured(accuracy=0.4, disk=3)))["reviews", "drop"]
    assert (line.quality, line.share, line.disk_bytes, line.disk_ratio) == (0.4, None, 3, None)


def test_a_failed_baseline_is_no_baseline():
    line = lines(failed("baseline", "no room"), a_run("drop", measurements=measured(accuracy=0.4)))["reviews", "drop"]
    assert line.share is None


def test_a_baseline_of_zero_gives_no_share():
    found = lines(a_run(measurements=measured(accuracy=0.0)), a_run("drop", measurements=measured(accuracy=0.4)))
    assert found["reviews", "drop"].share is None


def test_a_failed_run_has_a_line_that_says_why_and_no_numbers():
    line = lines(a_run(measurements=measured(accuracy=0.9)), failed("drop", "[red] no room"))["reviews", "drop"]
    assert line.failures == ("[red] no room",)
    assert (line.seeds, line.quality, line.share, line.disk_bytes, line.seconds) == ((), None, None, None, 0)


def test_a_failure_that_was_made_good_later_is_not_told():
    line = lines(failed("drop", "once"), a_run("drop", measurements=measured(accuracy=0.5)))["reviews", "drop"]
    assert line.failures == ()
    assert line.quality == 0.5


def test_a_failure_of_one_seed_is_told_beside_the_numbers_of_another():
    line = lines(failed("drop", "no", seed=1), a_run("drop", seed=0, measurements=measured(accuracy=0.5)))[
        "reviews", "drop"
    ]
    assert (line.seeds, line.quality, line.failures) == ((0,), 0.5, ("no",))


def test_runs_of_other_studies_are_left_out():
    found = lines(a_run(study="other"), a_run(measurements=measured(accuracy=0.5)))
    assert found["reviews", "baseline"].quality == 0.5
    assert Comparison.of("nothing", [a_run()]).lines == ()


def test_tasks_are_not_mixed():
    found = lines(
        a_run(task="a", measurements=measured(accuracy=0.5)),
        a_run(task="b", measurements=measured(accuracy=1.0)),
        a_run("drop", task="b", measurements=measured(accuracy=0.5)),
    )
    assert found["b", "drop"].share == 0.5
    assert found["a", "baseline"].quality == 0.5


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
        a_run(**on_other_data(measurements=measured(accuracy=0.2))),
        a_run("drop", **on_other_data(measurements=measured(accuracy=0.1), steps=[step(50)])),
        a_run(measurements=measured(accuracy=0.9)),
        a_run("drop", measurements=measured(accuracy=0.8), steps=[step(1)]),
    ]
    told = [(line.recipe, line.quality, line.share, line.seconds) for line in Comparison.of("s", runs).lines]
    assert ("baseline", 0.9, 1, 0) in told
    assert ("drop", 0.8, pytest.approx(0.8 / 0.9), 1) in told
    others = [("baseline", 0.2, 1, 0), ("drop", 0.1, pytest.approx(0.5), 50)]
    assert all(line in others for line in told if line[1] < 0.5), told


def test_a_run_is_never_paired_with_a_baseline_on_other_rows():
    runs = [
        a_run("drop", **on_other_data(measurements=measured(accuracy=0.2))),
        a_run(measurements=measured(accuracy=0.8)),
    ]
    assert all(line.share is None for line in Comparison.of("s", runs).lines if line.recipe == "drop")


def test_of_a_run_made_twice_with_one_seed_the_newest_counts():
    line = lines(
        a_run(measurements=measured(accuracy=0.2)),
        a_run(measurements=measured(accuracy=0.8)),
    )["reviews", "baseline"]
    assert (line.quality, line.share) == (0.8, 1)


def test_the_headline_is_the_first_metric_averaged_over_the_parts_of_the_test():
    run = a_run(measurements=measured(accuracy__matched=0.8, accuracy__mismatched=0.6, f1=0.1, agreement=1.0))
    assert headline(run) == pytest.approx(0.7)
    assert headline(a_run(metrics=["f1"], measurements=measured(accuracy=0.8, f1=0.1))) == 0.1
    assert headline(a_run(measurements=measured(disk=3))) is None
