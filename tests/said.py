"""What a command said: run in this process or in one of its own, with its code and both of its channels."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from workbench.cli import main


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def told(self) -> Any:
        """What was printed for programs."""
        return json.loads(self.out)


def command(*arguments: object, **settings: object) -> Said:
    """Run the command in a process of its own."""
    line = [sys.executable, "-m", "workbench.cli", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, **settings)  # type: ignore[call-overload]
    return Said(done.returncode, done.stdout, done.stderr)


def speaker(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Gives a function that runs the command's own ``main`` in this process, without a terminal.

    It finds some bytes, by default none, on its standard input.
    """
    monkeypatch.setenv("WORKBENCH_DEBUG", "")

    def run(*arguments: object, given: bytes = b"") -> Said:
        monkeypatch.setattr(sys, "argv", ["workbench", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(int(ended.value.code or 0), *capsys.readouterr())

    return run


def only_complaint(said: Said, code: int) -> str:
    """The one message of a command that failed, on one of its channels alone."""
    assert said.code == code, said
    assert "Traceback" not in said.out + said.err
    assert said.err.startswith("error: ")
    assert said.err.count("error: ") == 1
    return said.err.removeprefix("error: ").strip()
