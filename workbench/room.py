"""Room: whether there is memory left for one more encoder."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import WorkerError
from workbench.files import files_below

MEMINFO = Path("/proc/meminfo")
LIBRARIES_BYTES = 600_000_000
# Weights are read from a file into memory and laid out anew, some of them twice.
COPIES = 3


def check_room(artifact: Path) -> None:
    """Refuse to open an artifact beside the others when the machine would have to swap."""
    available = available_memory()
    needed = LIBRARIES_BYTES + COPIES * sum(path.stat().st_size for path in files_below(artifact))
    if available is not None and available < needed:
        raise WorkerError(
            f"about {needed / 1e9:.1f} GB are needed to open it beside the others, {available / 1e9:.1f} GB are free; "
            "measure fewer runs at a time"
        )


def available_memory() -> int | None:
    """How many bytes can be had without swapping; absent where the system does not tell."""
    try:
        facts = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines() if ":" in line)
        return int(facts["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
