"""The confusion chart: how many rows of each label got each answer, as a square of cells."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from reports.figure import Figure, file_name, layered, rows
from reports.palette import BLUE, DARK_PAPER, GREY, LIGHT_PAPER
from reports.wording import percent

CELL, SMALL_CELL = 74, 30
# In a square of more labels than this, numbers do not fit their cells; they show on hovering.
MOST_NUMBERS = 8
# A darker cell needs white numbers.
DARK_FROM = 0.55
# The cells bring their own ground, so that they look alike on light and dark pages.
PALE = "#e9f1f8"


def confusion_figure(recipe: str, labels: Sequence[str], table: Sequence[Sequence[int]]) -> Figure:
    """Draw the answers of one recipe; each row of cells is a true label, shaded by the share of its rows."""
    cell = CELL if len(labels) <= MOST_NUMBERS else SMALL_CELL
    right = sum(table[place][place] for place in range(len(labels)))
    return Figure(
        name=file_name("confusion", recipe),
        alt=f"Answers of {recipe} by true label; {right:,} of {sum(map(sum, table)):,} are right.",
        caption="",
        chart=_chart(labels, table).properties(width=cell * len(labels), height=cell * len(labels), title=recipe),
    )


def _chart(labels: Sequence[str], table: Sequence[Sequence[int]]) -> alt.LayerChart:
    values = [
        {
            "label": label,
            "answer": answer,
            "count": count,
            "told": f"{count:,}",
            "share": count / (sum(counts) or 1),
            "of all": percent(count / (sum(counts) or 1)),
        }
        for label, counts in zip(labels, table, strict=True)
        for answer, count in zip(labels, counts, strict=True)
    ]
    chart = alt.Chart(rows(values)).encode(
        x=alt.X("answer:N", title="answered", sort=list(labels), axis=alt.Axis(labelAngle=-30, labelLimit=120)),
        y=alt.Y("label:N", title="true label", sort=list(labels), axis=alt.Axis(labelLimit=120)),
        tooltip=[
            alt.Tooltip("label:N", title="true label"),
            alt.Tooltip("answer:N", title="answered"),
            alt.Tooltip("count:Q", title="rows", format=","),
            alt.Tooltip("of all:N", title="of the label's rows"),
        ],
    )
    shades = alt.Scale(domain=[0, 1], range=[PALE, BLUE], interpolate="rgb")
    cells = chart.mark_rect(stroke=GREY, strokeWidth=0.5).encode(
        color=alt.Color("share:Q", scale=shades, legend=None),
    )
    if len(labels) > MOST_NUMBERS:
        return layered(cells)
    ink = alt.when(alt.datum.share > DARK_FROM).then(alt.value(LIGHT_PAPER)).otherwise(alt.value(DARK_PAPER))
    return layered(cells, chart.mark_text().encode(text="told:N", color=ink))
