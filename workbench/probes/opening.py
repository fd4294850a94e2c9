"""Opening: what every measuring process is asked to open, how it imports and opens it, and where it answers."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pydantic import BaseModel, ConfigDict

from workbench.lineage import Manifest

if TYPE_CHECKING:
    from workbench.encoder import Encoder

# What opening any artifact imports, and what opening one of a runtime imports besides.
ALWAYS = ("workbench.encoder", "workbench.silence", "transformers.models.auto.tokenization_auto")
IMPORTS = {"torch": ("transformers.modeling_utils",), "onnxruntime": ("onnxruntime",)}

Opener = Callable[[Path, int], "tuple[Encoder, int]"]
Importer = Callable[[Path], None]


class OpeningJob(BaseModel):
    """Which artifact is opened, on which texts it is measured, with how many threads."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    artifact: Path
    texts: tuple[tuple[str, ...], ...]
    threads: int


def import_for(artifact: Path) -> None:
    """Import what opening the artifact will need; what libraries take by being imported is not the model's."""
    manifest = Manifest.read(artifact)
    for name in (*ALWAYS, *IMPORTS.get(manifest.runtime, ())):
        importlib.import_module(name)
    if manifest.runtime == "openvino":
        from workbench.runtimes.openvino_runtime import openvino

        openvino()
    family = manifest.lineage.base_config.get("model_type", "bert")
    importlib.import_module(f"transformers.models.{family}")
    if manifest.runtime == "torch":
        importlib.import_module(f"transformers.models.{family}.modeling_{family}")


def open_artifact(artifact: Path, threads: int) -> tuple[Encoder, int]:
    """Open an artifact for a number of threads; the nanoseconds are those of opening, without checking hashes."""
    import torch

    from workbench.encoder import Encoder
    from workbench.silence import quieten_runtimes

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    quieten_runtimes()
    manifest = Manifest.read(artifact)
    start = time.perf_counter_ns()
    encoder = Encoder.opened(artifact, manifest, threads)
    encoder.runtime.open()
    return encoder, time.perf_counter_ns() - start


def take_over_output() -> TextIO:
    """The pipe to the coordinator; whatever libraries print goes to the error stream from now on."""
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return pipe
