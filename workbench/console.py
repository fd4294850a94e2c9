"""The console: where commands print, and the options that several of them share."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from workbench.store import STORE_VARIABLE

# Rich takes 80 columns for a pipe; the widest table needs 100.
out = Console(width=None if sys.stdout.isatty() else 100)
err = Console(stderr=True)

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store", help=f"Folder of kept runs; by default ${STORE_VARIABLE}, else ./runs.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def given_command() -> str:
    """What was asked for, as anybody may type it; where the program lies on this machine is left out."""
    return shlex.join(["workbench", *sys.argv[1:]])


def print_json(value: Any) -> None:
    """Print a value for programs."""
    sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
