"""Measuring: how a campaign times and weighs encoders: threads, processes, rounds, and when it may stop."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from workbench.environment import usable_cores

GRID_BATCHES = (1, 8, 32)
GRID_LENGTHS = (16, 32, 64, 128)
# Times differ more from process to process than from round to round: five short looks tell more than three long ones.
QUICK_PROCESSES = 5


class Measuring(BaseModel):
    """The settings of a campaign. With ``quick``, a short look of few rounds in each process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    threads: int = Field(default=1, ge=0, description="threads of the timed encoder; 0: all usable cores")
    quick: bool = Field(default=False, description="a short look: five processes, few rounds")
    grid: bool = Field(default=False, description="also time fixed shapes: batch 1, 8, 32 by length 16 to 128")
    texts: int = Field(default=32, ge=1, description="how many test texts, of all lengths, are timed")
    rounds: int = Field(default=20, ge=1, description="rounds of a process, each over all texts")
    processes: int = Field(default=5, ge=2, description="fresh processes of a variant, at least")
    most_processes: int = Field(default=10, ge=2, description="fresh processes of a variant, at most")
    precision: float = Field(default=0.02, gt=0, description="stop when every ratio is known to this share")
    seconds: float = Field(default=5.0, gt=0, description="time for one process's rounds; long calls get fewer rounds")
    patience: float = Field(default=300.0, gt=0, description="seconds after which a silent process is given up")

    def settled(self) -> Self:
        """These settings with ``quick`` and the number of threads spelt out."""
        changes: dict[str, object] = {"threads": self.threads or usable_cores()}
        if self.quick:
            changes |= {
                "rounds": min(self.rounds, 6),
                "processes": QUICK_PROCESSES,
                "most_processes": QUICK_PROCESSES,
                "seconds": min(self.seconds, 2.0),
            }
        most = max(self.most_processes, self.processes)
        return self.model_copy(update={"most_processes": most, **changes})
