"""What applying each one-shot strategy costs on the embedded base: seconds, and memory beyond the loaded base.

Run with `make benchmarks`, alone on the machine. Every strategy works in a process of its own. Strategies that train
are left out: their cost is their training, and every run's record has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from workbench.plugins import STRATEGIES, load, names

GOAL_SECONDS = 180
GOAL_BYTES = "4 × weights + 1 GiB"


def peak_bytes() -> int:
    """The most memory this process held since its marks were cleared."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def measure(name: str) -> dict[str, float]:
    """Apply one strategy with its defaults and tell what it took."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from workbench.bench import Bench
    from workbench.cache import Cache
    from workbench.clock import Stopwatch
    from workbench.finetuned import OpenedBase
    from workbench.progress import Quiet
    from workbench.silence import quieten_libraries
    from workbench.study import Study
    from workbench.tasks.data import read_task

    quieten_libraries()
    study = Study(name="cost", tasks=("rotten-tomatoes",))
    task = study.chosen_tasks()[0]
    encoder = OpenedBase.open(study).untrained(task, 0)
    data = read_task(task)
    with tempfile.TemporaryDirectory() as folder:
        places = {"scratch": Path(folder), "workplace": Path(folder) / "work", "cache": Cache(Path(folder) / "cache")}
        bench = Bench(data=data, teacher=encoder, seed=0, progress=Quiet(), **places)
        weights = sum(tensor.nbytes for tensor in encoder.model.state_dict().values())
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
        before, watch = peak_bytes(), Stopwatch()
        load(STRATEGIES, name)().apply(encoder, bench)
        cost = watch.cost()
    return {"wall": cost.wall_seconds, "cpu": cost.cpu_seconds, "extra": peak_bytes() - before, "weights": weights}


def main() -> int:
    """Measure every one-shot strategy and show a table."""
    table = Table("strategy", "seconds", "cpu seconds", "extra memory", title=f"goals: {GOAL_SECONDS} s, {GOAL_BYTES}")
    missed = 0
    for name in names(STRATEGIES):
        if load(STRATEGIES, name).claims == ("other-weights",):
            continue
        told = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True).stdout
        found = json.loads(told.splitlines()[-1])
        missed += found["wall"] > GOAL_SECONDS or found["extra"] > 4 * found["weights"] + 2**30
        extra = f"{found['extra'] / 1e6:.0f} MB = {found['extra'] / found['weights']:.1f} × weights"
        table.add_row(name, f"{found['wall']:.1f}", f"{found['cpu']:.1f}", extra)
    Console().print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stdout.write("\n" + json.dumps(measure(sys.argv[1])))
    else:
        sys.exit(main())
