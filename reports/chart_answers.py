"""The answer chart: how sure each variant is of each label, one bar a variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from reports.figure import Figure, layered, rows
from reports.palette import GREY, LIGHT_PAPER, SERIES
from reports.wording import percent
from workbench.prediction_records import Answer

WIDTH, BAR = 660, 34
# More labels than colours: the least likely ones are drawn together.
MOST_LABELS = len(SERIES) - 1
OTHERS = "all other labels"
# A share narrower than this has no room for its number.
ROOM_FOR_NUMBER = 0.09


def answers_figure(answers: Mapping[str, Answer]) -> Figure | None:
    """Draw the probability that each variant gives each label; absent where they answer with scores."""
    shares = {name: answer.probabilities for name, answer in answers.items() if answer.probabilities}
    if not shares:
        return None
    labels = _drawn_labels(list(shares.values()))
    spoken = "; ".join(f"{name}: {answers[name].label} {percent(answers[name].probability)}" for name in shares)
    return Figure(
        name="answers",
        alt=f"Probability of each label by variant. {spoken}.",
        caption="The probability that each variant gives each label.",
        chart=_bars(shares, labels),
    )


def _drawn_labels(shares: Sequence[Mapping[str, float]]) -> list[str]:
    """The labels that get a colour, in their own order: all, or those that some variant holds most likely."""
    known = list(dict.fromkeys(label for one in shares for label in one))
    if len(known) <= MOST_LABELS:
        return known
    likeliest = sorted(known, key=lambda label: -max(one.get(label, 0.0) for one in shares))[: MOST_LABELS - 1]
    return [label for label in known if label in likeliest]


def _bars(shares: Mapping[str, Mapping[str, float]], labels: Sequence[str]) -> alt.LayerChart:
    segments = [segment for name, one in shares.items() for segment in _segments(name, one, labels)]
    shown = [*labels, *([OTHERS] if any(segment["label"] == OTHERS for segment in segments) else [])]
    colours = [*SERIES[: len(labels)], GREY][: len(shown)]
    y = alt.Y("variant:N", title=None, sort=list(shares), axis=alt.Axis(labelLimit=240, ticks=False, domain=False))
    axis = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    bars = (
        alt.Chart(rows(segments))
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("from:Q", title="probability", scale=alt.Scale(domain=[0, 1]), axis=axis),
            x2="to:Q",
            color=alt.Color("label:N", title=None, scale=alt.Scale(domain=shown, range=colours)),
            tooltip=[alt.Tooltip("variant:N"), alt.Tooltip("label:N"), alt.Tooltip("told:N", title="probability")],
        )
    )
    written = alt.Chart(rows(segments)).mark_text(color=LIGHT_PAPER).encode(y=y, x="middle:Q", text="written:N")
    return layered(bars, written).properties(width=WIDTH, height=BAR * len(shares))


def _segments(name: str, shares: Mapping[str, float], labels: Sequence[str]) -> list[dict[str, Any]]:
    """The pieces of one bar, each with the place where it begins and ends."""
    found, start = [], 0.0
    rest = sum(share for label, share in shares.items() if label not in labels)
    for label, share in [*((label, shares[label]) for label in labels if label in shares), (OTHERS, rest)]:
        if label == OTHERS and not rest:
            continue
        told = percent(share)
        found.append(
            {
                **{"variant": name, "label": label, "from": start, "to": start + share, "told": told},
                **{"middle": start + share / 2, "written": told if share >= ROOM_FOR_NUMBER else ""},
            }
        )
        start += share
    return found
