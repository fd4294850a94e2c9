"""TaskData: a task's rows in their roles, disjoint and the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.errors import DataError, NoSourceError
from workbench.files import canonical_json
from workbench.tasks.kinds import Kind, kind_of
from workbench.tasks.sources import RawRow, Source, SourceAbsentError
from workbench.tasks.task import TRAIN, Row, Task

CALIBRATE_ROWS = 512
SELECT_ROWS = 1000
LARGEST_SHARE = 0.1


@dataclass(frozen=True)
class TaskData:
    """The rows of a task by role.

    ``select`` (which checkpoint to keep) and ``calibrate`` (ranges, importances) are taken from the training
    split by a hash of each row's id, so no role ever sees another's rows; ``tests`` are touched by measuring only.
    """

    task: Task
    train: tuple[Row, ...]
    calibrate: tuple[Row, ...]
    select: tuple[Row, ...]
    tests: dict[str, tuple[Row, ...]]
    source: str

    @property
    def kind(self) -> Kind:
        """The kind of the task."""
        return kind_of(self.task)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every row in every role."""
        digest = hashlib.sha256(self.task.name.encode())
        roles = {"train": self.train, "calibrate": self.calibrate, "select": self.select, **self.tests}
        for role, rows in roles.items():
            digest.update(rows_fingerprint(rows, role).encode())
        return digest.hexdigest()

    def counts(self) -> dict[str, int]:
        """How many rows each role has."""
        tests = {part: len(rows) for part, rows in self.tests.items()}
        return {
            "train": len(self.train),
            "calibrate": len(self.calibrate),
            "select": len(self.select),
            **tests,
        }


def rows_fingerprint(rows: Iterable[Row], role: str = "") -> str:
    """Hash rows by id, texts and label."""
    digest = hashlib.sha256(role.encode())
    for row in rows:
        digest.update(canonical_json(row).encode())
    return digest.hexdigest()


def read_task(task: Task, limit: int | None = None) -> TaskData:
    """Read a task from the first source that can serve it and divide its training rows into roles.

    With ``limit``, every role has at most that many rows, chosen by hash and therefore the same each time.
    """
    source, parts = _first_serving(task)
    pool = _by_hash(task, _rows(task, TRAIN, parts[TRAIN]))
    calibrate, select, train = _divide(pool)
    tests = {part: _sample(task, _rows(task, part, parts[part]), limit) for part in task.tests}
    data = TaskData(task, train[:limit], calibrate[:limit], select[:limit], tests, source.describe())
    empty = [role for role, count in data.counts().items() if not count]
    if empty:
        raise DataError(
            f"task {task.name!r} from {source.describe()}: no rows for {', '.join(empty)}; "
            "give it more rows (10 for training and one for testing are the least)"
        )
    return data


def _first_serving(task: Task) -> tuple[Source, dict[str, list[RawRow]]]:
    tried = []
    for source in task.sources:
        try:
            return source, {part: source.rows(part) for part in (TRAIN, *task.tests)}
        except SourceAbsentError as reason:
            tried.append(f"  - {source.describe()}: {reason}")
    raise NoSourceError(f"no source can serve task {task.name!r}; tried:\n" + "\n".join(tried))


def _rows(task: Task, part: str, raw: list[RawRow]) -> list[Row]:
    kind = kind_of(task)
    rows = []
    for index, (where, texts, label) in enumerate(raw):
        if len(texts) != task.text_count or not all(isinstance(text, str) for text in texts):
            raise DataError(f"{where}: a row of task {task.name!r} has {task.text_count} text(s)")
        try:
            rows.append(Row(f"{part}-{index}", tuple(texts), kind.label(label, task)))
        except ValueError as error:
            raise DataError(f"{where}: {error}") from None
    return rows


def _by_hash(task: Task, rows: Sequence[Row]) -> list[Row]:
    def place(row: Row) -> bytes:
        return hashlib.sha256(f"{task.name}:{row.id}".encode()).digest()

    return sorted(rows, key=place)


def _divide(pool: list[Row]) -> tuple[tuple[Row, ...], tuple[Row, ...], tuple[Row, ...]]:
    share = int(len(pool) * LARGEST_SHARE)
    calibrate = min(CALIBRATE_ROWS, share)
    select = calibrate + min(SELECT_ROWS, share)
    return tuple(pool[:calibrate]), tuple(pool[calibrate:select]), tuple(pool[select:])


def _sample(task: Task, rows: list[Row], limit: int | None) -> tuple[Row, ...]:
    if limit is None or len(rows) <= limit:
        return tuple(rows)
    chosen = {row.id for row in _by_hash(task, rows)[:limit]}
    return tuple(row for row in rows if row.id in chosen)
