"""Test rows are kept once beside the runs and read back as they were."""

import pyarrow
import pytest

from workbench.errors import StoreError
from workbench.kept_rows import keep_rows, read_rows
from workbench.tasks.task import Row

TESTS = {
    "matched": (Row("matched-0", ("a premise", "a hypothesis"), 2), Row("matched-1", ("", "ünïcödé 🙂\n|"), 0)),
    "mismatched": (Row("mismatched-0", ("another", "pair"), 1),),
}


def test_rows_are_read_back_as_they_were_by_part(tmp_path):
    path = tmp_path / "rows" / "abc.parquet"
    keep_rows(path, TESTS)
    assert read_rows(path) == TESTS
    assert list(read_rows(path)) == ["matched", "mismatched"]
    assert [found.name for found in path.parent.iterdir()] == ["abc.parquet"]


def test_scores_and_single_texts_are_rows_too(tmp_path):
    rows = {"test": (Row("test-0", ("one",), 2.5), Row("test-1", ("two",), 3))}
    keep_rows(tmp_path / "rows.parquet", rows)
    assert read_rows(tmp_path / "rows.parquet") == rows


def test_rows_that_are_there_are_not_written_again(tmp_path):
    path = tmp_path / "rows.parquet"
    keep_rows(path, TESTS)
    before = path.stat()
    keep_rows(path, {"test": (Row("test-0", ("other",), 0),)})
    assert read_rows(path) == TESTS
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(pyarrow.ArrowException):
        keep_rows(tmp_path / "rows.parquet", {"test": (Row("a", ("x",), 1), Row("b", ("y",), "two"))})
    assert list(tmp_path.iterdir()) == []


def test_rows_of_an_older_store_are_missed_with_the_way_out(tmp_path):
    with pytest.raises(StoreError, match=r"rows\.parquet: the test rows of these runs were not kept; run their study"):
        read_rows(tmp_path / "rows.parquet")


@pytest.mark.parametrize("content", [b"", b"not Parquet", b"PAR1" + b"\0" * 20 + b"PAR1"])
def test_damaged_rows_are_named_with_the_way_out(content, tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"rows\.parquet: test rows cannot be read \(.*\); remove it and run"):
        read_rows(path)
