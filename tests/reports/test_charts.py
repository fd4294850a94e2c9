"""The charts show the records' numbers, look right on white and on black, and are absent where nothing is to show."""

import itertools

import pytest
from contrast import contrast
from records import a_comparison, a_judged, a_line

from reports import palette
from reports.chart_flips import MOST_LABELS, flips_figure
from reports.chart_latency import latency_figure, quantile
from reports.chart_pareto import pareto_figure
from reports.chart_sizes import disk_figure, memory_figure, number_types_figure, parameters_figure
from reports.chart_waterfall import waterfall_figures
from reports.figure import file_name
from reports.label_places import Box, label_places
from reports.time_axis import log_ticks
from workbench.dossier import Explanation, Spread
from workbench.judged import FlipCount
from workbench.stages import Stage


@pytest.mark.parametrize(
    ("ink", "paper"),
    [(palette.INK_ON_LIGHT, palette.LIGHT_PAPER), (palette.INK_ON_DARK, palette.DARK_PAPER)],
)
def test_where_the_paper_is_known_its_ink_is_plain_to_read(ink, paper):
    assert contrast(ink, paper) >= 7


def test_whatever_a_chart_writes_is_in_the_ink_it_is_given():
    config = pareto_figure(a_comparison(*LINES)).fluid_spec("currentColor")["config"]
    written = {
        (part, name): value
        for part in ("axis", "legend", "title", "text")
        for name, value in config[part].items()
        if name.lower().endswith("color") and name not in ("domainColor", "tickColor", "gridColor")
    }
    assert len(written) == 6
    assert set(written.values()) == {"currentColor"}


@pytest.mark.parametrize("colour", [*palette.SERIES, palette.INK, *palette.STANDINGS.values()])
@pytest.mark.parametrize("paper", [palette.LIGHT_PAPER, palette.DARK_PAPER])
def test_every_colour_stands_out_from_both_papers(colour, paper):
    assert contrast(colour, paper) >= 3


def values(figure, *, having: str) -> list[dict]:
    """All rows in a chart's data that have a field."""
    spec = figure.spec()
    layers = spec.get("layer", [spec])
    found = [row for layer in [spec, *layers] for row in layer.get("data", {}).get("values", []) if having in row]
    found += [row for rows in spec.get("datasets", {}).values() for row in rows if having in row]
    return found


def dots(figure) -> dict[str, dict]:
    return {row["recipe"]: row for row in values(figure, having="standing")}


def scales(figure) -> list[dict]:
    return [
        layer["encoding"]["x"].get("scale", {}) for layer in figure.spec()["layer"] if "x" in layer.get("encoding", {})
    ]


LINES = (
    a_line("baseline", 0.8, 20.0, disk=100e6),
    a_line("good", 0.81, 4.0, disk=20e6),
    a_line("poor", 0.5, 10.0, disk=90e6),
)


def test_a_dot_stands_where_its_line_was_measured():
    found = dots(pareto_figure(a_comparison(*LINES)))
    assert set(found) == {"baseline", "good", "poor"}
    assert (found["good"]["x"], found["good"]["y"]) == (4.0, pytest.approx(81))
    assert found["good"]["y_low"] < 81 < found["good"]["y_high"]
    assert {name: row["standing"] for name, row in found.items()} == a_comparison(*LINES).front()
    assert found["poor"]["standing"] == "dominated"


def test_the_axis_is_logarithmic_only_where_values_differ_much():
    assert {"log"} <= {scale.get("type") for scale in scales(pareto_figure(a_comparison(*LINES)))}
    near = (a_line("baseline", 0.8, 20.0), a_line("good", 0.81, 10.0))
    assert "log" not in {scale.get("type") for scale in scales(pareto_figure(a_comparison(*near)))}


def test_without_times_size_goes_across():
    lines = [line.model_copy(update={"latency": None}) for line in LINES]
    assert dots(pareto_figure(a_comparison(*lines)))["good"]["x"] == 20


def test_other_axes_can_be_asked_for():
    figure = pareto_figure(a_comparison(*LINES), None, ("disk", "latency"))
    assert (dots(figure)["good"]["x"], dots(figure)["good"]["y"]) == (20, 4)
    assert figure.caption.startswith("Down and to the left is better")


def test_one_dot_is_no_chart():
    assert pareto_figure(a_comparison(LINES[0])) is None
    assert pareto_figure(a_comparison()) is None


def test_names_of_dots_that_crowd_do_not_cover_each_other():
    spots = [(100.0, 100.0), (110.0, 108.0), (300.0, 100.0)]
    names = ["first", "second", "third"]
    places = label_places(spots, names, Box(0, 0, 600, 400))
    boxes = []
    for (x, y), name, place in zip(spots, names, places, strict=True):
        left = x + place.dx - {"left": 0, "center": 3.3 * len(name), "right": 6.6 * len(name)}[place.align]
        boxes.append(Box(left, y + place.dy - 7, left + 6.6 * len(name), y + place.dy + 7))
    assert all(one.overlap(other) == 0 for one, other in itertools.combinations(boxes, 2))


def test_a_name_at_the_edge_is_written_inwards():
    (place,) = label_places([(590.0, 50.0)], ["a-long-name"], Box(0, 0, 600, 400))
    assert place.align == "right"


def test_ticks_are_round_numbers_within_the_ends():
    assert log_ticks(1.4, 21) == [1.5, 2, 3, 4, 5, 7, 10, 15, 20]
    assert log_ticks(1, 1000) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]


def a_spread(entry: str = "int8", **changes) -> Spread:
    facts = {"task": "reviews", "entry": entry, "recipe": entry, "calls": 40, "quantiles_ms": (1, 2, 3, 4, 9)}
    return Spread(**{**facts, **changes})


def test_a_spread_is_drawn_from_its_quantiles():
    assert [quantile(a_spread(), share) for share in (0, 0.25, 0.5, 0.875, 1)] == [1, 2, 3, 6.5, 9]
    figure = latency_figure("reviews", [a_spread(), a_spread("other", task="elsewhere")])
    (row, *_) = values(figure, having="p50")
    assert (row["variant"], row["p50"], row["told p50"]) == ("int8", 3, "3 ms")
    assert latency_figure("nothing", [a_spread()]) is None


def test_of_two_campaigns_the_newer_spread_is_drawn():
    figure = latency_figure("reviews", [a_spread(), a_spread(quantiles_ms=(5, 5, 5))])
    assert {row["p50"] for row in values(figure, having="p50")} == {5}


def test_parts_add_up_to_what_was_measured(usual):
    lines, runs = usual.comparison.of_task(None), {run.id: run for run in usual.runs}
    for draw, axis in ((disk_figure, "disk"), (parameters_figure, "parameters")):
        for line in lines:
            parts = [row["amount"] for row in values(draw(lines, runs), having="part") if row["recipe"] == line.recipe]
            assert sum(parts) * 1e6 == pytest.approx(line.delta(axis).value)
    kinds = {row["part"] for row in values(number_types_figure(lines, runs), having="part")}
    assert kinds == {"float32", "int8"}


def test_memory_is_drawn_by_phase_and_the_twin_is_not_weighed(usual):
    (campaign,) = usual.campaigns
    rows = values(memory_figure(campaign), having="phase")
    assert {row["phase"] for row in rows} == {"load", "first call", "steady"}
    assert "baseline again" not in {row["variant"] for row in rows}
    steady = next(row["amount"] for row in rows if (row["variant"], row["phase"]) == ("int8", "steady"))
    assert steady * 1e6 == pytest.approx(campaign.entry("int8").measured("memory/steady").value)


def explained(*stages: Stage) -> Explanation:
    return Explanation(task="reviews", recipe="r", run="x", stages=stages, control=None, damage=None)


def a_stage(name: str, **known) -> Stage:
    blank = dict.fromkeys(("quality", "disk_bytes", "parameters", "macs", "agreement"))
    return Stage(name=name, **{**blank, **known})


def test_each_step_shows_its_change_and_whether_that_is_good():
    stages = (a_stage("base", quality=0.8, disk_bytes=90e6), a_stage("1. drop", quality=0.7, disk_bytes=60e6))
    quality, disk = waterfall_figures(explained(*stages))
    told = {row["stage"]: row for row in values(quality, having="effect")}
    assert (told["1. drop"]["effect"], told["1. drop"]["told"]) == ("worse", "70.00 (−10.0)")
    told = {row["stage"]: row for row in values(disk, having="effect")}
    assert (told["1. drop"]["effect"], told["1. drop"]["told"]) == ("better", "60.0 MB (−30.0)")
    assert told["base"]["effect"] == "same"


def test_a_quantity_that_no_step_measured_has_no_chart():
    assert waterfall_figures(explained(a_stage("base", quality=0.8), a_stage("1. drop"))) == ()


def test_broken_answers_go_left_and_mended_ones_right():
    flips = (FlipCount(label=0, direction="broken", count=5), FlipCount(label=1, direction="mended", count=2))
    figure = flips_figure("reviews", "r", a_judged(flips=flips), ("no", "yes"))
    rows = values(figure, having="direction")
    assert {(row["label"], row["count"], row["rows"]) for row in rows} == {("no", -5, 5), ("yes", 2, 2)}
    assert flips_figure("reviews", "r", a_judged(flips=()), ("no", "yes")) is None
    assert flips_figure("reviews", "r", None, ()) is None


def test_of_very_many_labels_those_that_changed_most_are_drawn():
    flips = tuple(FlipCount(label=label, direction="broken", count=1 + label) for label in range(50))
    figure = flips_figure("reviews", "r", a_judged(flips=flips), ())
    drawn = {row["label"] for row in values(figure, having="direction")}
    assert drawn == {f"label {label}" for label in range(50 - MOST_LABELS, 50)}
    assert "Only the 20 labels" in figure.caption


@pytest.mark.parametrize("name", ["../../etc", "a/b\\c", "<script>", "", "ÄÖ 漢", ".hidden"])
def test_a_file_name_is_safe_whatever_it_is_made_of(name):
    found = file_name(name)
    assert found and not found.startswith(".")
    assert all(letter.isascii() and (letter.isalnum() or letter in "-.") for letter in found)
