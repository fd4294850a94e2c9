"""How long a person waits for the dashboard of a store of 5,000 runs, in a real browser, from the address to the table.

Run with `.venv/bin/python tests/benchmarks/dashboard.py`, alone on the machine; it needs Chromium and its driver. The
server is started by `workbench dashboard`, as people start it, and asked as soon as it answers. A view has come when
the overview's first table stands on the page, counted by the browser itself from the moment it was sent there; a filter
when the words stand there that it changes. The browser is open before, with a profile that never saw the dashboard
unless the look says otherwise; its window is that of the browser tests.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from selenium.webdriver.common.keys import Keys

from workbench.store import RunStore

TESTS = Path(__file__).parents[1]
BROWSER = runpy.run_path(str(TESTS / "browser.py"))
LARGE_STORE = runpy.run_path(str(TESTS / "benchmarks" / "large_store.py"))
# Sees to it that the page itself notes when what is looked for was drawn, which takes two frames.
WATCH = """
window.seen = {};
window.wanted = {table: () => {
  const table = document.querySelector("[data-testid='stDataFrame'] canvas");
  return table && table.getBoundingClientRect().height > 0;
}};
window.look = () => {
  for (const [name, is_there] of Object.entries(window.wanted)) {
    if (name in window.seen || !is_there()) continue;
    window.seen[name] = null;
    requestAnimationFrame(() => requestAnimationFrame(() => { window.seen[name] = performance.now(); }));
  }
};
new MutationObserver(window.look).observe(document, {childList: true, subtree: true, characterData: true});
"""
WAIT_FOR_WORDS = """
const [name, words] = arguments;
window.wanted[name] = () => document.querySelector("[data-testid='stMain']").textContent.includes(words);
window.look();
"""
ROUNDS = 3
VIEW_SECONDS, FILTER_SECONDS = 3.0, 0.5
PATIENCE = 120.0
numbers = count()


@dataclass(frozen=True)
class Look:
    """Something a person waits for, the seconds it took in each round, and how long it may take, where agreed."""

    name: str
    seconds: list[float]
    goal: float | None = None

    @property
    def median(self) -> float:
        return sorted(self.seconds)[len(self.seconds) // 2]


class Window:
    """A browser that notes when things are seen."""

    def __init__(self, folder: Path) -> None:
        self.browser: Any = BROWSER["Browser"](folder / f"profile-{next(numbers)}")
        self.driver = self.browser.driver
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})

    def view(self, go: Callable[[], None]) -> float:
        """Seconds from being sent to the page to its first table."""
        go()
        seen = self._seen("table") / 1000
        self.browser.settle()
        return seen

    def filtered(self) -> float:
        """Seconds from a limit that is moved by one step to the words that tell how it is kept."""
        (slider,) = [one for one in self._sliders() if "Quality" in one.get_attribute("aria-label")]
        pressed = self.driver.execute_script("return performance.now()")
        slider.send_keys(Keys.ARROW_RIGHT)
        limit = slider.get_attribute("aria-valuetext")
        return self._words_after(pressed, f"at least {limit} of the baseline's quality")

    def task_chosen(self, task: str) -> float:
        """Seconds from the choice of another task to its summary."""
        field = next(
            one
            for one in self.browser.all("[data-testid='stSidebar'] input[role='combobox']")
            if "Task" in (one.get_attribute("aria-label") or "")
        )
        field.send_keys(task)
        pressed = self.driver.execute_script("return performance.now()")
        field.send_keys(Keys.ENTER)
        return self._words_after(pressed, f"task {task}")

    def _words_after(self, pressed: float, words: str) -> float:
        name = f"words {next(numbers)}"
        self.driver.execute_script(WAIT_FOR_WORDS, name, words)
        seen = self._seen(name)
        self.browser.settle()
        return (seen - pressed) / 1000

    def _sliders(self) -> list[Any]:
        return list(self.browser.all("input[type='range']"))

    def _seen(self, name: str) -> float:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            seen = self.driver.execute_script("return (window.seen || {})[arguments[0]]", name)
            if seen is not None:
                return float(seen)
            time.sleep(0.05)
        raise SystemExit(f"waited in vain for the {name}: {self.browser.text()}")


@contextmanager
def window(folder: Path) -> Iterator[Window]:
    """A browser with a new profile."""
    opened = Window(folder)
    try:
        yield opened
    finally:
        opened.browser.close()


def first_session(store: RunStore, folder: Path) -> tuple[float, float]:
    """Seconds until a new server answers, and until whoever asks first sees a table."""
    with window(folder) as opened:
        started = time.perf_counter()
        with BROWSER["dashboard_of"](store.root, folder / "log") as address:
            ready = time.perf_counter() - started
            return ready, opened.view(lambda: opened.driver.get(address))


def later_sessions(store: RunStore, folder: Path) -> dict[str, list[float]]:
    """Seconds of every look at a server that somebody looked at before."""
    found: dict[str, list[float]] = {name: [] for name in ("fresh", "again", "limit", "task")}
    with BROWSER["dashboard_of"](store.root, folder / "log") as address:
        with window(folder) as opened:
            opened.view(lambda: opened.driver.get(address))
        for _ in range(ROUNDS):
            with window(folder) as opened:
                found["fresh"].append(opened.view(lambda window=opened: window.driver.get(address)))  # type: ignore[misc]
                found["again"].append(opened.view(opened.driver.refresh))
                found["limit"].append(opened.filtered())
                found["task"].append(opened.task_chosen("tickets"))
    return found


def looks(store: RunStore, folder: Path) -> list[Look]:
    """Every look, the one first that nobody looked before."""
    LARGE_STORE["forget"](store)
    LARGE_STORE["forget_judged"](store)
    never = first_session(store, folder)
    first = [first_session(store, folder) for _ in range(ROUNDS)]
    later = later_sessions(store, folder)
    return [
        Look("until the server answers, store never looked at", [never[0]]),
        Look("first view then", [never[1]]),
        Look("until the server answers", [ready for ready, _ in first]),
        Look("first view in a server's first session", [seen for _, seen in first], VIEW_SECONDS),
        Look("first view in a fresh browser profile", later["fresh"], VIEW_SECONDS),
        Look("first view on reload", later["again"], VIEW_SECONDS),
        Look("a limit moved", later["limit"], FILTER_SECONDS),
        Look("another task chosen", later["task"], FILTER_SECONDS),
    ]


def main() -> int:
    """Make the store, look at it in every way, and show a table."""
    missing = BROWSER["missing_browser"]()
    if missing:
        raise SystemExit(f"no browser to look with: {missing}")
    with tempfile.TemporaryDirectory(prefix="workbench-dashboard-") as folder:
        store: RunStore = runpy.run_path(str(TESTS / "large_store.py"))["make_store"](Path(folder) / "store")
        table = Table("look", "seconds", "all rounds", "goal", title=f"{len(store.ids())} runs")
        found = looks(store, Path(folder))
        for look in found:
            rounds = ", ".join(f"{seconds:.2f}" for seconds in look.seconds)
            table.add_row(look.name, f"{look.median:.2f}", rounds, "–" if look.goal is None else f"{look.goal:.1f} s")
    Console().print(table)
    return 1 if any(look.goal is not None and look.median > look.goal for look in found) else 0


if __name__ == "__main__":
    sys.exit(main())
