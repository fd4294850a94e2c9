"""Sources: the places a task's rows can come from, each asked the same way."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from workbench.errors import DataError

GLUE_DIR_VARIABLE = "WORKBENCH_GLUE_DIR"


class RawRow(NamedTuple):
    """A row as a source has it: where it stands, its texts and its label as written."""

    where: str
    texts: tuple[str, ...]
    label: Any


class SourceAbsentError(Exception):
    """This source cannot serve now; the text says why and what would help."""


class Source(BaseModel, ABC):
    """A place rows come from. ``rows(part)`` raises SourceAbsentError when it cannot serve at all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def describe(self) -> str:
        """Name the source for a person."""

    @abstractmethod
    def rows(self, part: str) -> list[RawRow]:
        """Read all rows of a part ('train', or one of the task's test parts)."""


class GlueFolder(Source):
    """A folder in the classic GLUE layout: TASK/train.tsv and TASK/dev.tsv, tab-separated, no quoting."""

    folder: str
    files: dict[str, str] = {"train": "train.tsv", "test": "dev.tsv"}
    header: tuple[str, ...] | None = None
    texts: tuple[str, ...]
    label: str = "label"
    spelled: dict[str, str] = {}
    skip_short_lines: bool = False

    def describe(self) -> str:
        """Name the folder that would be read."""
        return f"GLUE folder {os.environ.get(GLUE_DIR_VARIABLE) or '(none given)'}"

    def rows(self, part: str) -> list[RawRow]:
        """Read one TSV file; a line with the wrong number of columns is an error that names it."""
        root = os.environ.get(GLUE_DIR_VARIABLE)
        if not root:
            raise SourceAbsentError(f"no GLUE folder given (--glue-dir DIR or {GLUE_DIR_VARIABLE}=DIR)")
        path = Path(root).expanduser() / self.folder / self.files[part]
        if not path.is_file():
            raise SourceAbsentError(f"{path} does not exist")
        return list(self._parse(path))

    def _parse(self, path: Path) -> Iterator[RawRow]:
        lines = read_lines(path)
        header = self.header or _next_header(path, lines)
        missing = [column for column in (*self.texts, self.label) if column not in header]
        if missing:
            raise DataError(f"{path}:1: no column {missing[0]!r}; the header has: {', '.join(header)}")
        where_texts = [header.index(column) for column in self.texts]
        where_label = header.index(self.label)
        for number, line in lines:
            cells = line.split("\t")
            if len(cells) != len(header):
                if self.skip_short_lines and len(cells) < len(header):
                    continue
                raise DataError(f"{path}:{number}: {len(cells)} columns where {len(header)} were expected")
            label = cells[where_label]
            texts = tuple(cells[index] for index in where_texts)
            yield RawRow(f"{path}:{number}", texts, self.spelled.get(label, label))


class HubDataset(Source):
    """A data set on the Hugging Face hub, at a pinned revision; its offline cache serves too.

    ``labels`` names the data set's label numbers, in their order; without it labels are taken as they are.
    """

    path: str
    config: str
    revision: str
    texts: tuple[str, ...]
    label: str = "label"
    labels: tuple[str, ...] = ()
    splits: dict[str, str] = {"train": "train", "test": "validation"}

    def describe(self) -> str:
        """Name the data set and its revision."""
        return f"hub data set {self.path}/{self.config} at {self.revision[:8]}"

    def rows(self, part: str) -> list[RawRow]:
        """Download the split, or take it from the local cache."""
        import datasets

        split = self.splits[part]
        try:
            table = datasets.load_dataset(self.path, self.config, split=split, revision=self.revision)
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            reason = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
            raise SourceAbsentError(f"the hub cannot be reached and its cache has no copy ({reason})") from None
        where = f"{self.path}/{self.config}/{split}"
        columns = zip(*(table[column] for column in self.texts), strict=True)
        return [
            RawRow(f"{where} row {index}", texts, self._named(label))
            for index, (texts, label) in enumerate(zip(columns, table[self.label], strict=True))
        ]

    def _named(self, label: Any) -> Any:
        return self.labels[label] if self.labels and 0 <= label < len(self.labels) else label


class PackageFile(Source):
    """A CSV file inside an installed package."""

    package: str
    file: str
    requirement: str

    def describe(self) -> str:
        """Name the package."""
        return f"installed package {self.package}"

    def located(self) -> Path:
        """Find the file without importing the package."""
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise SourceAbsentError(f"package {self.package} is not installed (pip install {self.requirement!r})")
        path = Path(next(iter(spec.submodule_search_locations))) / self.file
        if not path.is_file():
            raise SourceAbsentError(f"package {self.package} holds no {self.file}")
        return path


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Read numbered, non-empty lines of a UTF-8 file, with or without a byte-order mark."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not UTF-8 text ({error.reason} at byte {_bad_byte(path)}); convert it first"
        ) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def _bad_byte(path: Path) -> int:
    """The stream's own count begins anew with each stretch it reads."""
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read one JSON object a line; anything else is an error with its line."""
    for number, line in read_lines(path):
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{path}:{number}: not valid JSON ({error.msg})") from None
        if not isinstance(value, dict):
            raise DataError(f"{path}:{number}: a line must be a JSON object, not {type(value).__name__}")
        yield number, value


def _next_header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[str, ...]:
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path}: the file is empty")
    return tuple(first[1].split("\t"))
