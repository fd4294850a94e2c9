"""Rows hold every number in full, a cell for each heading, and no text that a spreadsheet would run."""

import pytest
from records import a_comparison, a_judged, a_line, a_quality, a_time

from reports.rows import comparison_rows, plain_text
from workbench.delta import Delta
from workbench.line import mean_line


def by_heading(*lines, **changes) -> list[dict]:
    header, *rows = comparison_rows(a_comparison(*lines, **changes))
    assert len(set(header)) == len(header)
    return [dict(zip(header, row, strict=True)) for row in rows]


def a_full_line():
    return a_line(
        "drop",
        a_quality(0.7891234567, 0.01, 0.8, verdict="worse"),
        latency=a_time(12.3456789),
        memory=Delta.counted("memory", "bytes", 60e6, 100e6, 0.05),
        disk=25e6,
        judged=a_judged(p=0.03, largest_share=0.96),
        p_adjusted=0.06,
        runs=("a", "b"),
        seeds=(0, 1),
        runtime="torch",
        portable=True,
        zeroed=0.25,
        agreement=0.9,
        seconds=1.5,
        caveats=("one", "two"),
    )


def test_every_number_is_there_in_full_under_a_heading_with_its_unit():
    (row,) = by_heading(a_full_line())
    assert (row["task"], row["recipe"], row["metric"], row["runtime"], row["portable"]) == (
        "reviews",
        "drop",
        "accuracy",
        "torch",
        True,
    )
    assert (row["quality_value"], row["quality_baseline"], row["quality_verdict"]) == (0.7891234567, 0.8, "worse")
    assert (row["quality_low"], row["quality_high"]) == pytest.approx((0.7791234567, 0.7991234567))
    assert row["quality_times_as_good"] == pytest.approx(0.7891234567 / 0.8)
    assert (row["latency_ms_value"], row["latency_ms_baseline"]) == (12.3456789, 20)
    assert (row["latency_times_as_good"], row["latency_verdict"]) == (pytest.approx(20 / 12.3456789), "better")
    assert (row["memory_bytes_value"], row["disk_bytes_value"], row["disk_times_as_good"]) == (60e6, 25e6, 4)
    assert (row["p"], row["p_adjusted"], row["share_shown_to_be_kept"]) == (0.03, 0.06, 0.96)
    assert (row["seeds"], row["runs"], row["failures"], row["caveats"]) == ("0 1", "a b", "", "one; two")
    assert (row["zeroed"], row["agreement"], row["seconds"]) == (0.25, 0.9, 1.5)


def test_what_was_not_measured_is_an_empty_cell():
    (row,) = by_heading(a_line("drop", None, failures=("no room",), runs=(), seeds=()))
    empty = [heading for heading, cell in row.items() if cell is None]
    assert {"quality_value", "latency_ms_value", "memory_verdict", "p"} <= set(empty)
    assert (row["failures"], row["seeds"], row["runs"]) == ("no room", "", "")


def test_means_have_rows_of_their_own():
    lines = [a_full_line().model_copy(update={"task": task}) for task in "ab"]
    rows = by_heading(*lines, means=(mean_line(lines),))
    assert [row["task"] for row in rows] == ["a", "b", "all tasks"]
    assert rows[-1]["quality_value"] == pytest.approx(0.7891234567)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_text_that_a_spreadsheet_would_run_is_marked_as_text(text):
    assert plain_text(text) == f"'{text}"
    (row,) = by_heading(a_line("drop", None, failures=(text,), caveats=(text,), runtime=text, task=text))
    for heading in ("failures", "caveats", "runtime", "task"):
        assert row[heading] == f"'{text}"


def test_plain_texts_and_numbers_below_zero_stay_as_they_are():
    assert plain_text("drop-int8") == "drop-int8"
    (row,) = by_heading(a_line("drop", a_quality(-0.25, base=0.5)))
    assert row["quality_value"] == -0.25
