"""The user's own CSV, TSV, JSONL and Parquet files are read alike, and refused with the place of the fault."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet
from pydantic import ValidationError

from workbench.errors import DataError
from workbench.tasks.data import read_task
from workbench.tasks.own_files import OwnTask
from workbench.tasks.task import Task

SUFFIXES = ("csv", "tsv", "jsonl", "parquet")
HARD_TEXTS = (
    "plain",
    'he said "no", twice',
    "two\nlines",
    "tab\there",
    "ünïcödé 漢字 🎬",
    "  spaces around  ",
    "line\u2028separator",
    "semi;colon, comma",
)
ROWS = [{"text": HARD_TEXTS[n % len(HARD_TEXTS)], "label": ("no", "yes")[n % 2]} for n in range(24)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def task_over(folder: Path, suffix: str = "csv", test: str | None = None, **more: Any) -> Task:
    facts = {"name": "own", "train": f"train.{suffix}", "test": test or f"train.{suffix}", "text": "text"}
    return OwnTask.model_validate({**facts, "label": "label", **more}).declared(folder)


def fault(folder: Path, name: str, **more: Any) -> str:
    """What is said of a test file beside a good training file."""
    write(folder / "train.csv", ROWS)
    with pytest.raises(DataError) as caught:
        read_task(task_over(folder, test=name, **more))
    return str(caught.value).replace(str(folder / name), name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_rows_whatever_is_in_the_texts(suffix, tmp_path):
    write(tmp_path / f"train.{suffix}", ROWS)
    task = task_over(tmp_path, suffix)
    data = read_task(task)
    assert task.labels == ("no", "yes")
    assert [row.texts[0] for row in data.tests["test"]] == [row["text"] for row in ROWS]
    assert [task.labels[row.label] for row in data.tests["test"]] == [row["label"] for row in ROWS]


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    write(tmp_path / "train.csv", ROWS)
    path = tmp_path / "train.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_task(task_over(tmp_path)).counts()["test"] == 24


def test_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\r\n" for row in ROWS))
    assert read_task(task_over(tmp_path, "jsonl")).tests["test"][0].texts == ("plain",)


def test_blank_lines_are_left_out(tmp_path):
    write(tmp_path / "train.jsonl", ROWS)
    path = tmp_path / "train.jsonl"
    path.write_text("\n" + path.read_text() + "\n  \n")
    assert read_task(task_over(tmp_path, "jsonl")).counts()["test"] == 24


def test_pairs_are_read_in_the_order_of_the_columns(tmp_path):
    write(tmp_path / "train.csv", [{"b": f"b{n}", "a": f"a{n}", "label": str(n % 2)} for n in range(20)])
    data = read_task(task_over(tmp_path, text=["a", "b"]))
    assert data.task.text_count == 2
    assert data.tests["test"][3].texts == ("a3", "b3")


def test_labels_that_are_numbers_are_read_as_written(tmp_path):
    write(tmp_path / "train.jsonl", [{"text": "t", "label": n % 3} for n in range(20)])
    assert task_over(tmp_path, "jsonl").labels == ("0", "1", "2")


def test_given_labels_decide_the_order_and_may_be_written_as_numbers(tmp_path):
    write(tmp_path / "train.csv", [{"text": "t", "label": str(n % 2)} for n in range(20)])
    data = read_task(task_over(tmp_path, labels=[1, 0]))
    assert data.task.labels == ("1", "0")
    assert [row.label for row in data.tests["test"][:2]] == [1, 0]


def test_a_label_outside_the_given_set_names_its_line(tmp_path):
    write(tmp_path / "test.csv", [{"text": "t", "label": "maybe"}])
    assert fault(tmp_path, "test.csv") == "test.csv:2: label 'maybe' is not one of no, yes"


def test_labels_listed_twice_are_refused():
    with pytest.raises(ValidationError, match="twice"):
        OwnTask(name="own", train="a.csv", test="a.csv", text=("t",), label="l", labels=("a", "b", "a"))


def test_a_classification_whose_training_rows_all_have_one_label_is_refused(tmp_path):
    write(tmp_path / "train.csv", [{"text": f"t{n}", "label": "no"} for n in range(20)])
    with pytest.raises(DataError, match=r"train\.csv.*'no'"):
        task_over(tmp_path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_column_names_the_place_and_the_columns_there_are(suffix, tmp_path):
    write(tmp_path / f"test.{suffix}", [{"txt": "t", "label": "no"}])
    said = fault(tmp_path, f"test.{suffix}")
    assert said.startswith(f"test.{suffix}")
    assert "no column 'text'; this row has: txt, label" in said


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("column", ["text", "label"])
def test_an_empty_cell_names_its_place_and_column(suffix, column, tmp_path):
    nothing = "" if suffix in {"csv", "tsv"} else None
    rows = [{"text": "t", "label": "no"}, {"text": "t", "label": "no", column: nothing}]
    write(tmp_path / f"test.{suffix}", rows)
    said = fault(tmp_path, f"test.{suffix}")
    place = "test.parquet row 1" if suffix == "parquet" else f"test.{suffix}:{3 if nothing == '' else 2}"
    assert said == f"{place}: column {column!r} is empty"


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_an_empty_label_in_the_training_file_does_not_become_a_label(suffix, tmp_path):
    write(tmp_path / f"train.{suffix}", [*ROWS, {"text": "t", "label": ""}])
    with pytest.raises(DataError, match="column 'label' is empty"):
        task_over(tmp_path, suffix)


@pytest.mark.parametrize("row", ["one cell", "t,no,more", '"t"'])
def test_a_line_with_another_number_of_columns_is_named(row, tmp_path):
    (tmp_path / "test.csv").write_text(f"text,label\nt,no\n{row}\n")
    assert fault(tmp_path, "test.csv") == "test.csv:3: not 2 columns like the header line"


def test_quoting_that_is_broken_names_its_line(tmp_path):
    (tmp_path / "test.csv").write_text('text,label\nt,no\n"a"b,no\nt,no\n')
    assert fault(tmp_path, "test.csv").startswith("test.csv:3: not valid CSV")


def test_a_quote_that_is_never_closed_is_refused(tmp_path):
    (tmp_path / "test.csv").write_text('text,label\nt,no\n"never closed,no\nt,no\n')
    assert "not valid CSV" in fault(tmp_path, "test.csv")


def test_a_text_of_any_length_is_read(tmp_path):
    long = "word " * 40_000
    write(tmp_path / "train.csv", [*ROWS, {"text": long, "label": "no"}])
    assert read_task(task_over(tmp_path)).tests["test"][-1].texts == (long,)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_text_that_is_not_utf8_is_refused(suffix, tmp_path):
    write(tmp_path / f"test.{suffix}", [{"text": "café", "label": "no"}])
    path = tmp_path / f"test.{suffix}"
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    said = fault(tmp_path, f"test.{suffix}")
    assert said.startswith(f"test.{suffix}: not UTF-8 text")
    assert said.endswith("; convert it first")


def test_half_a_character_written_in_json_is_refused_with_its_line(tmp_path):
    (tmp_path / "test.jsonl").write_text('{"text": "fine", "label": "no"}\n{"text": "cut \\ud83d", "label": "no"}\n')
    assert fault(tmp_path, "test.jsonl").startswith("test.jsonl:2: ")


@pytest.mark.parametrize(
    ("line", "words"),
    [("{", "not valid JSON"), ("[1]", "must be a JSON object, not list"), ("3", "JSON object, not int")],
)
def test_a_line_that_is_no_json_object_is_named(line, words, tmp_path):
    (tmp_path / "test.jsonl").write_text(f'{{"text": "t", "label": "no"}}\n{line}\n')
    said = fault(tmp_path, "test.jsonl")
    assert said.startswith("test.jsonl:2: ")
    assert words in said


def test_a_file_that_is_no_parquet_is_refused(tmp_path):
    (tmp_path / "test.parquet").write_text("text,label\n")
    assert fault(tmp_path, "test.parquet").startswith("test.parquet: not a readable Parquet file")


def test_a_missing_file_is_named(tmp_path):
    assert fault(tmp_path, "nowhere.csv") == "nowhere.csv: no such file"


@pytest.mark.parametrize("text", ["", "text,label\n"])
def test_a_file_without_rows_is_refused(text, tmp_path):
    (tmp_path / "test.csv").write_text(text)
    assert "no rows for test" in fault(tmp_path, "test.csv")


def test_a_training_file_without_rows_is_refused(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\n")
    with pytest.raises(DataError, match="no rows for train"):
        read_task(task_over(tmp_path))


def test_other_endings_are_refused_with_the_known_ones():
    with pytest.raises(ValidationError, match=r"a\.xlsx: a data file ends in one of \.csv, \.tsv, \.jsonl, \.parquet"):
        OwnTask(name="own", train="a.xlsx", test="a.csv", text=("t",), label="l")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_regression_labels_are_numbers(suffix, tmp_path):
    numeric = suffix in {"jsonl", "parquet"}
    rows = [{"text": "t", "label": n / 4 if numeric else str(n / 4)} for n in range(20)]
    write(tmp_path / f"train.{suffix}", rows)
    data = read_task(task_over(tmp_path, suffix, kind="regression"))
    assert data.task.metrics == ("pearson", "spearman")
    assert data.task.labels == ()
    assert [row.label for row in data.tests["test"]] == [n / 4 for n in range(20)]


@pytest.mark.parametrize(
    ("label", "words"), [("many", "is not a number"), ("nan", "not a finite number"), ("-inf", "not a finite number")]
)
def test_regression_labels_that_are_no_finite_numbers_name_their_line(label, words, tmp_path):
    rows = [{"text": "t", "label": str(n)} for n in range(20)]
    write(tmp_path / "train.csv", [*rows, {"text": "t", "label": label}])
    with pytest.raises(DataError, match=rf"train\.csv:22: label '{label}' .*{words}"):
        read_task(task_over(tmp_path, kind="regression"))


def test_a_label_that_parquet_holds_as_not_a_number_is_refused(tmp_path):
    rows = [{"text": "t", "label": float(n % 2)} for n in range(20)]
    write(tmp_path / "train.parquet", [*rows, {"text": "t", "label": float("nan")}])
    for kind in ("regression", "classification"):
        with pytest.raises(DataError, match="row 20"):
            read_task(task_over(tmp_path, "parquet", kind=kind))


def test_a_text_column_that_holds_no_text_is_refused(tmp_path):
    write(tmp_path / "test.jsonl", [{"text": ["a", "list"], "label": "no"}])
    assert fault(tmp_path, "test.jsonl").startswith("test.jsonl:1: ")


def test_paths_are_relative_to_the_study_and_the_home_folder_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "train.csv", ROWS)
    (tmp_path / "deep").mkdir()
    task = OwnTask(name="own", train="../train.csv", test="~/train.csv", text=("text",), label="label")
    assert read_task(task.declared(tmp_path / "deep")).counts()["test"] == 24
