"""RunStore: a folder per run, written whole or not at all, never overwritten."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
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


def default_store() -> Path:
    """The folder that ``WORKBENCH_STORE`` names, else ``runs`` here."""
    return Path(os.environ.get(STORE_VARIABLE) or "runs").expanduser()


class RunStore:
    """All runs of one or more studies. Several processes may read and write it at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs = root / "runs"
        self._partials = root / "partial"
        self._locks = root / "locks"

    def prepare(self) -> None:
        """Make sure the store can be written, and clear away what killed writers left."""
        try:
            for folder in (self._runs, self._partials, self._locks):
                folder.mkdir(parents=True, exist_ok=True)
            probe = self._partials / f".probe.{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise StoreError(
                f"store {self.root} cannot be written ({error.strerror}); choose another with --store"
            ) from None
        sweep_partials(self._partials)

    def folder(self, run_id: str) -> Path:
        """Where a run is kept."""
        return self._runs / run_id

    def rows_file(self, fingerprint: str) -> Path:
        """Where the test rows of some data are kept, once for all runs that answered them."""
        return self.root / "rows" / f"{fingerprint}.parquet"

    def ids(self) -> list[str]:
        """The ids of all kept runs, in alphabetical order."""
        try:
            return sorted(path.name for path in self._runs.iterdir() if path.is_dir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"store {self.root} cannot be read ({error.strerror})") from None

    def runs(self) -> tuple[list[Run], list[str]]:
        """All readable runs, oldest first, and a sentence for each record that cannot be read."""
        readable, damaged = [], []
        for run_id in self.ids():
            try:
                readable.append(self.read(run_id))
            except StoreError as error:
                damaged.append(str(error))
        return sorted(readable, key=lambda run: (run.created, run.id)), damaged

    def read(self, run_id: str) -> Run:
        """Read one record."""
        path = self.folder(run_id) / RECORD
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"run {run_id}: {path} cannot be read ({first_line(error)})") from None
        try:
            facts = json.loads(text)
            if isinstance(facts, dict) and facts.get("schema_number", SCHEMA) > SCHEMA:
                raise StoreError(f"run {run_id}: {path} was written by a newer workbench; update this one to read it")
            return Run.model_validate_json(text)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            raise StoreError(f"run {run_id}: {path} is damaged ({place or 'the record'}: {fault['msg']})") from None
        except (ValueError, TypeError) as error:
            raise StoreError(f"run {run_id}: {path} is damaged ({first_line(error)})") from None

    def find(self, name: str) -> Run:
        """Read a run by its id or an unambiguous beginning of it."""
        ids = self.ids()
        matching = [name] if name in ids else [run_id for run_id in ids if run_id.startswith(name)]
        if not matching:
            raise UnknownNameError(f"run in {self.root}", name, ids)
        if len(matching) > 1:
            raise UnknownNameError(f"single run in {self.root}", name, matching)
        return self.read(matching[0])

    def finished(self, run_id: str) -> Run | None:
        """The run of this id, if it was carried to its end."""
        return self.read(run_id) if (self.folder(run_id) / RECORD).is_file() else None

    def claim(self, run_id: str) -> FileLock:
        """Keep other processes from making the same run; released when this process ends, however it ends."""
        return FileLock(self._locks / f"{run_id}.lock")

    @contextmanager
    def writing(self, run_id: str) -> Iterator[Path]:
        """Lend a folder that becomes the run's own once everything in it, its record last, is written."""
        with written_whole(self.folder(run_id), self._partials) as partial:
            yield partial

    def scratch(self, name: str) -> AbstractContextManager[Path]:
        """Lend an empty folder for the time of some work."""
        return lent_folder(self._partials, name)

    def keep(self, run: Run, partial: Path) -> None:
        """Write a record into the folder lent by ``writing``."""
        write_text_whole(partial / RECORD, run.model_dump_json(indent=1) + "\n")
