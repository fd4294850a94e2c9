"""Things that look as if nobody had touched them for long."""

from __future__ import annotations

import os
import time
from pathlib import Path

from workbench.leftovers import DAY


def aged(path: Path, days: float) -> Path:
    """Make it look as if nobody had written or read a file, or anything in a folder, for some days."""
    then = time.time() - days * DAY
    for item in (path, *path.rglob("*")):
        os.utime(item, (then, then))
    return path
