"""Cache: things that are dear to make, kept by a hash of everything that decides them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from workbench.files import sweep_partials, written_whole

CACHE_VARIABLE = "WORKBENCH_CACHE"


class Cache:
    """A folder of finished things; each is there whole or not at all, and made by one process at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def default(cls) -> Cache:
        """The cache that ``WORKBENCH_CACHE`` names, else ``workbench`` in the user's cache folder."""
        chosen = os.environ.get(CACHE_VARIABLE)
        user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        return cls(Path(chosen).expanduser() if chosen else user / "workbench")

    def find(self, sort: str, key: str) -> Path | None:
        """Where a thing is kept, if it is."""
        folder = self.root / sort / key
        return folder if folder.is_dir() else None

    def make(self, sort: str, key: str, build: Callable[[Path], None]) -> Path:
        """Give the folder of a thing, building it first if need be; whoever comes second waits and reuses."""
        kept = self.find(sort, key)
        if kept:
            return kept
        with self._claimed(sort, key):
            kept = self.find(sort, key)
            if kept:
                return kept
            sweep_partials(self.root / "partial")
            with written_whole(self.root / sort / key, self.root / "partial") as partial:
                build(partial)
        return self.root / sort / key

    def workplace(self, key: str) -> Path:
        """A folder that outlives a kill, for work that can be taken up again; whoever works there makes it."""
        return self.root / "unfinished" / key

    def clear_workplace(self, key: str) -> None:
        """Throw away what unfinished work left once it is finished."""
        shutil.rmtree(self.root / "unfinished" / key, ignore_errors=True)

    def _claimed(self, sort: str, key: str) -> FileLock:
        locks = self.root / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        return FileLock(locks / f"{sort}-{key}.lock")
