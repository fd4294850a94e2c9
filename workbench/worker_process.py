"""WorkerProcess: the coordinator's end of a measuring process; it waits without spinning and never for ever."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

from workbench.environment import ISA_LIMIT_VARIABLE, Environment
from workbench.errors import WorkerError

BELOW_AMX = "AVX512_CORE_FP16"
# How long a process that closed its output is given to end.
LAST_SECONDS = 5.0
MEASURING = "the measuring process"


def environment_for(threads: int) -> dict[str, str]:
    """The environment of a measuring process: its threads are fixed before anything is imported.

    Instructions that virtual machines announce in vain are left out for every runtime alike.
    """
    count = str(threads)
    fixed = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), count)
    held = {ISA_LIMIT_VARIABLE: BELOW_AMX} if "amx_int8" in Environment.observe().flags else {}
    return {**held, **os.environ, **fixed, "TOKENIZERS_PARALLELISM": "false"}


class WorkerProcess:
    """A started process that answers one JSON line to each JSON line.

    Every failure, silence for longer than ``patience`` seconds included, is a ``WorkerError`` that says what happened,
    and ends the process. ``called`` is what it is called in these sentences.
    """

    def __init__(
        self,
        command: Sequence[str],
        errors: Path,
        environment: Mapping[str, str],
        patience: float,
        called: str = MEASURING,
    ) -> None:
        self._patience = patience
        self._errors = errors
        self._called = called
        self._process = _started(command, errors, environment, called)
        self._ended = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        try:
            self._input.write(json.dumps({"do": do, **details}).encode() + b"\n")
            self._input.flush()
        except OSError:
            raise WorkerError(self._last_words()) from None
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Wait for the next answer."""
        line = self._line()
        try:
            told = json.loads(line)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            self.end()
            raise WorkerError(f"{self._called} answered nonsense: {line[:100]!r}")
        if "error" in told:
            self.end()
            raise WorkerError(str(told["error"]))
        return told

    def end(self) -> None:
        """End the process and all it started, whatever state it is in."""
        if self._ended:
            # Its number may be another's by now.
            return
        self._ended = True
        # What it started may outlive it, and macOS refuses to signal a group of the dead.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    @property
    def _input(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _line(self) -> bytes:
        until = time.monotonic() + self._patience
        while b"\n" not in self._rest:
            if not self._selector.select(max(0.0, until - time.monotonic())):
                self.end()
                raise WorkerError(f"{self._called} did not answer within {self._patience:g} s and was stopped")
            piece = os.read(self._output.fileno(), 1 << 20)
            if not piece:
                raise WorkerError(self._last_words())
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _last_words(self) -> str:
        try:
            code = self._process.wait(LAST_SECONDS)
            how = f"died ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
        except subprocess.TimeoutExpired:
            how = "hung up without ending"
        self.end()
        lines = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"{self._called} {how}: {lines[-1][:300] if lines else 'it said nothing'}"


def _started(
    command: Sequence[str], errors: Path, environment: Mapping[str, str], called: str
) -> subprocess.Popen[bytes]:
    try:
        with errors.open("wb") as stream:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env=dict(environment),
                start_new_session=True,
            )
    except OSError as error:
        raise WorkerError(f"{called} could not be started ({error})") from None
