"""Process marks: what tells a process from any other that ever had its number."""

from __future__ import annotations

from pathlib import Path

import psutil

from workbench.cgroup import HERE, text_of

# Where ``/proc/N/stat`` says, behind the name in brackets, in which state a process is and when it started.
STATE, STARTED = 0, 19
ENDED = ("Z", "X", "x")


def mark_of(pid: int, root: Path = HERE) -> str | None:
    """The mark of a living process: when the machine started and when, by its count, the process did.

    Absent when there is no such process, or when it has ended and only waits to be noticed. The clock, which may be
    set, is asked only where the system does not count.
    """
    told = text_of(root / "proc" / str(pid) / "stat")
    if told:
        facts = told.rpartition(")")[2].split()
        return None if facts[STATE] in ENDED else f"{boot_of(root)}/{facts[STARTED]}"
    if (root / "proc" / "self" / "stat").exists():
        return None
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{boot_of(root)}/{process.create_time():.2f}"
    except psutil.Error:
        return None


def boot_of(root: Path = HERE) -> str:
    """What tells this start of the machine from the others, where the system tells."""
    return text_of(root / "proc/sys/kernel/random/boot_id") or ""


def is_alive(pid: int, mark: str) -> bool:
    """Whether the process that had this number and mark is still there."""
    return mark_of(pid) == mark
