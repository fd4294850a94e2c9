"""The logbook writes down every call as it was told, and counts answers that changed."""

import pytest

from workbench.logbook import Logbook, Visit

OPENED = {"load_ns": 5_000_000, "model_ns": [900, 300], "tokens": [7, 9], "logits": [[1.0, -1.0], [-1.0, 1.0]]}


def block(logits=OPENED["logits"], **changes):
    times = {"tokenize_ns": [10, 20], "model_ns": [100, 200], "cpu_seconds": 0.5, "switches": 1}
    return {**times, "logits": logits, **changes}


@pytest.fixture
def log():
    made = Logbook(["baseline", "drop"])
    made.ready("drop", 0, OPENED)
    return made


def test_how_a_contestant_started_is_noted(log):
    seen = log.seen["drop"]
    assert (seen.load_ns, seen.first_call_ns, seen.tokens) == ([5_000_000], [900], [7, 9])
    first = log.timings().calls("drop", "first")
    assert first["model_ns"].tolist() == [900, 300]
    assert first["tokens"].tolist() == [7, 9]
    assert first["tokenize_ns"].isna().all()


def test_every_call_of_a_turn_is_noted_with_where_it_stood(log):
    log.block(Visit("drop", 1, "natural", round=3, place=2), block(), kept=True)
    table = log.timings().calls("drop")
    assert table[["process", "round", "place", "samples"]].drop_duplicates().values.tolist() == [[1, 3, 2, 1]]
    assert table["text"].tolist() == [0, 1]
    assert table["tokenize_ns"].tolist() == [10, 20]
    assert (log.seen["drop"].cpu_seconds, log.seen["drop"].samples) == (0.5, 2)


def test_a_noisy_turn_is_noted_and_does_not_count(log):
    log.block(Visit("drop", 0, "natural"), block(), kept=False)
    assert len(log.timings().calls("drop")) == 0
    assert len(log.timings().table) == 4


def test_calls_of_a_shape_have_no_text(log):
    log.calls(Visit("drop", 0, "grid", samples=8, tokens=64), {"model_ns": [1000, 1100]})
    grid = log.timings().calls("drop", "grid")
    assert grid["samples"].tolist() == [8, 8]
    assert grid["tokens"].tolist() == [64, 64]
    assert grid["text"].isna().all()


def test_answers_that_change_are_counted_once_however_often_they_do(log):
    log.block(Visit("drop", 0, "natural"), block(), kept=True)
    assert log.seen["drop"].unsteady == 0
    for number in (1, 2):
        log.block(Visit("drop", 0, "natural", round=number), block([[1.0, -1.0], [1.0, -1.0]]), kept=True)
        assert log.seen["drop"].unsteady == 1


def test_whoever_was_never_heard_of_has_nothing(log):
    assert log.seen["baseline"].load_ns == []
    assert log.timings().log_ratios("baseline", "drop") == []
