"""RunStore: a folder per run, written whole or not at all, never overwritten."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from filelock import FileLock
from pydantic import ValidationError

from workbench.errors import StoreError, UnknownNameError, first_line
from workbench.files import lent_folder, sweep_partials, write_text_whole, written_whole
from workbench.run import SCHEMA, Run

RECORD = "run.json"
PREDICTIONS = "predictions.parquet"
ARTIFACT = "artifact"
STORE_VARIABLE = "WORKBENCH_STORE"
NEWER = "was written by a newer workbench; update this one to read it"


def default_store() -> Path:
    """The folder that ``WORKBENCH_STORE`` names, else ``runs`` here."""
    return Path(os.environ.get(STORE_VARIABLE) or "runs").expanduser()


class RunStore:
    """All runs of one or more studies. Several processes may read and write it at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs = root / "runs"
        self.partials = root / "partial"
        self.locks = root / "locks"

    def prepare(self) -> None:
        """Make sure the store can be written, and clear away what killed writers left."""
        try:
            for folder in (self._runs, self.partials, self.locks):
                folder.mkdir(parents=True, exist_ok=True)
            probe = self.partials / f".probe.{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise StoreError(
                f"store {self.root} cannot be written ({error.strerror}); choose another with --store"
            ) from None
        sweep_partials(self.partials)

    def folder(self, run_id: str) -> Path:
        """Where a run is kept."""
        return self._runs / run_id

    def rows_file(self, fingerprint: str) -> Path:
        """Where the test rows of some data are kept, once for all runs that answered them."""
        return self.root / "rows" / f"{fingerprint}.parquet"

    def judged_file(self, key: str) -> Path:
        """Where a judgement of kept answers is kept, so that it need not be made twice."""
        return self.root / "judged" / f"{key}.json"

    def study_file(self, study: str) -> Path:
        """Where a copy of a study's file is kept."""
        return self.root / "studies" / f"{study}.yaml"

    def ids(self) -> list[str]:
        """The ids of all kept runs, in alphabetical order."""
        try:
            with os.scandir(self._runs) as found:
                return sorted(item.name for item in found if item.is_dir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"store {self.root} cannot be read ({error.strerror})") from None

    def runs(self) -> tuple[list[Run], list[str]]:
        """All readable runs, oldest first, and a sentence for each record that cannot be read."""
        return self.runs_of(self.ids())

    def runs_of(self, ids: Iterable[str]) -> tuple[list[Run], list[str]]:
        """The chosen runs, oldest first, and a sentence for each of them that cannot be read.

        Choose by the heads of ``RunIndex``, and memory grows with the runs that are looked at, not with the store.
        """
        readable, damaged = [], []
        for run_id in dict.fromkeys(ids):
            try:
                readable.append(self.read(run_id))
            except StoreError as error:
                damaged.append(str(error))
        return sorted(readable, key=lambda run: (run.created, run.id)), damaged

    def read(self, run_id: str) -> Run:
        """Read one record."""
        path = self.folder(run_id) / RECORD
        return read_record(path, f"run {run_id}: {path}")

    def find(self, name: str) -> Run:
        """Read a run by its id or an unambiguous beginning of it."""
        return self.read(self.whole_id(name))

    def whole_id(self, name: str) -> str:
        """The id that a name, or an unambiguous beginning, means; its record is not read."""
        ids = self.ids()
        matching = [name] if name in ids else [run_id for run_id in ids if run_id.startswith(name)]
        if not matching:
            raise UnknownNameError(f"run in {self.root}", name, ids)
        if len(matching) > 1:
            raise UnknownNameError(f"single run in {self.root}", name, matching)
        return matching[0]

    def finished(self, run_id: str) -> Run | None:
        """The run of this id, if it was carried to its end."""
        return self.read(run_id) if (self.folder(run_id) / RECORD).is_file() else None

    def claim(self, run_id: str) -> FileLock:
        """Keep other processes from making the same run; released when this process ends, however it ends."""
        return FileLock(self.locks / f"{run_id}.lock")

    @contextmanager
    def writing(self, run_id: str) -> Iterator[Path]:
        """Lend a folder that becomes the run's own once everything in it, its record last, is written."""
        with written_whole(self.folder(run_id), self.partials) as partial:
            yield partial

    def scratch(self, name: str) -> AbstractContextManager[Path]:
        """Lend an empty folder for the time of some work."""
        return lent_folder(self.partials, name)

    def keep(self, run: Run, partial: Path) -> None:
        """Write a record into the folder lent by ``writing``."""
        write_text_whole(partial / RECORD, run.model_dump_json(indent=1) + "\n")


def read_record(path: Path, where: str) -> Run:
    """Read a run's record from a file; ``where`` is how complaints call it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{where} cannot be read ({first_line(error)})") from None
    try:
        run = Run.model_validate_json(text)
    except ValidationError as error:
        raise StoreError(f"{where} {_fault_of(text, error)}") from None
    if run.schema_number > SCHEMA:
        raise StoreError(f"{where} {NEWER}")
    return run


def _fault_of(text: str, error: ValidationError) -> str:
    """Why a record cannot be understood: a newer one is not damaged, it only has facts that are unknown here."""
    try:
        facts = json.loads(text)
        if isinstance(facts, dict) and facts.get("schema_number", SCHEMA) > SCHEMA:
            return NEWER
    except (ValueError, TypeError) as fault:
        return f"is damaged ({first_line(fault)})"
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"is damaged ({place or 'the record'}: {first['msg']})"
