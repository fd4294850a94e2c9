"""Importing: runs that were made elsewhere come into a store, each checked from end to end before it is kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from filelock import Timeout

from workbench.archives import is_archive, unpack
from workbench.campaign_store import RECORD as CAMPAIGN
from workbench.campaign_store import CampaignStore
from workbench.clock import now
from workbench.errors import StoreError, UsageError
from workbench.files import bytes_below, file_hash, files_below, written_whole
from workbench.foreign import (
    Foreign,
    check_contents,
    check_name,
    check_plain,
    check_size,
    check_table,
    offer_of,
    read_foreign,
)
from workbench.kept_rows import read_rows
from workbench.run import Imported, Run
from workbench.sizes import spoken_size
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.timings import FILE as TIMINGS
from workbench.timings import Timings

State = Literal["imported", "already there", "there without its artifact", "refused"]
Thing = Literal["file", "run", "campaign", "rows", "study"]
Work = Callable[[], State]
LARGEST_STUDY = 10**6


@dataclass(frozen=True)
class Outcome:
    """What became of one thing; ``said`` is why it was refused."""

    what: Thing
    name: str
    state: State
    said: str = ""


@dataclass(frozen=True)
class Importer:
    """Brings what one file or folder offers into a store. ``place`` is where it lies, perhaps unpacked."""

    source: Path
    place: Path
    store: RunStore

    def bring_all(self) -> Iterator[Outcome]:
        """Import everything on offer, one by one; what is refused stops nothing else."""
        offer = offer_of(self.place, is_named=self.place == self.source)
        rows: set[str] = set()
        for foreign in offer.runs:
            yield self._tried("run", foreign.name or foreign.record.name, partial(self._run, foreign, rows))
        for root in offer.stores:
            yield from self._campaigns(root, rows)
            yield from self._rows(root, rows)
            yield from self._studies(root)

    def _tried(self, what: Thing, name: str, work: Work) -> Outcome:
        try:
            return Outcome(what, name, work())
        except (StoreError, OSError) as error:
            return Outcome(what, name, "refused", str(error).replace(str(self.place), str(self.source)))

    def _run(self, foreign: Foreign, rows: set[str]) -> State:
        where = str(foreign.record)
        check_plain(foreign.folder or foreign.record, where)
        run = read_foreign(foreign.record, foreign.name, where)
        rows.add(run.data.fingerprint)
        try:
            with self.store.claim(run.id).acquire(timeout=0):
                if self.store.folder(run.id).exists():
                    return self._compared(run, foreign)
                self._kept(run.id, foreign)
        except Timeout:
            raise StoreError(f"{where}: another process is making run {run.id} here; wait until it has ended") from None
        return "imported"

    def _kept(self, run_id: str, foreign: Foreign) -> None:
        """Copy a run, check the copy, so that a source that changes meanwhile deceives nobody, and keep it."""
        where = str(foreign.record)
        with self.store.writing(run_id) as ours:
            self._copy(foreign.folder or foreign.record, ours)
            run = read_foreign(ours / foreign.record.name, run_id, where)
            absent = check_contents(ours, run, where)
            (ours / foreign.record.name).unlink()
            mark = Imported(source=self.source.name, when=now(), without=absent)
            self.store.keep(run.model_copy(update={"imported": mark}), ours)

    def _compared(self, run: Run, foreign: Foreign) -> State:
        """A run that is there already must be the same one."""
        ours, theirs = self.store.read(run.id), foreign.folder or foreign.record
        files = [self.store.folder(run.id) / PREDICTIONS, theirs / PREDICTIONS]
        answers = {file_hash(path) for path in files if path.is_file()}
        if _plain(ours) != _plain(run) or len(answers) > 1:
            raise StoreError(
                f"{foreign.record}: another run {run.id} is in {self.store.root} already; remove that one first, "
                "or import into another store"
            )
        lacks = not (self.store.folder(run.id) / ARTIFACT).exists() and (theirs / ARTIFACT).exists()
        return "there without its artifact" if lacks else "already there"

    def _copy(self, source: Path, target: Path) -> None:
        free, needed = shutil.disk_usage(target).free, bytes_below(source)
        if needed > free:
            raise StoreError(f"{source} needs {spoken_size(needed)}, but only {spoken_size(free)} are free")
        for path in files_below(source) if source.is_dir() else [source]:
            there = target / (path.relative_to(source) if source.is_dir() else path.name)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, there, follow_symlinks=False)

    def _campaigns(self, root: Path, rows: set[str]) -> Iterator[Outcome]:
        theirs = RunStore(root)
        for folder in sorted((root / "campaigns").glob(f"*/{CAMPAIGN}")):
            name = folder.parent.name
            yield self._tried("campaign", name, partial(self._campaign, name, theirs, rows))

    def _campaign(self, name: str, theirs: RunStore, rows: set[str]) -> State:
        folder, target = CampaignStore(theirs).folder(name), CampaignStore(self.store).folder(name)
        check_plain(folder, str(folder))
        check_size(folder / CAMPAIGN, str(folder / CAMPAIGN))
        campaign = CampaignStore(theirs).read(name)
        if campaign.id != name:
            raise StoreError(f"{folder}: it is the record of campaign {campaign.id!r}")
        for part in (name, campaign.task, campaign.rows, *(entry.run for entry in campaign.entries)):
            check_name(part, str(folder), "name of anything in a campaign")
        rows.add(campaign.rows)
        if target.exists():
            if file_hash(target / CAMPAIGN) == file_hash(folder / CAMPAIGN):
                return "already there"
            raise StoreError(f"{folder}: another campaign of this name is in {self.store.root} already")
        if (folder / TIMINGS).exists():
            check_table(folder / TIMINGS, str(folder / TIMINGS))
            Timings.read(folder)
        with written_whole(target, self.store.partials) as ours:
            self._copy(folder, ours)
        return "imported"

    def _rows(self, root: Path, wanted: Iterable[str]) -> Iterator[Outcome]:
        theirs = RunStore(root)
        for fingerprint in sorted(wanted):
            path = theirs.rows_file(fingerprint)
            if path.parent == root / "rows" and path.exists():
                yield self._tried("rows", fingerprint, partial(self._file, path, _check_rows))

    def _studies(self, root: Path) -> Iterator[Outcome]:
        for path in sorted((root / "studies").glob("*.yaml")):
            yield self._tried("study", path.stem, partial(self._file, path, _check_study))

    def _file(self, path: Path, check: Callable[[Path], None]) -> State:
        """Import a single file into the folder of the same name; one that is there already stays as it is."""
        target = self.store.root / path.parent.name / path.name
        check_plain(path, str(path))
        check_name(path.stem, str(path), "name of a file")
        if target.exists():
            return "already there"
        check(path)
        with self.store.scratch("import") as scratch:
            self._copy(path, scratch)
            target.parent.mkdir(parents=True, exist_ok=True)
            (scratch / path.name).replace(target)
        return "imported"


def check_sources(sources: Iterable[Path], store: RunStore) -> None:
    """Refuse what cannot be meant, before anything is done."""
    for source in sources:
        if not source.exists():
            raise UsageError(f"{source}: no such file or folder")
        if source.resolve().is_relative_to(store.root.resolve()):
            raise UsageError(f"{source} is in the store {store.root} already; name another store with --store")


def import_from(source: Path, store: RunStore) -> list[Outcome]:
    """Import a run's folder, its record alone, another store's folder, or an archive of such."""
    # Links in it are refused, but the person may come to it by one.
    source = source.resolve()
    try:
        if not (source.is_file() and is_archive(source)):
            return list(Importer(source, source, store).bring_all())
        with store.scratch("import") as scratch:
            unpack(source, scratch)
            return list(Importer(source, scratch, store).bring_all())
    except StoreError as error:
        return [Outcome("file", source.name, "refused", str(error))]


def _plain(run: Run) -> str:
    return run.model_dump_json(exclude={"imported"})


def _check_rows(path: Path) -> None:
    check_table(path, str(path))
    read_rows(path)


def _check_study(path: Path) -> None:
    if path.stat().st_size > LARGEST_STUDY:
        raise StoreError(f"{path} is far too large for a study")
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise StoreError(f"{path} is no text") from None
