"""Locks that another living process holds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("mine", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def held_elsewhere(lock: Path) -> Iterator[None]:
    """Another process holds a lock for as long as this lasts."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "mine\n"
        yield
        child.communicate("\n")
