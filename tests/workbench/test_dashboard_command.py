"""`workbench dashboard` serves a store on this machine alone, and says in a sentence why it cannot."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from browser import free_port
from said import only_complaint, speaker

from workbench.dashboard_command import APP, checked_store
from workbench.errors import UsageError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def workbench(monkeypatch, capsys):
    return speaker(monkeypatch, capsys)


def test_the_page_it_serves_is_the_one_at_the_top():
    assert APP == ROOT / "app.py"


def test_a_port_that_is_taken_is_told(workbench, tmp_path):
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen(1)
        port = other.getsockname()[1]
        told = only_complaint(workbench("dashboard", "--store", tmp_path, "--port", port), 2)
    assert told.startswith(f"port {port} cannot be had")
    assert told.endswith("choose another with --port")


def test_a_store_that_nothing_could_hold_is_told(workbench, tmp_path):
    told = only_complaint(workbench("dashboard", "--store", tmp_path / "no" / "runs"), 2)
    assert f"there is no folder {tmp_path / 'no'}" in told


def test_a_store_that_is_a_file_is_told(workbench, tmp_path):
    (tmp_path / "runs").write_text("")
    assert "is a file" in only_complaint(workbench("dashboard", "--store", tmp_path / "runs"), 2)


def test_a_store_that_is_not_there_yet_can_be_looked_at(tmp_path):
    assert checked_store(tmp_path / "runs") == tmp_path / "runs"


def test_a_relative_store_is_named_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert checked_store(Path("runs")) == tmp_path / "runs"
    with pytest.raises(UsageError, match="no folder"):
        checked_store(Path("deep/er/runs"))


def test_it_listens_here_only_and_ends_quietly_when_interrupted(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "workbench.cli", "dashboard", "--store", str(tmp_path), "--port", str(port)]
    told = tmp_path / "told"
    # From another folder, with nothing of the repository on the path but what is installed. A store holds reports.
    (tmp_path / "reports").mkdir()
    with told.open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path, env=_environment())
    try:
        _wait_for(port, server)
        assert _listening(port) <= {"0100007F", "0" * 24 + "01000000"}
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    finally:
        server.kill()
    said = told.read_text()
    assert f"dashboard of {tmp_path}: http://localhost:{port}" in said
    assert "Traceback" not in said
    assert "WARNING" not in said.upper()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while server.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("it did not start")


def _listening(port: int) -> set[str]:
    """The addresses, as the kernel writes them, on which something listens at a port."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        lines = Path(table).read_text().splitlines()[1:] if Path(table).exists() else []
        for line in lines:
            place, state = line.split()[1], line.split()[3]
            address, _, number = place.partition(":")
            if int(number, 16) == port and state == "0A":
                found.add(address)
    return found
