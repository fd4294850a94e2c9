"""The bars of an answer chart are the probabilities that were answered."""

from __future__ import annotations

import pytest

from reports.chart_answers import MOST_LABELS, OTHERS, answers_figure
from workbench.prediction_records import Answer


def an_answer(**shares: float) -> Answer:
    return Answer(milliseconds=1.0, label=max(shares, key=shares.__getitem__), probabilities=shares)


def segments(figure) -> list[dict]:
    (data,) = {str(layer["data"]): layer["data"] for layer in figure.spec()["layer"]}.values()
    return data["values"]


def test_every_variant_has_a_bar_of_its_probabilities():
    figure = answers_figure({"baseline": an_answer(bad=0.25, good=0.75), "int8": an_answer(bad=0.6, good=0.4)})
    found = [(one["variant"], one["label"], one["from"], one["to"]) for one in segments(figure)]
    assert found == [
        ("baseline", "bad", 0.0, 0.25),
        ("baseline", "good", 0.25, 1.0),
        ("int8", "bad", 0.0, 0.6),
        ("int8", "good", 0.6, 1.0),
    ]
    assert "baseline: good 75.0 %; int8: bad 60.0 %" in figure.alt


def test_a_share_without_room_for_its_number_has_none():
    figure = answers_figure({"baseline": an_answer(bad=0.05, good=0.95)})
    assert [one["written"] for one in segments(figure)] == ["", "95.0 %"]


def test_the_least_likely_of_many_labels_are_drawn_together():
    shares = {f"label {number}": 0.5 if number == 19 else 0.5 / 19 for number in range(20)}
    found = segments(answers_figure({"baseline": an_answer(**shares)}))
    assert len(found) == MOST_LABELS
    assert [one["label"] for one in found][-2:] == ["label 19", OTHERS]
    assert found[-1]["to"] == pytest.approx(1.0)


def test_scores_have_no_bars():
    assert answers_figure({"baseline": Answer(milliseconds=1.0, score=2.5)}) is None


def test_the_chart_can_be_drawn():
    assert "<svg" in answers_figure({"<b>&": an_answer(**{"<i>": 0.2, "good": 0.8})}).svg()
