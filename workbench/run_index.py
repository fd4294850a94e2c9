"""RunIndex: the heads of all runs, kept in one file of the store, so that thousands are listed at once."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.errors import StoreError
from workbench.files import write_text_whole
from workbench.measurement import headline_of
from workbench.recipe import BASELINE
from workbench.run import SCHEMA as RUN_SCHEMA
from workbench.run import Run
from workbench.store import RECORD, RunStore

INDEX = "index.json"
# The first is to be raised when a head changes, so that what was kept before is read anew.
SCHEMAS = (1, RUN_SCHEMA)


class RunHead(BaseModel):
    """What listings, filters and first views need of a run; what was not measured is absent.

    ``id`` is the name of its folder, ``quality`` its first metric averaged over test parts, ``machine`` the short name
    of all machines whose timings may stand beside its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    study: str
    task: str
    recipe: str
    control_of: str
    seed: int
    status: Literal["done", "failed"]
    created: str
    metric: str | None
    quality: float | None
    agreement: float | None
    disk_bytes: float | None
    parameters: float | None
    data_fingerprint: str
    machine: str
    imported: bool
    failure: str | None

    @classmethod
    def of(cls, run_id: str, run: Run) -> Self:
        """Take the head off a record."""
        metric = next(iter(run.metrics), None)
        return cls(
            id=run_id,
            study=run.study,
            task=run.task,
            recipe=run.recipe.name,
            control_of=run.recipe.control_of,
            seed=run.seed,
            status=run.status,
            created=run.created,
            metric=metric,
            quality=headline_of(metric, run.measurements) if metric else None,
            agreement=_value(run, "agreement"),
            disk_bytes=_value(run, "disk"),
            parameters=_value(run, "parameters"),
            data_fingerprint=run.data.fingerprint,
            machine=run.environment.machine_key(),
            imported=run.imported is not None,
            failure=run.failure.message if run.failure else None,
        )

    @property
    def is_baseline(self) -> bool:
        """Whether nothing was done to the base."""
        return self.recipe == BASELINE

    @property
    def group(self) -> tuple[str, str, int, str]:
        """What it shares with the runs it may be compared with: study, task, seed and rows."""
        return (self.study, self.task, self.seed, self.data_fingerprint)


class Kept(BaseModel):
    """A head and the state of the record it was taken from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mtime_ns: int
    size: int
    head: RunHead


class IndexFile(BaseModel):
    """What stands in the index, by run id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schemas: tuple[int, int] = SCHEMAS
    runs: dict[str, Kept]


class RunIndex:
    """The heads of a store's runs. Only records that are new or changed since the last time are read.

    The records decide, the index only saves time: one that is damaged, old or cannot be written makes listing slower,
    not wrong. Several processes may use it at once; each writes it whole, and what one missed the next one reads.
    """

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self._file = store.root / INDEX

    def heads(self) -> tuple[list[RunHead], list[str]]:
        """The heads of all readable runs, oldest first, and a sentence for each record that cannot be read."""
        known = self._load()
        found, damaged = {}, []
        for run_id in self.store.ids():
            try:
                found[run_id] = self._current(run_id, known.get(run_id))
            except StoreError as error:
                # A run that was removed while we looked is not damaged.
                if self.store.folder(run_id).is_dir():
                    damaged.append(str(error))
        if found != known:
            self._keep(found)
        heads = (kept.head for kept in found.values())
        return sorted(heads, key=lambda head: (head.created, head.id)), damaged

    def _current(self, run_id: str, known: Kept | None) -> Kept:
        # The state is taken before the record is read: what changes in between is then read again the next time.
        mtime_ns, size = _state(self.store.folder(run_id) / RECORD)
        if known and (known.mtime_ns, known.size) == (mtime_ns, size):
            return known
        return Kept(mtime_ns=mtime_ns, size=size, head=RunHead.of(run_id, self.store.read(run_id)))

    def _load(self) -> dict[str, Kept]:
        try:
            told = self._file.stat()
            kept = _parsed(self._file, told.st_mtime_ns, told.st_size, told.st_ino)
        except (OSError, ValidationError):
            return {}
        return kept.runs if kept.schemas == SCHEMAS else {}

    def _keep(self, found: dict[str, Kept]) -> None:
        with contextlib.suppress(OSError):
            write_text_whole(self._file, IndexFile(runs=found).model_dump_json())


@lru_cache(maxsize=4)
def _parsed(index: Path, mtime_ns: int, size: int, inode: int) -> IndexFile:
    """What stands in an index; one that nobody wrote since is not parsed again, which is what takes longest."""
    return IndexFile.model_validate_json(index.read_bytes())


def _state(record: Path) -> tuple[int, int]:
    try:
        told = record.stat()
    except OSError:
        return 0, 0
    return told.st_mtime_ns, told.st_size


def _value(run: Run, metric: str) -> float | None:
    found = run.measured(metric)
    return found.value if found else None
