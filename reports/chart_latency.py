"""The latency chart: how the timed calls of every variant are spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from reports.figure import Figure, file_name, layered, rows
from reports.palette import BLUE, LIGHT_PAPER
from reports.time_axis import wide_axis
from reports.wording import milliseconds
from workbench.dossier import Spread

WIDTH, ROW_HEIGHT = 620, 30
MARKS = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


def latency_figure(task: str, spreads: Sequence[Spread]) -> Figure | None:
    """Draw the spread of every variant of a task, the fastest first; absent where nothing was timed."""
    newest = {spread.entry: spread for spread in spreads if spread.task == task}
    if not newest:
        return None
    drawn = sorted((_row(spread) for spread in newest.values()), key=lambda row: float(row["p50"]))
    return Figure(
        name=file_name("latency", task),
        alt=f"How long single calls of {len(drawn)} variants took on {task}: the middle and the spread of each.",
        caption="Each call is the model on one real text. The line in a bar is the median (written beside it), the bar "
        "holds the middle half of all calls, the whisker nine tenths. Texts of different lengths make most of the "
        "spread.",
        chart=_chart(drawn),
    )


def quantile(spread: Spread, share: float) -> float:
    """How many milliseconds this share of the calls took at most."""
    marks = spread.quantiles_ms
    return float(np.interp(share, np.linspace(0, 1, len(marks)), marks))


def _row(spread: Spread) -> dict[str, Any]:
    marks = {name: quantile(spread, share) for name, share in MARKS.items()}
    told = {f"told {name}": milliseconds(value) for name, value in marks.items()}
    return {"variant": spread.entry, "calls": spread.calls, **marks, **told}


def _chart(drawn: list[dict[str, Any]]) -> alt.LayerChart:
    names = [row["variant"] for row in drawn]
    low, high = min(row["p05"] for row in drawn), max(row["p95"] for row in drawn)
    y = alt.Y("variant:N", title=None, sort=names, axis=alt.Axis(labelLimit=190))
    titles = {"p05": "5 %", "p25": "25 %", "p50": "median", "p75": "75 %", "p95": "95 %"}
    tooltip = [alt.Tooltip("variant:N"), alt.Tooltip("calls:Q", format=",")]
    tooltip += [alt.Tooltip(f"told {name}:N", title=f"{title} took at most") for name, title in titles.items()]
    spread = alt.Chart(rows(drawn)).encode(y=y, tooltip=tooltip)
    across = wide_axis("p05:Q", "time of one call, ms", low, high, room=24, zero=True)
    return layered(
        spread.mark_rule(strokeWidth=1.5).encode(x=across, x2="p95:Q"),
        spread.mark_bar(height=14, color=BLUE, opacity=0.85).encode(x=alt.X("p25:Q"), x2="p75:Q"),
        spread.mark_tick(thickness=2, height=14, color=LIGHT_PAPER).encode(x=alt.X("p50:Q")),
        spread.mark_text(align="left", dx=7).encode(x=alt.X("p95:Q"), text="told p50:N"),
    ).properties(width=WIDTH, height=ROW_HEIGHT * len(drawn))
