"""Clock: what making something cost, in wall and processor time."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from workbench.run import Cost


class Stopwatch:
    """Counts from its making."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def cost(self) -> Cost:
        """What was spent so far."""
        wall = time.perf_counter() - self._wall
        return Cost(wall_seconds=round(wall, 3), cpu_seconds=round(time.process_time() - self._cpu, 3))


def now() -> str:
    """The time in UTC, to be sorted as text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
