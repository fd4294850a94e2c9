"""The flips chart: how many answers of each label changed, and for better or worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import altair as alt

from reports.figure import Figure, file_name, layered, rows
from reports.palette import DIRECTIONS
from workbench.judged import FlipCount, Judged

WIDTH, ROW_HEIGHT = 560, 30
MOST_LABELS = 20
MEANINGS = {"broken": "right before, now wrong", "mended": "wrong before, now right", "sideways": "wrong otherwise"}


def flips_figure(task: str, recipe: str, judged: Judged | None, labels: Sequence[str]) -> Figure | None:
    """Draw broken answers to the left and mended ones to the right, label by label; absent where nothing changed."""
    if not judged or not judged.flips:
        return None
    total = sum(found.count for found in judged.flips)
    drawn = _most_changed(judged.flips)
    left_out = total - sum(found.count for found in drawn)
    return Figure(
        name=file_name("flips", task, recipe),
        alt=f"{total} answers of {recipe} on {task} that are not the baseline's, by true label and direction.",
        caption="Rows by their true label. To the left: answers that the baseline had right and this has wrong "
        "(broken). To the right: wrong ones that are right now (mended) or wrong in another way (sideways)."
        + (f" Only the {MOST_LABELS} labels with the most changes are drawn." if left_out else ""),
        chart=_chart(drawn, labels),
    )


def label_name(number: int, labels: Sequence[str]) -> str:
    """The name of a label, or its number where it has none."""
    return labels[number] if number < len(labels) else f"label {number}"


def _most_changed(flips: Sequence[FlipCount]) -> list[FlipCount]:
    """The flips of the labels that have most of them, in the order of labels."""
    counts: Counter[int] = Counter()
    for found in flips:
        counts[found.label] += found.count
    kept = {label for label, _ in counts.most_common(MOST_LABELS)}
    return [found for found in flips if found.label in kept]


def _chart(flips: Sequence[FlipCount], labels: Sequence[str]) -> alt.LayerChart:
    values = [
        {
            "label": label_name(found.label, labels),
            "direction": found.direction,
            "count": -found.count if found.direction == "broken" else found.count,
            "rows": found.count,
            "meaning": MEANINGS.get(found.direction, found.direction),
        }
        for found in flips
    ]
    names = list(dict.fromkeys(label_name(found.label, labels) for found in flips))
    shown = [direction for direction in DIRECTIONS if any(found.direction == direction for found in flips)]
    colours = alt.Scale(domain=shown, range=[DIRECTIONS[direction] for direction in shown])
    widest = max(found.count for found in flips)
    bars = (
        alt.Chart(rows(values))
        .mark_bar()
        .encode(
            y=alt.Y("label:N", title=None, sort=names, axis=alt.Axis(labelLimit=190)),
            x=alt.X(
                "count:Q",
                title="rows whose answer changed",
                stack="zero",
                axis=alt.Axis(labelExpr="abs(datum.value)", tickMinStep=1, tickCount=min(8, 2 * widest)),
            ),
            color=alt.Color("direction:N", title=None, scale=colours),
            tooltip=[
                alt.Tooltip("label:N"),
                alt.Tooltip("direction:N"),
                alt.Tooltip("meaning:N"),
                alt.Tooltip("rows:Q", format=","),
            ],
        )
    )
    middle = alt.Chart(rows([{"x": 0}])).mark_rule().encode(x=alt.X("x:Q"))
    return layered(bars, middle).properties(width=WIDTH, height=ROW_HEIGHT * len(names))
