"""Room: whether there is memory left for one more encoder."""

from __future__ import annotations

from pathlib import Path

from workbench.cgroup import HERE, memory_left
from workbench.environment import memory_facts
from workbench.errors import WorkerError
from workbench.files import files_below

LIBRARIES_BYTES = 600_000_000
# Weights are read from a file into memory and laid out anew, some of them twice.
COPIES = 3


def check_room(artifact: Path, root: Path = HERE) -> None:
    """Refuse to open an artifact beside the others when the machine would have to swap or the container be killed."""
    available = available_memory(root)
    needed = LIBRARIES_BYTES + COPIES * sum(path.stat().st_size for path in files_below(artifact))
    if available is not None and available < needed:
        raise WorkerError(
            f"about {needed / 1e9:.1f} GB are needed to open it beside the others, {available / 1e9:.1f} GB are free; "
            "measure fewer runs at a time"
        )


def available_memory(root: Path = HERE) -> int | None:
    """How many bytes can be had without swapping or passing a limit; absent where the system does not tell."""
    told = (memory_facts(root).get("MemAvailable"), memory_left(root))
    return min((count for count in told if count is not None), default=None)
