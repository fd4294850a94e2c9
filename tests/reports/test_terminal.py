"""The table for the terminal shows every heading whole, every line, and texts from data as they are."""

import io
from typing import Any

import pytest
from rich.console import Console

from reports.columns import COLUMNS
from reports.terminal import comparison_table
from workbench.compare import Comparison
from workbench.run import Run

ENVIRONMENT = {"system": "Linux", "machine": "x86_64", "python": "3.11", "cores": 2, "versions": {}}


def a_run(recipe: str, task: str = "rotten-tomatoes", **changes: Any) -> Run:
    steps = [] if recipe == "baseline" else [{"use": "layer-drop", "options": {}}]
    values = {"accuracy": 0.8652, "agreement": 0.9341, "disk": 91_300_000.0, "parameters": 22_713_216.0}
    cost = {"wall_seconds": 754.0, "cpu_seconds": 754.0}
    facts: dict[str, Any] = {
        "id": f"{task}-{recipe}",
        "fingerprint": "f",
        "study": "demo",
        "recipe": {"name": recipe, "steps": steps},
        "task": task,
        "metrics": ["accuracy"],
        "seed": 0,
        "created": "2026-01-01",
        "command": "",
        "environment": ENVIRONMENT,
        "data": {"source": "files", "fingerprint": "d", "rows": {"test": 2}},
        "steps": [{**step, "provider": "p", "version": "1", "detail": {}, "cost": cost} for step in steps],
        "measurements": [
            {"metric": name, "unit": "score", "better": "higher", "values": [value]} for name, value in values.items()
        ],
    }
    return Run.model_validate({**facts, **changes})


def failed(recipe: str, message: str, **changes: Any) -> Run:
    return a_run(recipe, failure={"stage": "apply", "message": message}, measurements=[], steps=[], **changes)


def shown(*runs: Run, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(comparison_table(Comparison.of("demo", runs)))
    return console.export_text()


RUNS = [a_run(recipe, task) for task in ("rotten-tomatoes", "sst2") for recipe in ("baseline", "half-depth-int8")]


def test_every_heading_stands_unbroken_at_100_columns():
    text = shown(*RUNS)
    headings = "\n".join(line for line in text.splitlines() if line.startswith("┃"))
    for column in COLUMNS:
        assert column.heading in headings or f"{column.heading} rotten-tomatoes" in text, column.heading


def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut():
    text = shown(*RUNS)
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    assert "accuracy" in text
    for cell in ("86.52", "100.0 %", "93.4 %", "91.3 MB", "1.00×", "22.71 M", "12.6 min"):
        assert cell in text, cell


@pytest.mark.parametrize("name", ["rotten-tomatoes", "half-depth-int8", "baseline", "sst2"])
def test_names_are_read_whole_on_a_wide_terminal(name):
    assert name in shown(*RUNS, width=200)


def test_every_recipe_of_every_task_has_its_line():
    wide = shown(*RUNS, width=200)
    assert wide.count("baseline") == 2
    assert wide.count("half-depth-int8") == 2
    assert "study demo" in wide


def test_what_was_not_measured_is_a_dash():
    line = next(line for line in shown(failed("drop", "no"), width=200).splitlines() if "drop" in line)
    assert line.count("–") >= 5


def test_a_failure_is_told_below_the_table_word_for_word():
    message = "step 1: file [red]a[/red] at [0]: [/] [bold]no[/bold] :smile: room"
    text = shown(a_run("baseline"), failed("drop", message), width=200)
    assert f"rotten-tomatoes drop: failed: {message}" in text


def test_names_that_look_like_markup_are_shown_as_they_are():
    text = shown(a_run("baseline", "[red]task[/red]"), failed("drop", "[/nonsense]", task="[red]task[/red]"), width=200)
    assert "[red]task[/red] drop: failed: [/nonsense]" in text
    above = text.partition("[red]task[/red] drop: failed")[0]
    assert "[red]task[/red]" in above


def test_a_metric_that_looks_like_markup_is_shown_as_it_is():
    odd = {"metric": "[b]m", "unit": "score", "better": "higher", "values": [0.5]}
    assert "[b]m" in shown(a_run("baseline", metrics=["[b]m"], measurements=[odd]), width=200)


def test_a_long_name_is_broken_over_lines_and_not_cut():
    name = "-".join(["distilled", "half", "depth", "then", "int8", "static", "with", "trimmed", "vocabulary"])
    text = shown(a_run("baseline"), a_run(name))
    assert "…" not in text
    told = "".join(line.split("│")[1].strip() for line in text.splitlines() if line.count("│") > 2)
    assert name in told
