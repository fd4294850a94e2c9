"""The waterfall charts: what each step of a recipe gave and took, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from reports.figure import Figure, file_name, layered, rows
from reports.palette import EFFECTS, GREY
from reports.wording import duration, megabytes, millions, score, signed
from workbench.dossier import Explanation
from workbench.stages import Stage

WIDTH, ROW_HEIGHT = 300, 34
# Changes below this share of what was there before are none.
SAME_WITHIN = 0.0005
# Room for the numbers after the longest bar, as a share of what is drawn.
BEYOND = 0.75


@dataclass(frozen=True)
class Quantity:
    """Something that steps change: where a stage keeps it, how it is told, and whether more of it is better."""

    name: str
    title: str
    of: Callable[[Stage], float | None]
    told: Callable[[float | None], str]
    change: Callable[[float], str]
    scale: float
    more_is_better: bool = False


QUANTITIES = (
    Quantity(
        "quality",
        "quality, ×100",
        lambda stage: stage.quality,
        score,
        lambda change: signed(100 * change, 1),
        scale=0.01,
        more_is_better=True,
    ),
    Quantity(
        "disk",
        "MB on disk",
        lambda stage: stage.disk_bytes,
        megabytes,
        lambda change: signed(change / 1e6, 1),
        scale=1e6,
    ),
    Quantity(
        "parameters",
        "parameters, millions",
        lambda stage: stage.parameters,
        millions,
        lambda change: signed(change / 1e6, 2),
        scale=1e6,
    ),
)


def waterfall_figures(found: Explanation) -> tuple[Figure, ...]:
    """A chart for each quantity that was measured after at least two stages, and one of what the steps cost."""
    panels = [_panel(found, quantity) for quantity in QUANTITIES]
    return tuple(panel for panel in (*panels, _cost(found)) if panel)


def _panel(found: Explanation, quantity: Quantity) -> Figure | None:
    known = [(stage.name, value) for stage in found.stages if (value := quantity.of(stage)) is not None]
    if len(known) < 2:
        return None
    values = [_start(*known[0], quantity)]
    values += [_step(name, before, value, quantity) for (_, before), (name, value) in pairwise(known)]
    return Figure(
        name=file_name("steps", found.task, found.recipe, quantity.name),
        alt=f"{quantity.title} of {found.recipe} on {found.task}, "
        + "; ".join(f"{row['stage']}: {row['told']}" for row in values),
        caption="",
        chart=_waterfall(values, quantity),
    )


def _start(name: str, value: float, quantity: Quantity) -> dict[str, Any]:
    place = value / quantity.scale
    return {
        "stage": name,
        "before": place,
        "value": place,
        "end": place,
        "effect": "same",
        "told": quantity.told(value),
    }


def _step(name: str, before: float, value: float, quantity: Quantity) -> dict[str, Any]:
    same = abs(value - before) <= SAME_WITHIN * abs(before)
    improved = (value > before) == quantity.more_is_better
    told = quantity.told(value) if same else f"{quantity.told(value)} ({quantity.change(value - before)})"
    return {
        "stage": name,
        "before": before / quantity.scale,
        "value": value / quantity.scale,
        "end": max(before, value) / quantity.scale,
        "effect": "same" if same else "better" if improved else "worse",
        "told": told,
    }


def _waterfall(values: list[dict[str, Any]], quantity: Quantity) -> alt.LayerChart:
    low, high = min(min(row["before"], row["value"]) for row in values), max(row["end"] for row in values)
    start = low - 0.1 * (high - low) if quantity.more_is_better else 0.0
    scale = alt.Scale(domain=[start, high + BEYOND * ((high - start) or 1.0)], nice=False, zero=False)
    axis = alt.Axis(tickCount=4, grid=False)
    x = alt.X("before:Q", title=None, scale=scale, axis=axis)
    chart = alt.Chart(rows(values)).encode(
        y=alt.Y("stage:N", title=None, sort=[row["stage"] for row in values], axis=alt.Axis(labelLimit=185)),
        tooltip=[alt.Tooltip("stage:N"), alt.Tooltip("told:N", title=quantity.title)],
    )
    colours = alt.Scale(domain=list(EFFECTS), range=list(EFFECTS.values()))
    layers = [
        chart.mark_bar(height=16).encode(x=x, x2="value:Q", color=alt.Color("effect:N", scale=colours, legend=None)),
        chart.mark_tick(thickness=3, height=20).encode(x=alt.X("value:Q")),
        chart.mark_text(align="left", dx=8).encode(x=alt.X("end:Q"), text="told:N"),
    ]
    if not quantity.more_is_better:
        # What is left is drawn from zero, so that its length can be compared.
        whole = chart.mark_bar(height=16, color=GREY, opacity=0.3).encode(x=alt.X("value:Q", scale=scale, axis=axis))
        layers.insert(0, whole)
    return _titled(layered(*layers), quantity.title, len(values))


def _cost(found: Explanation) -> Figure | None:
    values: list[dict[str, Any]] = [
        {"stage": stage.name, "seconds": stage.cost.wall_seconds, "told": duration(stage.cost.wall_seconds)}
        for stage in found.stages
        if stage.cost
    ]
    if not values:
        return None
    longest = max(row["seconds"] for row in values)
    scale = alt.Scale(domain=[0, (1 + BEYOND / 2) * longest or 1.0], nice=False)
    chart = alt.Chart(rows(values)).encode(
        y=alt.Y("stage:N", title=None, sort=[row["stage"] for row in values], axis=alt.Axis(labelLimit=185)),
        x=alt.X("seconds:Q", title=None, scale=scale, axis=alt.Axis(tickCount=4, grid=False)),
        tooltip=[alt.Tooltip("stage:N"), alt.Tooltip("told:N", title="took")],
    )
    layers = layered(
        chart.mark_bar(height=16, color=GREY, opacity=0.6),
        chart.mark_text(align="left", dx=8).encode(text="told:N"),
    )
    return Figure(
        name=file_name("steps", found.task, found.recipe, "cost"),
        alt=f"What the steps of {found.recipe} took on {found.task}: "
        + "; ".join(f"{row['stage']}: {row['told']}" for row in values),
        caption="",
        chart=_titled(layers, "seconds it took", len(values)),
    )


def _titled(chart: alt.LayerChart, title: str, count: int) -> alt.LayerChart:
    return chart.properties(width=WIDTH, height=ROW_HEIGHT * count, title=title)
