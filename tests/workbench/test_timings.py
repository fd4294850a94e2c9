"""Every timed call is kept as it was seen, and what calls come to is computed from those that count."""

import math
from typing import Any

import pandas as pd
import pytest

from workbench.errors import StoreError
from workbench.timings import COLUMNS, FILE, Timings

MS = 1_000_000


def call(entry: str, model_ms: float, **changes: Any) -> dict[str, object]:
    facts: dict[str, Any] = {"process": 0, "sort": "natural", "round": 0, "place": 0, "text": 0, "samples": 1}
    times = {"tokens": 12, "tokenize_ns": MS // 10, "model_ns": round(model_ms * MS), "kept": True}
    return {"entry": entry, **facts, **times, **changes}


def rounds(entry: str, process: int, *times: list[float]) -> list[dict[str, object]]:
    """The calls of one process: a list of milliseconds for each round."""
    return [
        call(entry, time, process=process, round=number, text=text)
        for number, one in enumerate(times)
        for text, time in enumerate(one)
    ]


def test_a_table_is_read_back_as_it_was_written(tmp_path):
    calls = [
        *rounds("baseline", 0, [1, 2], [3, 4]),
        call("drop", 5, sort="first", tokenize_ns=None),
        call("drop", 6, sort="throughput", text=None, tokens=None, samples=32, tokenize_ns=None),
        call("drop", 7, kept=False),
    ]
    written = Timings.of(calls)
    written.write(tmp_path)
    again = Timings.read(tmp_path)
    pd.testing.assert_frame_equal(again.table, written.table)
    assert list(again.table.columns) == list(COLUMNS)
    assert again.table["text"].isna().sum() == 1
    assert again.table["model_ns"].tolist() == [time * MS for time in (1, 2, 3, 4, 5, 6, 7)]


def test_a_table_without_calls_is_kept_too(tmp_path):
    Timings.of([]).write(tmp_path)
    assert len(Timings.read(tmp_path).table) == 0


@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_a_table_that_cannot_be_read_is_named(damage, tmp_path):
    if damage == "cut":
        Timings.of(rounds("baseline", 0, [1.0])).write(tmp_path)
        (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:100])
    if damage == "other":
        pd.DataFrame({"something": [1]}).to_parquet(tmp_path / FILE)
    with pytest.raises(StoreError, match=rf"{FILE}: timings cannot be read \("):
        Timings.read(tmp_path)


def test_log_ratios_are_paired_by_round_one_list_for_each_process():
    found = Timings.of(
        [
            *rounds("baseline", 0, [2, 4, 8], [10, 10, 10]),
            *rounds("drop", 0, [1, 2, 4], [2.5, 2.5, 2.5]),
            *rounds("baseline", 1, [3, 3, 3]),
            *rounds("drop", 1, [3, 3, 3]),
        ]
    ).log_ratios("baseline", "drop")
    assert found == [pytest.approx([math.log(2), math.log(4)]), pytest.approx([0.0])]


def test_a_round_that_only_one_of_two_had_is_left_out():
    timings = Timings.of(
        [*rounds("baseline", 0, [4], [4], [4]), *rounds("drop", 0, [2], [1]), call("drop", 1, round=9)]
    )
    assert timings.log_ratios("baseline", "drop") == [pytest.approx([math.log(2), math.log(4)])]


def test_a_dropped_round_does_not_count():
    noisy = [{**one, "kept": False, "round": 1} for one in rounds("drop", 0, [100])]
    timings = Timings.of([*rounds("baseline", 0, [4], [4]), *rounds("drop", 0, [2]), *noisy])
    assert timings.log_ratios("baseline", "drop") == [pytest.approx([math.log(2)])]
    assert timings.process_medians("drop") == [2.0]


def test_where_one_of_two_was_never_timed_there_are_no_ratios():
    timings = Timings.of(rounds("drop", 0, [2], [2]))
    assert timings.log_ratios("baseline", "drop") == []
    assert timings.log_ratios("drop", "baseline") == []
    assert Timings.of([]).log_ratios("baseline", "drop") == []


def test_a_call_with_its_tokens_is_the_sum_of_both():
    timings = Timings.of(rounds("drop", 0, [1, 2, 3]) + rounds("drop", 1, [5, 5, 5]))
    assert timings.process_medians("drop") == [2.0, 5.0]
    assert timings.process_medians("drop", "tokenize") == pytest.approx([0.1, 0.1])
    assert timings.process_medians("drop", "both") == pytest.approx([2.1, 5.1])


@pytest.mark.parametrize(("share", "least"), [(90, 64), (99, 662)])
def test_a_tail_is_absent_where_calls_are_too_few_to_know_it(share, least):
    calls = [call("drop", number + 1, text=number) for number in range(least)]
    told = Timings.of(calls).percentile("drop", share)
    assert told == pytest.approx(1 + (least - 1) * share / 100)
    assert Timings.of(calls[1:]).percentile("drop", share) is None


def test_only_calls_that_count_make_up_a_tail():
    calls = [call("drop", 1, text=number, kept=number > 0) for number in range(64)]
    others = [call("drop", 9, sort="first"), call("baseline", 9)]
    assert Timings.of([*calls, *others]).percentile("drop", 90) is None


def test_samples_a_second_are_all_samples_over_all_time_of_each_process():
    passes = [
        call("drop", 500, sort="throughput", samples=10, process=0),
        call("drop", 1500, sort="throughput", samples=10, process=0),
        call("drop", 100, sort="throughput", samples=10, process=1),
    ]
    assert Timings.of(passes).samples_a_second("drop") == pytest.approx([10.0, 100.0])
