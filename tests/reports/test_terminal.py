"""The tables for the terminal show every heading whole, every line, every doubt, and texts from data as they are."""

import io
from typing import Any

import pytest
from records import a_comparison, a_judged, a_line, a_quality, a_run, a_step, a_time, observed
from rich.console import Console

from reports.columns import COLUMNS
from reports.terminal import LEGEND, REACH, comparison_table
from workbench.compare import Comparison
from workbench.delta import Delta
from workbench.line import Line, mean_line
from workbench.run import Run

RECIPES = ("albert", "distilbert", "distilbert-control", "layer-pruning", "int8", "distil-int8")


def shown(comparison: Comparison, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(comparison_table(comparison))
    return console.export_text()


def rows_of(text: str) -> list[str]:
    """The lines of the tables, without titles and what stands below."""
    lines = text.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("recipe"))
    below = [number for number, line in enumerate(lines) if line.startswith(("*", "±", "- ", "study"))]
    return lines[begin : min((number for number in below if number > begin), default=len(lines))]


def recipe_line(recipe: str, place: int, task: str = "rotten-tomatoes", **changes: Any) -> Line:
    """A line with all that a real one has."""
    word = ("equivalent", "unclear", "worse", "better")[place % 4]
    ms = 41.73 / (1 + place)
    facts = {
        "latency": a_time(ms, 0.03, 41.73),
        "disk": Delta.counted("disk", "bytes", 437.9e6 / (1 + place), 437.9e6),
        "memory": Delta.counted("memory", "bytes", 1234.5e6 / (1 + place), 1234.5e6, 0.05),
        "judged": a_judged(verdict=word, agreement=0.9),
        "quality": a_quality(0.8652 - 0.01 * place, 0.0123, 0.8652, verdict=word),
    }
    return a_line(recipe, task=task, **{**facts, **changes})


def a_baseline(task: str = "rotten-tomatoes") -> Line:
    still = Delta(metric="latency", unit="ms", better="lower", value=41.73, base=41.73, low=41.73, high=41.73)
    return recipe_line("baseline", 0, task, latency=still, quality=a_quality(0.8652, 0.0, 0.8652, verdict="equivalent"))


def a_study(*tasks: str) -> Comparison:
    lines = [
        line
        for task in tasks or ("rotten-tomatoes",)
        for line in (a_baseline(task), *(recipe_line(name, place, task) for place, name in enumerate(RECIPES, 1)))
    ]
    names = ("baseline", *RECIPES) if len(tasks) > 1 else ()
    means = tuple(mean_line([line for line in lines if line.recipe == name]) for name in names)
    return a_comparison(*lines, means=means)


def test_six_recipes_with_timings_fit_100_columns_and_nothing_is_cut():
    text = shown(a_study())
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    header, *rows = rows_of(text)
    for column in COLUMNS:
        assert (column.heading in header) == column.brief, column.heading
    joined = " ".join(rows)
    for name in RECIPES:
        assert name in joined
    for cell in ("86.52", "85.52 ±1.2", "98.8 %", "unclear", "41.7", "20.9", "2.00 ±0.06", "1234.5", "437.9", "7.00×"):
        assert cell in joined, cell


def test_every_recipe_of_the_usual_length_takes_one_line():
    _, *rows = rows_of(shown(a_study()))
    assert len([row for row in rows if row.strip()]) == 7


def test_numbers_as_large_as_they_get_still_fit():
    facts = {
        "latency": a_time(1234.5, 0.4, 14000.0),
        "disk": Delta.counted("disk", "bytes", 2345.6e6, 98765.4e6),
        "memory": Delta.counted("memory", "bytes", 12345.6e6, 98765.4e6, 0.05),
    }
    line = a_line("distilbert-control", a_quality(1.0, 0.789, 0.8, verdict="equivalent"), **facts)
    text = shown(a_comparison(line))
    assert max(map(len, text.splitlines())) <= 100
    for cell in ("100.00 ±78.9", "125.0 %", "1234 ", "11.34 ±3.89", "12345.6", "2345.6", "42.11×"):
        assert cell in text, cell


def test_a_long_name_is_broken_over_lines_and_not_cut():
    name = "-".join(["distilled", "half", "depth", "then", "int8", "static", "with", "trimmed", "vocabulary"])
    text = shown(a_comparison(a_baseline(), recipe_line(name, 1)))
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 100
    told = "".join(row.partition("  ")[0].split(" ")[0] for row in rows_of(text))
    assert name in told


def test_each_task_has_a_table_under_its_name_and_the_means_come_last():
    text = shown(a_study("rotten-tomatoes", "sst2"))
    titles = [line.strip() for line in text.splitlines() if line.startswith("study")]
    assert titles == [
        "study s, task rotten-tomatoes: quality is accuracy ×100, seeds 0",
        "study s, task sst2: quality is accuracy ×100, seeds 0",
        "study s, all tasks: quality is mean of accuracy ×100, seeds 0",
    ]
    assert sum(line.startswith("distil-int8") for line in text.splitlines()) == 3


def test_what_stands_on_the_front_is_marked_and_the_marks_are_explained():
    best, near, worst = recipe_line("best", 3), recipe_line("near", 3), recipe_line("worst", 0)
    near = near.model_copy(update={"quality": a_quality(0.834, 0.0123, 0.8652)})
    slow = a_time(80, 0.03, 41.73)
    worst = worst.model_copy(update={"latency": slow, "quality": a_quality(0.5, 0.01, 0.8652)})
    text = shown(a_comparison(best, near, worst))
    _, *rows = rows_of(text)
    marks = {row.split()[0]: row.split()[1] for row in rows if row.strip()}
    assert (marks["best"], marks["near"]) == ("*", "~")
    assert marks["worst"] == "50.00"
    assert LEGEND in text and REACH in " ".join(text.split())


def test_signs_that_do_not_stand_there_are_not_explained():
    exact = a_line("drop", a_quality(0.8, 0.0))
    assert LEGEND not in shown(a_comparison(exact)) and REACH not in shown(a_comparison(exact))
    assert REACH in shown(a_comparison(a_line("drop", 0.8)))
    assert LEGEND not in shown(a_comparison(a_line("drop", 0.8)))


def test_caveats_of_the_whole_and_of_each_line_stand_below():
    line = a_line("drop", 0.8, caveats=("half of it is zero",))
    text = shown(a_comparison(line, caveats=("one seed only",)))
    below = [line.rstrip() for line in text.splitlines() if line.startswith("- ")]
    assert below == ["- one seed only", "- reviews drop: half of it is zero"]


def a_record(recipe: str, task: str = "rotten-tomatoes", **changes: Any) -> Run:
    facts = {"study": "demo", "task": task, "steps": [a_step(754.0)] if recipe != "baseline" else []}
    return a_run(f"{task}-{recipe}", recipe, **{**facts, "measurements": observed(accuracy=0.8652), **changes})


def failed(recipe: str, message: str, **changes: Any) -> Run:
    return a_record(recipe, failure={"stage": "apply", "message": message}, measurements=[], steps=[], **changes)


def of_runs(*runs: Run, width: int = 200) -> str:
    return shown(Comparison.of("demo", runs), width)


def test_what_was_not_measured_is_a_dash():
    line = next(line for line in of_runs(failed("drop", "no")).splitlines() if line.startswith("drop"))
    assert line.split() == ["drop", *["–"] * 9]


def test_seeds_are_named_and_their_lack_told():
    assert "seeds none yet" in of_runs(failed("drop", "no"))
    assert "seeds 0, 7" in of_runs(a_record("baseline"), a_record("baseline", id="other", seed=7))


def test_a_failure_is_told_below_the_table_word_for_word():
    message = "step 1: file [red]a[/red] at [0]: [/] [bold]no[/bold] :smile: room"
    assert f"rotten-tomatoes drop: failed: {message}" in of_runs(a_record("baseline"), failed("drop", message))


def test_names_that_look_like_markup_are_shown_as_they_are():
    text = of_runs(a_record("baseline", "[red]task[/red]"), failed("drop", "[/nonsense]", task="[red]task[/red]"))
    assert "[red]task[/red] drop: failed: [/nonsense]" in text
    above = text.partition("[red]task[/red] drop: failed")[0]
    assert "[red]task[/red]" in above


def test_a_metric_that_looks_like_markup_is_shown_as_it_is():
    odd = {"metric": "[b]m", "unit": "score", "better": "higher", "values": [0.5]}
    assert "[b]m" in of_runs(a_record("baseline", metrics=["[b]m"], measurements=[odd]))


def test_caveats_that_look_like_markup_are_shown_as_they_are():
    assert "- [bold]odd[/bold] [/]" in shown(a_comparison(a_line("drop", 0.8), caveats=("[bold]odd[/bold] [/]",)))


@pytest.mark.parametrize(
    ("word", "style"), [("worse", "31"), ("better", "32"), ("unclear", "33"), ("equivalent", None)]
)
def test_words_have_their_colours(word, style):
    console = Console(width=100, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(comparison_table(a_comparison(a_line("drop", a_quality(0.8, verdict=word)))))
    assert (f"\x1b[{style}m{word}" in console.file.getvalue()) == (style is not None)
