"""Where the real GLUE files are, for tests that need them."""

from __future__ import annotations

import os
from pathlib import Path

import workbench

NO_GLUE = "no GLUE files: set WORKBENCH_TEST_GLUE to a classic GLUE folder"


def real_glue() -> Path | None:
    """The folder of real GLUE files, if there is one."""
    beside = Path(workbench.__file__).parents[2] / "shared" / "glue"
    chosen = Path(os.environ.get("WORKBENCH_TEST_GLUE") or beside)
    return chosen if chosen.is_dir() else None
