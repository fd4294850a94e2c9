"""The Pareto chart: quality beside speed, or beside size where nothing was timed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from reports.comparison_cells import disk_cell, latency_cell, memory_cell, quality_cell
from reports.figure import Figure, file_name, layered, rows
from reports.label_places import Box, label_places
from reports.palette import GREY, STANDING_SHAPES, STANDINGS
from reports.time_axis import is_wide, wide_axis
from reports.wording import ABSENT
from workbench.compare import FRONT_AXES, Comparison
from workbench.delta import Delta
from workbench.line import Line

WIDTH, HEIGHT = 660, 400
# Room between the outermost dots and the frame, so that their names fit.
ROOM = 34
Row = dict[str, Any]
Axes = tuple[str, str]


@dataclass(frozen=True)
class Drawn:
    """How something measured is drawn: what it is called, its title with its unit, and how large that unit is."""

    name: str
    title: str
    scale: float


DRAWN = {
    "quality": Drawn("quality", "quality, ×100", 0.01),
    "latency": Drawn("the time of one call", "median time of one call, ms", 1.0),
    "memory": Drawn("memory", "memory of the model, MB", 1e6),
    "disk": Drawn("size on disk", "size on disk, MB", 1e6),
    "parameters": Drawn("parameters", "parameters, millions", 1e6),
    "macs": Drawn("MACs", "MACs of one answer, millions", 1e6),
}


def pareto_figure(comparison: Comparison, task: str | None = None, axes: Axes | None = None) -> Figure | None:
    """Draw all recipes of a task, or the means over all tasks; absent where fewer than two can be drawn.

    ``axes`` are what goes across and up: quality goes up beside speed, or beside size where nothing was timed.
    """
    lines = comparison.of_task(task)
    across, up = axes or (drawn_axis(lines), "quality")
    drawn = [line for line in lines if line.delta(across) and line.delta(up)]
    if len(drawn) < 2:
        return None
    where = drawn[0].task
    better = (
        f"{'up' if _is_higher(drawn, up) else 'down'} and to the {'right' if _is_higher(drawn, across) else 'left'}"
    )
    return Figure(
        name=file_name("pareto", where, *(axes or ())),
        alt=f"{DRAWN[up].name.capitalize()} beside {DRAWN[across].name} of {len(drawn)} recipes on {where}; "
        f"{better} is better.",
        caption=_caption(better, drawn, front_axes(drawn) or (across, up)),
        chart=_chart(drawn, comparison, task, (across, up)),
    )


def drawn_axis(lines: Sequence[Line]) -> str:
    """What quality is drawn beside: latency, unless fewer than two were timed."""
    return "latency" if sum(line.latency is not None for line in lines) > 1 else "disk"


def front_axes(drawn: Sequence[Line]) -> tuple[str, ...]:
    """The axes that standings are told on: quality, latency and disk, as far as all drawn recipes have them."""
    return tuple(axis for axis in FRONT_AXES if all(line.delta(axis) for line in drawn))


def _better(drawn: Sequence[Line], axes: Axes) -> str:
    """In which corner of the chart one would be."""
    across, up = (_is_higher(drawn, axis) for axis in axes)
    return f"{'up' if up else 'down'} and to the {'right' if across else 'left'}"


def _is_higher(drawn: Sequence[Line], axis: str) -> bool:
    """Whether more of it is better."""
    return any(delta.better == "higher" for line in drawn if (delta := line.delta(axis)))


def _caption(better: str, drawn: Sequence[Line], told_on: Sequence[str]) -> str:
    of_all = ", ".join(told_on)
    size = "; the larger the dot, the more memory the model takes" if _all_weighed(drawn) else ""
    return (
        f"{better.capitalize()} is better{size}. Front: nothing measured better in {of_all} at once; tied: something "
        "did, but not beyond doubt; dominated: beyond doubt. The broken line joins what nothing beats on the two axes "
        "drawn. Whiskers are 95 % intervals beside the baseline."
    )


def _all_weighed(lines: Sequence[Line]) -> bool:
    return all(line.memory for line in lines)


def _chart(lines: Sequence[Line], comparison: Comparison, task: str | None, axes: Axes) -> alt.LayerChart:
    standings, on_line = comparison.front(task, front_axes(lines) or axes), comparison.front(task, axes)
    points = [_point(line, axes, standings[line.recipe]) for line in lines]
    x = wide_axis("x:Q", DRAWN[axes[0]].title, *_span(points), room=ROOM, zero=False)
    y = alt.Y("y:Q", title=DRAWN[axes[1]].title, scale=alt.Scale(zero=False, padding=ROOM))
    whiskers = alt.Chart(rows(points))
    frontier = [point for point in points if on_line.get(point["recipe"]) == "front"]
    # Between two dots one can have what the worse of them offers, not something between.
    steps: Any = "step-before" if _is_higher(lines, axes[0]) else "step-after"
    layers: list[alt.Chart] = [
        alt.Chart(rows(sorted(frontier, key=lambda point: float(point["x"]))))
        .mark_line(interpolate=steps, strokeDash=[5, 4], color=GREY)
        .encode(x=x, y=y),
        whiskers.mark_rule(opacity=0.7).encode(x=alt.X("x_low:Q"), x2="x_high:Q", y=y),
        whiskers.mark_rule(opacity=0.7).encode(x=x, y=alt.Y("y_low:Q"), y2="y_high:Q"),
        _dots(points, x, y, weighed=_all_weighed(lines)),
        *_labels(points, x, y, frontier, steps),
    ]
    return layered(*layers).properties(width=WIDTH, height=HEIGHT)


def _point(line: Line, axes: Axes, standing: str) -> Row:
    told = {
        "quality": quality_cell(line),
        "time of one call": latency_cell(line),
        "memory": memory_cell(line),
        "disk": disk_cell(line),
    }
    return {
        "recipe": line.recipe,
        "standing": standing,
        **_place("x", line, axes[0]),
        **_place("y", line, axes[1]),
        **({"memory": line.memory.value / 1e6} if line.memory else {}),
        **{f"told {name}": cell.plain for name, cell in told.items() if cell.text != ABSENT},
    }


def _place(name: str, line: Line, axis: str) -> Row:
    """Where a line stands on an axis, and the ends of its interval."""
    delta, scale = line.delta(axis), DRAWN[axis].scale
    assert delta is not None
    low, high = _ends(delta)
    return {name: delta.value / scale, f"{name}_low": low / scale, f"{name}_high": high / scale}


def _ends(delta: Delta) -> tuple[float, float]:
    return (
        delta.value if delta.low is None else delta.low,
        delta.value if delta.high is None else delta.high,
    )


def _span(points: Sequence[Row]) -> tuple[float, float]:
    return min(float(point["x_low"]) for point in points), max(float(point["x_high"]) for point in points)


def _dots(points: list[Row], x: alt.X, y: alt.Y, weighed: bool) -> alt.Chart:
    named = list(STANDINGS)
    colours, shapes = [STANDINGS[name] for name in named], [STANDING_SHAPES[name] for name in named]
    told = dict.fromkeys(field for point in points for field in point if field.startswith("told "))
    tooltip = [
        alt.Tooltip("recipe:N"),
        alt.Tooltip("standing:N"),
        *(alt.Tooltip(f"{field}:N", title=field.removeprefix("told ")) for field in told),
    ]
    dots: alt.Chart = (
        alt.Chart(rows(points))
        .mark_point(filled=True, opacity=0.9)
        .encode(
            x=x,
            y=y,
            size=_size() if weighed else alt.value(130),
            color=alt.Color("standing:N", title="standing", scale=alt.Scale(domain=named, range=colours)),
            shape=alt.Shape("standing:N", title="standing", scale=alt.Scale(domain=named, range=shapes)),
            tooltip=tooltip,
        )
    )
    return dots


def _size() -> alt.Size:
    legend = alt.Legend(format=".0f", tickCount=3, symbolFillColor=GREY, symbolStrokeColor=GREY)
    return alt.Size("memory:Q", title="memory, MB", scale=alt.Scale(range=[50, 500], zero=True), legend=legend)


def _labels(points: list[Row], x: alt.X, y: alt.Y, frontier: Sequence[Row], steps: str) -> list[alt.Chart]:
    """The names of the dots, in a layer for each way of moving them aside."""
    scale = math.log if is_wide(*_span(points)) else float
    x_at = _pixels([[scale(point[field]) for field in ("x", "x_low", "x_high")] for point in points], WIDTH)
    y_at = _pixels([[-point[field] for field in ("y", "y_high", "y_low")] for point in points], HEIGHT)
    spots = [(across[0], down[0]) for across, down in zip(x_at, y_at, strict=True)]
    level = [Box(low, y - 1, high, y + 1) for (_, low, high), (_, y) in zip(x_at, spots, strict=True)]
    upright = [Box(x - 1, high, x + 1, low) for (_, high, low), (x, _) in zip(y_at, spots, strict=True)]
    broken = _step_boxes(sorted(spot for point, spot in zip(points, spots, strict=True) if point in frontier), steps)
    frame = Box(0, 0, WIDTH, HEIGHT)
    places = label_places(spots, [point["recipe"] for point in points], frame, [*level, *upright, *broken])
    return [
        alt.Chart(rows([point for point, of_it in zip(points, places, strict=True) if of_it == place]))
        .mark_text(dx=place.dx, dy=place.dy, align=place.align)
        .encode(x=x, y=y, text="recipe:N")
        for place in dict.fromkeys(places)
    ]


def _step_boxes(corners: Sequence[tuple[float, float]], steps: str) -> Iterator[Box]:
    """The broken line as thin boxes."""
    for (left, before), (right, after) in pairwise(corners):
        height, turn = (before, right) if steps == "step-after" else (after, left)
        yield Box(left, height - 1, right, height + 1)
        yield Box(turn - 1, min(before, after), turn + 1, max(before, after))


def _pixels(triples: Sequence[Sequence[float]], length: float) -> list[list[float]]:
    """Where values and the ends of their intervals stand on an axis that holds them all."""
    known = [value for triple in triples for value in triple]
    low, span = min(known), (max(known) - min(known)) or 1.0
    return [[ROOM + (value - low) / span * (length - 2 * ROOM) for value in triple] for triple in triples]
