"""How long looking at a store of 5,000 runs takes, and the most memory it needs: each look in a process of its own.

Run with `make benchmarks`, alone on the machine. Imports count: the times are those a person waits for the command.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from workbench.run_index import INDEX
from workbench.store import RunStore

MAKER = Path(__file__).parents[1] / "large_store.py"
# The command as it is, which at its end tells the most memory it held; what the kernel tells of a child whose parent
# is large would be the parent's.
COMMAND = """
import atexit, sys
from pathlib import Path
def tell():
    sys.stderr.write(Path("/proc/self/status").read_text().partition("VmHWM:")[2].partition("\\n")[0])
atexit.register(tell)
from workbench.cli import main
main()
"""
ROUNDS = 3
GOAL_SECONDS = 2.0
COMPARING_SECONDS = 5.0


@dataclass(frozen=True)
class Look:
    """Something a person asks of the store, what must be so before, and how long it may take, where that is agreed."""

    name: str
    arguments: tuple[str, ...]
    before: Callable[[RunStore], object] = lambda store: None
    goal: float | None = None


def forget(store: RunStore) -> None:
    """Take the index away, as if nobody had listed the store before."""
    (store.root / INDEX).unlink(missing_ok=True)


def forget_judged(store: RunStore) -> None:
    """Take away what was judged before, as if nobody had compared anything."""
    shutil.rmtree(store.root / "judged", ignore_errors=True)


# Every look that must stay quick however many runs there are.
LOOKS = [
    Look("first listing", ("list", "runs"), before=forget),
    Look("listing with the index", ("list", "runs"), goal=GOAL_SECONDS),
    Look("listing with the index, as JSON", ("list", "runs", "--json"), goal=GOAL_SECONDS),
    Look("listing filtered", ("list", "runs", "--study", "study-3", "--task", "reviews"), goal=GOAL_SECONDS),
    Look("first comparison of a study", ("compare", "study-3"), before=forget_judged, goal=COMPARING_SECONDS),
    Look("comparison of a study", ("compare", "study-3"), goal=COMPARING_SECONDS),
    Look("recommendation", ("recommend", "study-3", "--optimise", "size"), goal=COMPARING_SECONDS),
]


def taken(look: Look, store: RunStore) -> tuple[float, int]:
    """Seconds of wall time and the most bytes of memory that one look took."""
    look.before(store)
    command = [sys.executable, "-c", COMMAND, *look.arguments, "--store", str(store.root)]
    started = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{look.name} failed: {done.stderr}")
    return seconds, 1024 * int(done.stderr.split()[-2])


def main() -> int:
    """Make the store, look at it in every way, and show a table."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="workbench-large-store-") as folder:
        started = time.perf_counter()
        store: RunStore = runpy.run_path(str(MAKER))["make_store"](Path(folder) / "store")
        made = f"{len(store.ids())} runs, made in {time.perf_counter() - started:.0f} s"
        table = Table("look", "seconds", "goal", "peak memory", title=f"{made}; median of {ROUNDS}")
        missed = 0
        for look in LOOKS:
            rounds = sorted(taken(look, store) for _ in range(ROUNDS))
            seconds, memory = rounds[ROUNDS // 2][0], max(used for _, used in rounds)
            missed += look.goal is not None and seconds > look.goal
            goal = "–" if look.goal is None else f"{look.goal:.0f} s"
            table.add_row(look.name, f"{seconds:.2f}", goal, f"{memory / 1e6:.0f} MB")
    console.print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
