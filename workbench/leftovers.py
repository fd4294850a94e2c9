"""Leftovers: what the cache and the store hold by sort, and what of it can go, with the reason.

Something can go when no kept run needs it and nobody read it for some days; what is lost is made again when it is
needed. Whatever a living process may be at work with stays.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from workbench.cache import Cache
from workbench.files import LOCK_SUFFIX, bytes_below, discard_folder, sweep_partials
from workbench.needs import Needs
from workbench.run_index import RunHead, RunIndex
from workbench.store import RunStore

DAY = 86_400
# Writing one file takes seconds; what is still half-written after so long has no writer any more.
HALF_WRITTEN_SECONDS = 3_600
CACHED = ("bases", "steps", "teachers", "tokens", "unfinished", "catalogue", "partial", "locks")
KEPT = ("runs", "campaigns", "rows", "judged", "partial", "locks")


@dataclass(frozen=True)
class Leftover:
    """A folder or file that can go, by way of ``partials``; whoever works with it holds one of ``locks``."""

    path: Path
    bytes: int
    partials: Path
    locks: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Sort:
    """One sort of thing: how many there are, what they hold, which can go, and why these or why none."""

    place: str
    name: str
    count: int
    bytes: int
    why: str
    leftovers: tuple[Leftover, ...] = ()


@dataclass(frozen=True)
class Survey:
    """A look at a store and the cache beside it; things that nobody needs stay while read in the last ``days``."""

    store: RunStore
    cache: Cache
    days: float
    needs: Needs
    at_work: bool

    @classmethod
    def take(cls, store: RunStore, cache: Cache, days: float) -> Self:
        """Find out what is needed and whether anybody is at work."""
        places = (store.locks, store.partials, cache.root / "locks", cache.root / "partial")
        at_work = any(_is_held(lock) for place in places for lock in place.glob(f"*{LOCK_SUFFIX}"))
        return cls(store, cache, days, Needs.of(store), at_work)

    def sorts(self) -> list[Sort]:
        """Everything that is there, by sort; what there is none of is left out."""
        return [sort for sort in (*self._in_cache(), *self._in_store()) if sort.count]

    def _in_cache(self) -> Iterable[Sort]:
        root, where = self.cache.root, self.store.root
        bases, steps = _inside(root / "bases"), _inside(root / "steps")
        yield self._spare("cache", "fine-tuned bases", bases, f"no run in {where} started from them", self.needs.bases)
        yield self._spare("cache", "trained steps", steps, f"no run in {where} has them", self.needs.steps)
        for folder, name in (("teachers", "teacher outputs"), ("tokens", "tokens")):
            yield self._spare("cache", name, _inside(root / folder), "made again when needed")
        yield self._unfinished()
        yield self._catalogues()
        yield _half_written("cache", root)
        yield self._locks("cache", root)
        yield from _others("cache", root, CACHED)

    def _in_store(self) -> Iterable[Sort]:
        root = self.store.root
        heads, _ = RunIndex(self.store).heads()
        done = [self.store.folder(head.id) for head in heads if head.status == "done"]
        unread = [self.store.folder(run_id) for run_id in self.needs.unread]
        yield _staying("store", "finished runs", done, "workbench remove takes them by name")
        yield self._failed(heads)
        yield _staying("store", "damaged runs", unread, "workbench list runs says what ails them")
        yield _staying("store", "campaigns", _inside(root / "campaigns"), "nothing could replace them")
        rows = _inside(root / "rows")
        yield self._spare("store", "test rows", rows, "no run or campaign is about them", self.needs.rows)
        yield self._spare("store", "judgements", _inside(root / "judged"), "made again when needed")
        yield _half_written("store", root)
        yield self._locks("store", root)
        yield from _others("store", root, KEPT)

    def _spare(self, place: str, name: str, things: Sequence[Path], why: str, needed: set[str] | None = None) -> Sort:
        """A sort whose things can go when nobody needs them and nobody read them lately."""
        spare = [path for path in things if path.stem not in (needed or ()) and self._idle(path)]
        reason = f"{why}, not read for {self.days:g} days" if spare else "in use, or read lately"
        if spare and needed is not None and self.needs.unknown:
            spare, reason = [], f"records that cannot be read: {self.needs.unknown}; they may need any of them"
        return self._sort(place, name, things, spare, reason)

    def _unfinished(self) -> Sort:
        """Checkpoints of interrupted training: worthless once it was finished, and of use until then."""
        things = _inside(self.cache.root / "unfinished")
        finished = {path for path in things if any(self.cache.find(sort, path.name) for sort in ("bases", "steps"))}
        over = [path for path in things if path in finished or self._idle(path)]
        reason = "training was finished, or nobody went on with it" if over else "training can go on from them"
        return self._sort("cache", "interrupted training", things, over, reason)

    def _catalogues(self) -> Sort:
        things = sorted(_inside(self.cache.root / "catalogue"), key=_last_read)
        reason = "of packages that were installed before" if things[1:] else "in use"
        return self._sort("cache", "descriptions of strategies", things, things[:-1], reason)

    def _failed(self, heads: Sequence[RunHead]) -> Sort:
        failed = [head for head in heads if head.status == "failed"]
        done = {(*head.group, head.recipe): head.created for head in heads if head.status == "done"}
        over = [head for head in failed if head.created < done.get((*head.group, head.recipe), "")]
        reason = "made again since, and done" if over else "nothing has taken their place"
        folders, gone = ([self.store.folder(head.id) for head in some] for some in (failed, over))
        return self._sort("store", "failed runs", folders, gone, reason)

    def _locks(self, place: str, root: Path) -> Sort:
        locks = _inside(root / "locks")
        free = () if self.at_work else tuple(Leftover(path, 0, root / "partial", (path,)) for path in locks)
        return Sort(place, "locks", len(locks), 0, "nobody holds them" if free else "in use", free)

    def _sort(self, place: str, name: str, things: Sequence[Path], spare: Sequence[Path], why: str) -> Sort:
        if spare and self.at_work:
            spare, why = [], "another process is at work"
        return Sort(place, name, len(things), _bytes(things), why, tuple(self._leftover(place, path) for path in spare))

    def _leftover(self, place: str, path: Path) -> Leftover:
        """Something that can go, with the locks that its makers take; plain files are made without any."""
        if place == "store":
            locks = [self.store.locks / f"{path.name}{LOCK_SUFFIX}"]
        else:
            sorts = ("bases", "steps") if path.parent.name == "unfinished" else (path.parent.name,)
            locks = [self.cache.root / "locks" / f"{sort}-{path.name}{LOCK_SUFFIX}" for sort in sorts]
        root = self.store.root if place == "store" else self.cache.root
        return Leftover(path, bytes_below(path), root / "partial", tuple(locks) if path.is_dir() else ())

    def _idle(self, path: Path) -> bool:
        return time.time() - _last_read(path) >= self.days * DAY


def clear_away(leftovers: Iterable[Leftover]) -> tuple[int, int]:
    """Remove what can go; gives how many things went and their bytes. What somebody took meanwhile stays."""
    gone = [leftover for leftover in leftovers if _removed(leftover)]
    for partials in {leftover.partials for leftover in gone}:
        sweep_partials(partials)
    return len(gone), sum(leftover.bytes for leftover in gone)


def _removed(leftover: Leftover) -> bool:
    with ExitStack() as holding, suppress(Timeout, FileNotFoundError):
        for lock in leftover.locks:
            lock.parent.mkdir(parents=True, exist_ok=True)
            holding.enter_context(FileLock(lock).acquire(timeout=0))
        if leftover.path.is_dir():
            discard_folder(leftover.path, leftover.partials)
        else:
            leftover.path.unlink()
        for lock in leftover.locks:
            lock.unlink(missing_ok=True)
        return True
    return False


def _half_written(place: str, root: Path) -> Sort:
    """What killed writers left: folders among the partials whose lock is free, and files under a passing name."""
    partials = [path for path in _inside(root / "partial") if path.suffix != LOCK_SUFFIX]
    passing = [path for pattern in (".*", "*/.*") for path in sorted(root.glob(pattern)) if path.is_file()]
    free = [path for path in partials if not _is_held(_lock_of(path))]
    old = [path for path in passing if time.time() - _last_read(path) > HALF_WRITTEN_SECONDS]
    leftovers = [Leftover(path, bytes_below(path), root / "partial", (_lock_of(path),)) for path in free]
    leftovers += [Leftover(path, bytes_below(path), root / "partial") for path in old]
    things = [*partials, *passing]
    reason = "left by writers that were killed" if leftovers else "being written"
    return Sort(place, "half-written", len(things), _bytes(things), reason, tuple(leftovers))


def _others(place: str, root: Path, known: Sequence[str]) -> Iterable[Sort]:
    for path in _inside(root):
        if path.name not in known:
            things = _inside(path) if path.is_dir() else [path]
            yield _staying(place, path.name, things, "gc leaves them alone")


def _staying(place: str, name: str, things: Sequence[Path], why: str) -> Sort:
    return Sort(place, name, len(things), _bytes(things), why)


def _inside(folder: Path) -> list[Path]:
    """What is in a folder, but for files under a passing name."""
    return sorted(path for path in folder.glob("*") if not path.name.startswith("."))


def _lock_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}{LOCK_SUFFIX}")


def _is_held(lock: Path) -> bool:
    """Whether a living process holds a lock; one that cannot be tried is taken for held."""
    if not lock.exists():
        return False
    try:
        with FileLock(lock).acquire(timeout=0):
            return False
    except (Timeout, OSError):
        return True


def _last_read(path: Path) -> float:
    """When a file, or anything in a folder, was last written or read, as far as the file system notes it."""
    times = [0.0]
    for item in [path, *path.rglob("*")] if path.is_dir() else [path]:
        with suppress(OSError):
            found = item.stat()
            # Looking into a folder counts as reading it, and we do that ourselves.
            times += [found.st_mtime] if item.is_dir() else [found.st_mtime, found.st_atime]
    return max(times)


def _bytes(paths: Iterable[Path]) -> int:
    return sum(map(bytes_below, paths))
