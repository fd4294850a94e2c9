"""Measuring processes that hold something of known speed and weight, to hold the ruler against.

Started as ``python tests/stand_ins.py latency|memory JOB.json``. The artifact is a folder with ``behaviour.json``:
how long a call sleeps, how many bytes are taken when it is opened, and what goes wrong when.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from workbench.errors import ArtifactError
from workbench.probes import latency, memory
from workbench.runtimes.runtime import Runtime

SCRIPT = str(Path(__file__).resolve())
# Without -P, the folder tests/workbench beside the script would be taken for the package.
LATENCY = (sys.executable, "-P", SCRIPT, "latency")
MEMORY = (sys.executable, "-P", SCRIPT, "memory")


def write_stand_in(folder: Path, **behaviour: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "behaviour.json").write_text(json.dumps(behaviour))
    return folder


@dataclass
class StandIn(Runtime):
    """Sleeps instead of computing; answers by the length of the text."""

    name = "stand-in"
    behaviour: dict[str, Any]
    held: Any = None
    calls: int = 0

    def logits(self, batch: Any) -> Any:
        self.calls += 1
        self._misbehave()
        time.sleep(self.behaviour.get("sleep", 0.0))
        flip = self.behaviour.get("flip", 1)
        return np.array([[flip, -flip] if row.sum() % 2 else [-flip, flip] for row in batch["input_ids"]], np.float32)

    def _misbehave(self) -> None:
        if self.calls == self.behaviour.get("crash_at"):
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.calls == self.behaviour.get("hang_at"):
            time.sleep(3600)
        if self.calls == self.behaviour.get("refuse_at"):
            raise ArtifactError("its weights are gone")
        if self.calls == self.behaviour.get("babble_at"):
            os.write(1, b"chatter that is not for the coordinator\n")

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    def inventory(self) -> Any:
        raise NotImplementedError

    def macs(self, batch: Any) -> int:
        raise NotImplementedError


def tokenizer(texts: list[str], **_: Any) -> dict[str, Any]:
    return {"input_ids": [[len(word) for word in text.split()] for text in texts]}


tokenizer.pad_token_id = 0  # type: ignore[attr-defined]
tokenizer.model_max_length = 512  # type: ignore[attr-defined]


def open_stand_in(artifact: Path, threads: int) -> tuple[Any, int]:
    behaviour = json.loads((artifact / "behaviour.json").read_text())
    assert os.environ["OMP_NUM_THREADS"] == str(threads)
    runtime = StandIn(behaviour)
    if "allocate" in behaviour:
        runtime.held = np.ones(behaviour["allocate"], np.uint8)
    if "passing" in behaviour:
        np.ones(behaviour["passing"], np.uint8).sum()
    return SimpleNamespace(runtime=runtime, tokenizer=tokenizer), 1


if __name__ == "__main__":
    if sys.argv[1] == "latency":
        raise SystemExit(latency.serve(sys.argv[2], open_stand_in, lambda artifact: None))
    raise SystemExit(memory.serve(sys.argv[2], open_stand_in, lambda artifact: None))
