"""Noise: what else went on on this machine while something was measured."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
# The fields of the line "cpu" in /proc/stat, in order; guest time is counted in user time already.
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
IDLE = ("idle", "iowait")


@dataclass(frozen=True)
class Noise:
    """What a machine did between two readings; what it does not tell is absent."""

    wall_seconds: float
    load: float | None
    steal_share: float | None
    busy_cores: float | None


@dataclass(frozen=True)
class Reading:
    """The machine's counters at one moment."""

    at: float
    load: float | None
    ticks: dict[str, int] | None

    @classmethod
    def take(cls) -> Reading:
        """Read the counters now."""
        return cls(time.monotonic(), _load(), _ticks())

    def since(self, earlier: Reading) -> Noise:
        """Say what happened between an earlier reading and this one."""
        wall = self.at - earlier.at
        if self.ticks is None or earlier.ticks is None or wall <= 0:
            return Noise(wall, self.load, None, None)
        spent = {name: count - earlier.ticks[name] for name, count in self.ticks.items()}
        total = sum(spent.values())
        busy = sum(count for name, count in spent.items() if name not in (*IDLE, "steal"))
        steal = spent["steal"] / total if total > 0 else None
        return Noise(wall, self.load, steal, busy / os.sysconf("SC_CLK_TCK") / wall)


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None


def _ticks() -> dict[str, int] | None:
    try:
        first, *_ = STAT.read_text(encoding="ascii").splitlines()
        counts = [int(count) for count in first.split()[1 : len(FIELDS) + 1]]
        return dict(zip(FIELDS, counts, strict=True))
    except (OSError, ValueError):
        return None
