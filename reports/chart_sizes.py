"""The size charts: what disk, parameters and numbers are made of, and what memory is taken when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import altair as alt

from reports.figure import Figure, file_name, layered, rows
from reports.palette import SERIES
from reports.wording import megabytes, millions
from workbench.campaign import Campaign
from workbench.line import Line
from workbench.run import Run

WIDTH, ROW_HEIGHT, BARS_HEIGHT = 560, 26, 42
MILLION = 1e6
# Room for the total after the longest bar.
BEYOND = 1.24
DISK_PARTS = ("weights", "tokenizer", "rest")
PARAMETER_PARTS = ("embeddings", "encoder", "head")
PHASES = ("load", "first call", "steady")
Parts = dict[str, dict[str, float]]


def disk_figure(lines: Sequence[Line], runs: Mapping[str, Run]) -> Figure | None:
    """Draw the bytes on disk by kind of file."""
    found = _parts(lines, runs, {f"disk/{part}": part for part in DISK_PARTS})
    caption = "Every file that is needed to run."
    return _stacked("disk", lines, found, "MB on disk", caption)


def parameters_figure(lines: Sequence[Line], runs: Mapping[str, Run]) -> Figure | None:
    """Draw the number of parameters by part of the encoder."""
    found = _parts(lines, runs, {f"parameters/{part}": part for part in PARAMETER_PARTS})
    return _stacked(
        "parameters", lines, found, "parameters, millions", "Parameters that several layers share count once."
    )


def number_types_figure(lines: Sequence[Line], runs: Mapping[str, Run]) -> Figure | None:
    """Draw the bytes of the parameters by type of number."""
    of_lines = [measured for line in lines for run in line.runs if run in runs for measured in runs[run].measurements]
    types = sorted({found.metric for found in of_lines if found.metric.startswith("bytes/")})
    found = _parts(lines, runs, {metric: metric.partition("/")[2] for metric in types})
    return _stacked("number-types", lines, found, "MB of parameters", "What type of number the parameters are kept as.")


def memory_figure(campaign: Campaign) -> Figure | None:
    """Draw the model's own memory at its highest in each phase; absent where nothing was weighed."""
    found = {
        entry.name: {
            phase: measured.value for phase in PHASES if (measured := entry.measured(f"memory/{phase}")) is not None
        }
        for entry in campaign.entries
    }
    known = {name: phases for name, phases in found.items() if phases}
    if not known:
        return None
    return Figure(
        name=file_name("memory", campaign.task),
        alt=f"Memory that each of {len(known)} variants takes on {campaign.task} while loading, at first and later.",
        caption="The highest mark of each phase beyond what the libraries take by being imported: opening the model, "
        "its first call, and calls on all texts.",
        chart=_grouped(known),
    )


def _parts(lines: Sequence[Line], runs: Mapping[str, Run], metrics: Mapping[str, str]) -> Parts:
    """What each recipe's runs measured of each part, averaged over seeds; recipes without are left out."""
    found: Parts = {}
    for line in lines:
        done = [runs[run] for run in line.runs if run in runs]
        for metric, part in metrics.items():
            values = [measured.value for run in done if (measured := run.measured(metric))]
            if values:
                found.setdefault(line.recipe, {})[part] = fmean(values)
    return found


def _stacked(name: str, lines: Sequence[Line], parts: Parts, title: str, caption: str) -> Figure | None:
    if not parts:
        return None
    task = lines[0].task
    order = list(dict.fromkeys(part for of_recipe in parts.values() for part in of_recipe))
    told = megabytes if "MB" in title else millions
    values = [
        {"recipe": recipe, "part": part, "amount": amount / MILLION, "told": told(amount), "place": order.index(part)}
        for recipe, of_recipe in parts.items()
        for part, amount in of_recipe.items()
    ]
    totals = [
        {"recipe": recipe, "amount": sum(of_recipe.values()) / MILLION, "told": told(sum(of_recipe.values()))}
        for recipe, of_recipe in parts.items()
    ]
    return Figure(
        name=file_name(name, task),
        alt=f"{title} of {len(parts)} recipes on {task}, by part: {', '.join(order)}.",
        caption=caption,
        chart=_bars(values, totals, order, title),
    )


def _bars(values: list[dict[str, Any]], totals: list[dict[str, Any]], order: list[str], title: str) -> alt.LayerChart:
    recipes = [total["recipe"] for total in totals]
    y = alt.Y("recipe:N", title=None, sort=recipes, axis=alt.Axis(labelLimit=190))
    end = BEYOND * max(total["amount"] for total in totals) or 1.0
    scale = alt.Scale(domain=[0, end], nice=False)
    bars = (
        alt.Chart(rows(values))
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("amount:Q", title=title, scale=scale, stack=True),
            color=alt.Color("part:N", title=None, scale=_colours(order)),
            order=alt.Order("place:Q"),
            tooltip=[alt.Tooltip("recipe:N"), alt.Tooltip("part:N"), alt.Tooltip("told:N", title="amount")],
        )
    )
    written = (
        alt.Chart(rows(totals))
        .mark_text(align="left", dx=6)
        .encode(y=y, x=alt.X("amount:Q", scale=scale), text="told:N")
    )
    return layered(bars, written).properties(width=WIDTH, height=ROW_HEIGHT * len(totals))


def _grouped(known: Parts) -> alt.LayerChart:
    values = [
        {"variant": name, "phase": phase, "amount": amount / MILLION, "told": megabytes(amount)}
        for name, phases in known.items()
        for phase, amount in phases.items()
    ]
    order = [phase for phase in PHASES if any(phase in phases for phases in known.values())]
    chart = alt.Chart(rows(values)).encode(
        y=alt.Y("variant:N", title=None, sort=list(known), axis=alt.Axis(labelLimit=190)),
        yOffset=alt.YOffset("phase:N", sort=order),
        x=alt.X("amount:Q", title="MB of memory", scale=alt.Scale(zero=True)),
        tooltip=[alt.Tooltip("variant:N"), alt.Tooltip("phase:N"), alt.Tooltip("told:N", title="memory")],
    )
    bars = chart.mark_bar().encode(color=alt.Color("phase:N", title=None, sort=order, scale=_colours(order)))
    return layered(bars).properties(width=WIDTH, height=BARS_HEIGHT * len(known))


def _colours(order: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=list(order), range=[SERIES[place % len(SERIES)] for place in range(len(order))])
