"""A real browser that looks at a real dashboard, for tests of what only a browser can tell."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

# What the pages put between the letters of a text that would be markup without it.
JOINER = "\u2060"
BROWSERS, DRIVERS = ("chromium", "chromium-browser", "google-chrome"), ("chromedriver",)
PATIENCE = 90
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
RUNNING = "[data-testid='stStatusWidget'], [data-testid='stSpinner'], [data-stale='true']"


def missing_browser() -> str | None:
    """Why no browser can be started here; absent where one can."""
    for names in (BROWSERS, DRIVERS):
        if not any(map(shutil.which, names)):
            return f"none of {', '.join(names)} is installed"
    return None


@contextmanager
def dashboard_of(store: Path, log: Path) -> Iterator[str]:
    """Serve a store by the command people use; gives the address."""
    port = free_port()
    command = [sys.executable, "-m", "workbench.cli", "dashboard", "--store", str(store), "--port", str(port)]
    with log.open("wb") as told:
        server = subprocess.Popen(command, stdout=told, stderr=told)
    address = f"http://localhost:{port}"
    try:
        _wait_for(f"{address}/_stcore/health", server, log)
        yield address
    finally:
        server.terminate()
        server.wait(PATIENCE)


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("localhost", 0))
        return int(trial.getsockname()[1])


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"the dashboard did not start: {log.read_text(errors='replace')}")


class Browser:
    """A window on a dashboard."""

    def __init__(self, profile: Path, width: int = 1400, height: int = 1000) -> None:
        options = ChromeOptions()
        options.binary_location = str(next(filter(None, map(shutil.which, BROWSERS))))
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        # Whatever a proxy may be there for, it is not for this machine.
        service = Service(shutil.which("chromedriver"), env={**os.environ, "NO_PROXY": "localhost"})
        self.driver = Chrome(options=options, service=service)
        self.size = (width, height)

    def close(self) -> None:
        self.driver.quit()

    def open(self, address: str) -> None:
        self.driver.get(address)
        self.settle()

    def reload(self) -> None:
        self.driver.refresh()
        self.settle()

    def settle(self) -> None:
        """Wait until the page is drawn and nothing runs."""
        self._until(lambda: self.all("[data-testid='stMain'] h1") and not self.all(RUNNING), "the page to be drawn")
        time.sleep(0.4)
        self._until(lambda: not self.all(RUNNING), "the page to be drawn")

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self) -> str:
        """Every word on the page, without what is invisible."""
        script = "return document.querySelector(\"[data-testid='stMain']\").innerText"
        return str(self.driver.execute_script(script)).replace(JOINER, "")

    def walk_to(self, title: str) -> None:
        """Follow a link of the navigation."""
        links = self.all("[data-testid='stSidebarNavLink']")
        next(link for link in links if link.text.split("\n")[-1].strip() == title).click()
        self._until(lambda: self._navigated(title), f"the page {title}")
        self.settle()

    def wait_for_text(self, words: str) -> None:
        self._until(lambda: words in self.text(), f"the words {words!r}")

    def colours(self, scheme: str) -> None:
        """Ask for ``light`` or ``dark``, as the system's setting does."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def chart_inks(self) -> set[str]:
        """The colours of whatever stands written in charts."""
        script = "return [...document.querySelectorAll('svg.marks text')].map(text => getComputedStyle(text).fill)"
        return set(self.driver.execute_script(script))

    def paper(self) -> str:
        """The colour of the page."""
        script = "return getComputedStyle(document.querySelector(\"[data-testid='stApp']\")).backgroundColor"
        return str(self.driver.execute_script(script))

    def brightness(self) -> float:
        """How bright the paper is, from 0 to 255."""
        shades = [float(shade) for shade in re.findall(r"[\d.]+", self.paper())[:3]]
        return sum(shades) / len(shades)

    def photograph(self, path: Path, tallest: int = 6000) -> None:
        """Keep a picture of the whole page, however long it is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        script = "return document.querySelector(\"[data-testid='stMain']\").scrollHeight"
        width, height = self.size
        self._resize(width, min(tallest, max(height, 40 + int(self.driver.execute_script(script)))))
        time.sleep(0.8)
        self.driver.save_screenshot(str(path))
        self._resize(width, height)

    def _resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def _navigated(self, title: str) -> bool:
        return any(title in link.text for link in self.all("[data-testid='stSidebarNavLink'][aria-current='page']"))

    def _until(self, seen: object, what: str) -> None:
        WebDriverWait(self.driver, PATIENCE).until(lambda _: seen(), f"waited in vain for {what}")  # type: ignore[operator]
