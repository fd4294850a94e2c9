"""Kept rows: the test rows a run answered, beside the runs, once for all runs that answered the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyarrow
from pyarrow import parquet

from workbench.errors import StoreError, first_line
from workbench.tasks.task import Row

COLUMNS = ("part", "id", "texts", "label")


def keep_rows(path: Path, tests: Mapping[str, tuple[Row, ...]]) -> None:
    """Write the test rows of a task, unless they are there already."""
    if path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [(part, row) for part, rows in tests.items() for row in rows]
    table = pyarrow.table(
        {
            "part": [part for part, _ in rows],
            "id": [row.id for _, row in rows],
            "texts": [list(row.texts) for _, row in rows],
            "label": [row.label for _, row in rows],
        }
    )
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        parquet.write_table(table, partial, compression="zstd")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read_rows(path: Path) -> dict[str, tuple[Row, ...]]:
    """Read the test rows of a task by part."""
    try:
        table = parquet.read_table(path, columns=list(COLUMNS)).to_pydict()
    except FileNotFoundError:
        raise StoreError(
            f"{path}: the test rows of these runs were not kept; run their study again "
            "(what is done is not made twice) and they will be"
        ) from None
    except (OSError, pyarrow.ArrowException) as error:
        raise StoreError(
            f"{path}: test rows cannot be read ({first_line(error)}); remove it and run their study again"
        ) from None
    tests: dict[str, list[Row]] = {}
    for part, name, texts, label in zip(*(table[column] for column in COLUMNS), strict=True):
        tests.setdefault(part, []).append(Row(name, tuple(texts), label))
    return {part: tuple(rows) for part, rows in tests.items()}
