"""The user's own data: CSV, TSV, JSONL or Parquet files with named columns."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from workbench.errors import DataError
from workbench.names import checked_name
from workbench.tasks.sources import RawRow, Source, read_jsonl
from workbench.tasks.task import Task

READERS = (".csv", ".tsv", ".jsonl", ".parquet")


class OwnFiles(Source):
    """A training file and a test file of the user's."""

    files: dict[str, str]
    texts: tuple[str, ...]
    label: str

    def describe(self) -> str:
        """Name the files."""
        return f"files {', '.join(self.files.values())}"

    def rows(self, part: str) -> list[RawRow]:
        """Read every row of a file; a missing column or cell is an error that names its place."""
        path = Path(self.files[part])
        if not path.is_file():
            raise DataError(f"{path}: no such file")
        return [self._row(where, record) for where, record in _records(path)]

    def _row(self, where: str, record: dict[str, Any]) -> RawRow:
        for column in (*self.texts, self.label):
            if column not in record:
                raise DataError(f"{where}: no column {column!r}; this row has: {', '.join(map(str, record))}")
            fault = _fault(record[column])
            if fault:
                raise DataError(f"{where}: column {column!r} {fault}")
        return RawRow(where, tuple(str(record[column]) for column in self.texts), record[self.label])


class OwnTask(BaseModel):
    """A task over the user's own files, as written in a study.

    Labels of a classification are the different values of the label column in the training file, sorted, unless
    ``labels`` lists them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["classification", "regression"] = "classification"
    train: str
    test: str
    text: tuple[str, ...] = Field(min_length=1, max_length=2)
    label: str
    labels: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    @field_validator("text", mode="before")
    @classmethod
    def _accept_one_column(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    _name_is_safe = field_validator("name")(checked_name)

    @field_validator("labels", mode="before")
    @classmethod
    def _labels_are_text(cls, value: Any) -> Any:
        return tuple(str(item) for item in value) if isinstance(value, list | tuple) else value

    @field_validator("labels")
    @classmethod
    def _labels_differ(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise ValueError("a label is listed twice")
        return value

    @model_validator(mode="after")
    def _files_are_readable_kinds(self) -> Self:
        for name in (self.train, self.test):
            if Path(name).suffix not in READERS:
                raise ValueError(f"{name}: a data file ends in one of {', '.join(READERS)}")
        return self

    def declared(self, folder: Path) -> Task:
        """Make the task; paths are relative to ``folder``."""
        files = {part: str(folder / Path(name).expanduser()) for part, name in self._parts().items()}
        source = OwnFiles(files=files, texts=self.text, label=self.label)
        return Task(
            name=self.name,
            about=f"own data: {self.train}",
            kind=self.kind,
            metrics=self.metrics or self._usual_metrics(),
            labels=self.labels or self._labels_in(source),
            text_count=len(self.text),
            sources=(source,),
        )

    def _parts(self) -> dict[str, str]:
        return {"train": self.train, "test": self.test}

    def _usual_metrics(self) -> tuple[str, ...]:
        return ("pearson", "spearman") if self.kind == "regression" else ("accuracy",)

    def _labels_in(self, source: OwnFiles) -> tuple[str, ...]:
        if self.kind == "regression":
            return ()
        found = tuple(sorted({str(row.label) for row in source.rows("train")}))
        if len(found) == 1:
            raise DataError(
                f"{source.files['train']}: column {self.label!r} says {found[0]!r} in every row; "
                "a classification needs two labels at least"
            )
        return found


def _fault(value: Any) -> str:
    if value is None or not str(value).strip() or (isinstance(value, float) and math.isnan(value)):
        return "is empty"
    if not isinstance(value, str | int | float):
        return f"holds a {type(value).__name__} where a text or number is expected"
    # JSON can spell half of a character that needs two; no tokenizer takes it.
    return "holds half a character" if any("\ud800" <= char <= "\udfff" for char in str(value)) else ""


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.suffix == ".jsonl":
        return ((f"{path}:{number}", record) for number, record in read_jsonl(path))
    if path.suffix == ".parquet":
        return _parquet_records(path)
    return _csv_records(path, "\t" if path.suffix == ".tsv" else ",")


def _csv_records(path: Path, delimiter: str) -> Iterator[tuple[str, dict[str, Any]]]:
    # Texts may be longer than the 128 kB that the csv module allows a cell.
    csv.field_size_limit(sys.maxsize)
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, delimiter=delimiter, strict=True)
            for record in reader:
                line = reader.line_num + 1
                where = f"{path}:{reader.line_num}"
                if None in record or None in record.values():
                    raise DataError(f"{where}: not {len(reader.fieldnames or ())} columns like the header line")
                yield where, record
    except csv.Error as error:
        raise DataError(f"{path}:{line}: not valid CSV ({error})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason}); convert it first") from None


def _parquet_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from None
    for index, record in enumerate(table.to_pylist()):
        yield f"{path} row {index}", record
