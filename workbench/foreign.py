"""Foreign runs: what a run's folder, its record alone or another store's folder offers, and whether it is believable.

Everything here looks at files that strangers may have written. What is wrong with a run is told in a sentence, and
nothing is kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow
from pyarrow import parquet
from pydantic import ValidationError

from workbench.errors import StoreError, first_line
from workbench.files import folder_hashes
from workbench.lineage import MANIFEST, Manifest
from workbench.names import NAME_RULE
from workbench.predictions import read_predictions
from workbench.run import Run
from workbench.store import ARTIFACT, PREDICTIONS, RECORD, read_record

# No honest file of its sort comes near these.
LARGEST_RECORD = 64 * 10**6
MOST_ANSWERS = 10**7
LARGEST_TABLE = 2 * 10**9
LONGEST_NAME = 200
DEEPEST = 3
TRAINING_ROLES = ("train", "calibrate", "select")


@dataclass(frozen=True)
class Foreign:
    """A run that wants to come in. ``folder`` is absent for a record alone; ``name`` is what it must go by, if any."""

    record: Path
    folder: Path | None
    name: str | None


@dataclass(frozen=True)
class Offer:
    """Runs that were found in one place, and the stores whose rows, campaigns and studies come along."""

    runs: tuple[Foreign, ...]
    stores: tuple[Path, ...]


def offer_of(place: Path, is_named: bool = True) -> Offer:
    """Look for runs in a file or folder; in one that carries no name of its own, a run at the top may have any id."""
    if place.is_file():
        return Offer((Foreign(place, None, None),), ())
    stores = list(_stores_in(place))
    runs = [*_single_runs(place, place.resolve().name if is_named else None)]
    for root in stores:
        # In a store every folder counts as a run, also one whose record is missing.
        runs += [Foreign(path / RECORD, path, path.name) for path in _folders(root / "runs")]
    if not runs:
        raise StoreError(f"{place} holds no run: neither {RECORD} nor a folder 'runs' of runs was found")
    return Offer(tuple(runs), tuple(stores))


def _stores_in(place: Path, depth: int = DEEPEST) -> Iterator[Path]:
    if (place / "runs").is_dir():
        yield place
    elif depth and not os.path.lexists(place / RECORD):
        for path in _folders(place):
            yield from _stores_in(path, depth - 1)


def _single_runs(place: Path, name: str | None, depth: int = DEEPEST) -> Iterator[Foreign]:
    if os.path.lexists(place / RECORD):
        yield Foreign(place / RECORD, place, name)
    elif depth and not (place / "runs").is_dir():
        for path in _folders(place):
            yield from _single_runs(path, path.name, depth - 1)


def _folders(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.is_dir() and not path.name.startswith("."))


def check_plain(path: Path, where: str) -> None:
    """Refuse links and special files, here and below."""
    below = (Path(folder, name) for folder, folders, names in os.walk(path) for name in (*folders, *names))
    for item in (path, *below):
        mode = item.lstat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise StoreError(f"{where}: {item.name} is a link or special file; only plain files are imported")


def check_name(name: str, where: str, what: str) -> None:
    """Refuse what cannot be the name of a folder everywhere."""
    if not name.isascii() or len(name) > LONGEST_NAME or not NAME_RULE.fullmatch(name.lower()):
        raise StoreError(f"{where}: {name[:100]!r} cannot be the {what}")


def check_size(record: Path, where: str) -> None:
    """Refuse a record that is too large to be one."""
    try:
        size = record.lstat().st_size
    except OSError as error:
        raise StoreError(f"{where} cannot be read ({first_line(error)})") from None
    if size > LARGEST_RECORD:
        raise StoreError(f"{where} is far too large for a record")


def read_foreign(record: Path, name: str | None, where: str) -> Run:
    """Read a record and see that its run may go by its id."""
    check_size(record, where)
    run = read_record(record, where)
    # All of these become parts of paths.
    facts = {"id of a run": run.id, "name of a study": run.study, "name of a task": run.task}
    for what, name_told in {**facts, "fingerprint of rows": run.data.fingerprint}.items():
        check_name(name_told, where, what)
    if name is not None and name != run.id:
        raise StoreError(f"{where}: its folder is called {name!r}, but it is the record of run {run.id!r}")
    return run


def check_contents(folder: Path, run: Run, where: str) -> tuple[str, ...]:
    """Compare what lies beside a record with it; gives what is absent, and refuses what does not fit."""
    absent = []
    if (folder / PREDICTIONS).exists():
        _check_answers(folder / PREDICTIONS, run, where)
    elif not run.failure:
        absent.append("predictions")
    if (folder / ARTIFACT).exists():
        _check_artifact(folder / ARTIFACT, run, where)
    elif run.artifact:
        absent.append("artifact")
    return tuple(absent)


def check_table(path: Path, where: str) -> int:
    """See that a Parquet file is of a sane size before it is read; gives the number of its rows."""
    try:
        facts = parquet.read_metadata(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise StoreError(f"{where} cannot be read ({first_line(error)})") from None
    claimed = sum(facts.row_group(number).total_byte_size for number in range(facts.num_row_groups))
    if facts.num_rows > MOST_ANSWERS or claimed > LARGEST_TABLE:
        raise StoreError(f"{where} is far too large")
    return int(facts.num_rows)


def _check_answers(path: Path, run: Run, where: str) -> None:
    told = f"{where}: {PREDICTIONS}"
    count = check_table(path, told)
    tested = sum(rows for role, rows in run.data.rows.items() if role not in TRAINING_ROLES)
    if count != tested:
        raise StoreError(f"{told} holds {count} answers, but the record tells of {tested} test rows")
    try:
        read_predictions(path)
    except (StoreError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{told}: {str(error).removeprefix(f'{path}: ')}") from None


def _check_artifact(folder: Path, run: Run, where: str) -> None:
    """Every file must be the one that was saved, and none may be there that was not."""
    there = folder_hashes(folder)
    wanted = run.artifact.files if run.artifact else {}
    if MANIFEST not in there or not run.artifact:
        raise StoreError(f"{where}: its artifact has no manifest, or the record tells of no artifact")
    del there[MANIFEST]
    for name in sorted(there.keys() | wanted.keys()):
        if there.get(name) != wanted.get(name):
            fault = "missing" if name not in there else "no part of it" if name not in wanted else "not what was saved"
            raise StoreError(f"{where}: {ARTIFACT}/{name[:100]} is {fault}, by the hashes in the record")
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise StoreError(f"{where}: {ARTIFACT}/{MANIFEST} cannot be read ({first_line(error)})") from None
    if manifest.files != wanted or manifest.runtime != run.artifact.runtime:
        raise StoreError(f"{where}: {ARTIFACT}/{MANIFEST} is the manifest of another artifact")
