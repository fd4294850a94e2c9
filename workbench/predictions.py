"""Predictions: what an encoder answered to every test row, under a stable id, as Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import parquet

from workbench.errors import StoreError, first_line

COLUMNS = ("part", "id", "label", "prediction", "logits")


@dataclass(frozen=True)
class Predictions:
    """Answers of one test part, in the order of its rows."""

    part: str
    ids: list[str]
    labels: list[Any]
    predictions: list[Any]
    logits: list[NDArray[np.float32]]


def write_predictions(path: Path, answers: list[Predictions]) -> None:
    """Write the answers of all parts into one file."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for part in answers:
        columns["part"] += [part.part] * len(part.ids)
        columns["id"] += part.ids
        columns["label"] += part.labels
        columns["prediction"] += part.predictions
        columns["logits"] += [row.tolist() for row in part.logits]
    parquet.write_table(pyarrow.table(columns), path, compression="zstd")


def read_predictions(path: Path) -> list[Predictions]:
    """Read the answers of all parts, in the order they were written."""
    try:
        table = parquet.read_table(path, columns=list(COLUMNS)).to_pydict()
    except (OSError, pyarrow.ArrowException) as error:
        raise StoreError(f"{path}: predictions cannot be read ({first_line(error)})") from None
    answers: dict[str, Predictions] = {}
    for part, name, label, prediction, logits in zip(*(table[column] for column in COLUMNS), strict=True):
        found = answers.setdefault(part, Predictions(part, [], [], [], []))
        found.ids.append(name)
        found.labels.append(label)
        found.predictions.append(prediction)
        found.logits.append(np.asarray(logits, np.float32))
    return list(answers.values())
