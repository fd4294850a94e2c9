"""The table of numbers keeps numbers as numbers, in the units of its headings; what is not known is absent."""

import pytest
from records import a_line

from reports.number_table import COLUMNS, head_rows, number_rows
from workbench.delta import Delta
from workbench.run_index import RunHead


def test_numbers_are_in_the_unit_of_their_heading():
    line = a_line("drop", 0.79, ms=5.0, disk=20e6, memory=Delta.counted("memory", "bytes", 50e6, 200e6))
    (row,) = number_rows([line])
    assert row["quality"] == pytest.approx(79)
    assert row["kept, %"] == pytest.approx(98.75)
    assert (row["ms a call"], row["× faster"]) == (5.0, pytest.approx(4))
    assert (row["disk, MB"], row["× smaller"], row["memory, MB"]) == (20.0, 5.0, 50.0)


def test_intervals_and_verdicts_stand_beside_them_in_words():
    (row,) = number_rows([a_line("drop", 0.79, ms=5.0, disk=20e6)])
    assert row["quality, 95 %"] == "78.0 to 80.0"
    assert row["× faster, 95 %"] == "3.92 to 4.08"
    assert (row["speed is"], row["disk is"]) == ("faster", "smaller")


def test_the_baseline_has_no_verdict_on_itself():
    rows = number_rows([a_line("baseline", ms=20.0), a_line("drop", ms=5.0)])
    assert [row["speed is"] for row in rows] == ["", "faster"]


def test_columns_that_nothing_was_measured_for_are_left_out():
    (row,) = number_rows([a_line("drop")])
    assert not {"ms a call", "memory, MB", "failed"} & set(row)


def test_a_failed_recipe_has_its_error_and_no_numbers():
    rows = number_rows([a_line("good", 0.8), a_line("sunk", None, runs=(), seeds=(), failures=("no room", "no time"))])
    assert rows[1]["failed"] == "no room; no time"
    assert rows[1]["quality"] is None


def test_every_column_says_what_it_means():
    assert all(column.meaning for column in COLUMNS)
    assert len({column.heading for column in COLUMNS}) == len(COLUMNS)


def test_the_index_alone_fills_a_first_table():
    head = RunHead(
        **{"id": "a", "study": "s", "task": "t", "recipe": "drop", "control_of": "", "seed": 1, "status": "failed"},
        **{"created": "", "metric": None, "quality": None, "agreement": None, "disk_bytes": 5e6, "parameters": None},
        **{"data_fingerprint": "d", "machine": "m", "imported": False, "failure": "no room"},
    )
    (row,) = head_rows([head])
    assert (row["recipe"], row["disk, MB"], row["quality"], row["failed"]) == ("drop", 5.0, None, "no room")
