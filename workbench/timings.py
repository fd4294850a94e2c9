"""Timings: every single timed call of a campaign, in nanoseconds, as Parquet; and what they come to."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from workbench.errors import StoreError, first_line

Sort = Literal["first", "natural", "throughput", "grid"]
FILE = "timings.parquet"
# One row for each call. Absent are ``text`` where many share a call, and ``tokenize_ns`` where tokens were made before.
COLUMNS = {
    "entry": "str",
    "process": "int32",
    "sort": "str",
    "round": "int32",
    "place": "int32",
    "text": "Int32",
    "samples": "int32",
    "tokens": "Int32",
    "tokenize_ns": "Int64",
    "model_ns": "int64",
    "kept": "bool",
}
MILLION = 1e6
# Below these many calls the tail of a distribution is a matter of luck.
LEAST_CALLS = {90: 64, 99: 662}


class Timings:
    """The calls of a campaign as a table."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    @classmethod
    def of(cls, calls: list[dict[str, object]]) -> Timings:
        """Make a table of call records."""
        return cls(pd.DataFrame(calls, columns=list(COLUMNS)).astype(COLUMNS))

    @classmethod
    def read(cls, folder: Path) -> Timings:
        """Read the table of a kept campaign."""
        try:
            return cls(pd.read_parquet(folder / FILE, columns=list(COLUMNS)))
        except (OSError, ValueError) as error:
            raise StoreError(f"{folder / FILE}: timings cannot be read ({first_line(error)})") from None

    def write(self, folder: Path) -> None:
        """Write the table into a campaign's folder."""
        self.table.to_parquet(folder / FILE, compression="zstd", index=False)

    def calls(self, entry: str, sort: Sort = "natural") -> pd.DataFrame:
        """The calls of one entry that count."""
        table = self.table
        return table[(table["entry"] == entry) & (table["sort"] == sort) & table["kept"]]

    def round_medians(self, entry: str, what: str = "model") -> pd.Series:
        """The median time of a round's calls, by process and round."""
        calls = self.calls(entry)
        return nanoseconds(calls, what).groupby([calls["process"], calls["round"]]).median()

    def log_ratios(self, baseline: str, entry: str, what: str = "model") -> list[list[float]]:
        """The log of the baseline's time over an entry's, round by round, one list for each process."""
        theirs, ours = self.round_medians(baseline, what), self.round_medians(entry, what)
        both = pd.concat([theirs, ours], axis=1, join="inner", keys=["theirs", "ours"]).astype(float)
        logs = pd.Series(np.log(both["theirs"] / both["ours"]))
        return [list(rounds) for _, rounds in logs.groupby(level="process")]

    def percentile(self, entry: str, share: int, what: str = "model") -> float | None:
        """A percentile over all calls in milliseconds; absent where there are too few of them."""
        times = nanoseconds(self.calls(entry), what)
        if len(times) < LEAST_CALLS[share]:
            return None
        return float(np.percentile(times, share)) / MILLION

    def process_medians(self, entry: str, what: str = "model") -> list[float]:
        """The median call of each process in milliseconds."""
        calls = self.calls(entry)
        medians = nanoseconds(calls, what).groupby(calls["process"]).median()
        return [float(value) / MILLION for value in medians]

    def samples_a_second(self, entry: str) -> list[float]:
        """How many texts a second each process answered when they came in length-sorted batches."""
        passes = self.calls(entry, "throughput").groupby("process")[["samples", "model_ns"]].sum()
        return [float(rate) for rate in passes["samples"] / passes["model_ns"] * 1e9]


def nanoseconds(calls: pd.DataFrame, what: str) -> pd.Series:
    """The time of each call: of the model alone, of making tokens, or of both."""
    if what == "model":
        return calls["model_ns"].astype("float64")
    tokenize = calls["tokenize_ns"].astype("float64")
    return tokenize if what == "tokenize" else tokenize + calls["model_ns"]
