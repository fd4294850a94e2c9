"""Control groups: the processor time and the memory that Linux grants this process, in versions 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

HERE = Path("/")
# Version 1 writes "no limit" as the largest number that its page counter holds, which depends on the page size.
ENDLESS = 2**60


class Mount(NamedTuple):
    """A tree of groups: which controllers it has, which group stands at its top, and where it is seen."""

    controllers: frozenset[str]
    top: PurePosixPath
    point: Path


def text_of(path: Path) -> str | None:
    """What a file of the system says, without the space around it; absent when it cannot be read or is empty."""
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def cpu_quota(root: Path = HERE) -> float | None:
    """How many cores' worth of time this process gets at most; absent when nothing limits it."""
    granted = (_quota(folder) for folder in _groups(root, "cpu"))
    return min((quota for quota in granted if quota is not None), default=None)


def memory_limit(root: Path = HERE) -> int | None:
    """How many bytes this process and its group may hold at most; absent when nothing limits them."""
    granted = (_limit(folder) for folder in _groups(root, "memory"))
    return min((limit for limit in granted if limit is not None), default=None)


def memory_left(root: Path = HERE) -> int | None:
    """How many bytes the limit still leaves, what the system can drop counted as free; absent without a limit."""
    left = (_left(folder) for folder in _groups(root, "memory"))
    return min((rest for rest in left if rest is not None), default=None)


def _quota(folder: Path) -> float | None:
    told = text_of(folder / "cpu.max")
    parts = told.split() if told else [text_of(folder / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    try:
        time, period = (int(part) for part in parts)
    except ValueError:
        return None
    return time / period if time > 0 and period > 0 else None


def _limit(folder: Path) -> int | None:
    limit = _number(folder / "memory.max", folder / "memory.limit_in_bytes")
    return limit if limit is not None and limit < ENDLESS else None


def _left(folder: Path) -> int | None:
    limit = _limit(folder)
    used = _number(folder / "memory.current", folder / "memory.usage_in_bytes")
    if limit is None or used is None:
        return None
    lines = (text_of(folder / "memory.stat") or "").splitlines()
    facts = dict(line.split(maxsplit=1) for line in lines if " " in line)
    droppable = facts.get("total_inactive_file") or facts.get("inactive_file") or "0"
    return max(0, limit - used + (int(droppable) if droppable.isdecimal() else 0))


def _number(*paths: Path) -> int | None:
    told = next((text for text in map(text_of, paths) if text), "")
    return int(told) if told.isdecimal() else None


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of the groups that this process is in, from its own upwards: each of them can set a limit."""
    own = _memberships(root)
    for mount in _mounts(root):
        group = own.get("" if "" in mount.controllers else controller)
        if group is None or not mount.controllers & {"", controller}:
            continue
        below = _below(group, mount.top)
        yield from (mount.point / step for step in (below, *below.parents))


def _below(group: PurePosixPath, top: PurePosixPath) -> PurePosixPath:
    """Where a group is below a mount; a group outside of what this container sees is the mount itself."""
    seen = group.is_relative_to(top) and ".." not in group.parts
    return group.relative_to(top) if seen else PurePosixPath()


def _memberships(root: Path) -> dict[str, PurePosixPath]:
    """The group of each controller of version 1, and under the empty name that of version 2."""
    found = {}
    for line in (text_of(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        found.update(dict.fromkeys(controllers.split(","), PurePosixPath(group)))
    return found


def _mounts(root: Path) -> Iterator[Mount]:
    """The trees of groups that are mounted; that of version 2 has the controller of the empty name."""
    for line in (text_of(root / "proc/self/mountinfo") or "").splitlines():
        place, _, kind = line.partition(" - ")
        places, kinds = place.split(), kind.split()
        if len(places) < 5 or len(kinds) < 3 or kinds[0] not in {"cgroup", "cgroup2"}:
            continue
        controllers = frozenset({""} if kinds[0] == "cgroup2" else kinds[2].split(","))
        yield Mount(controllers, PurePosixPath(places[3]), root / places[4].lstrip("/"))
