"""The memory probe's process: opens one artifact in phases and says what each phase held at its highest.

Started as ``python -m workbench.probes.memory JOB.json``. What a library takes by being imported is not the model's:
everything the artifact's runtime imports is imported in a phase of its own.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.lineage import Manifest
from workbench.probes.latency import LatencyJob, open_artifact, take_over_output
from workbench.process_memory import Phase, Watch
from workbench.tasks.task import Row
from workbench.tokens import tokenize

if TYPE_CHECKING:
    from workbench.encoder import Encoder

STEADY_PASSES = 2
# What opening any artifact imports, and what opening one of a runtime imports besides.
ALWAYS = ("workbench.encoder", "workbench.silence", "datasets", "transformers.models.auto.tokenization_auto")
IMPORTS = {"torch": ("transformers.modeling_utils",), "onnxruntime": ("onnxruntime",)}


def import_for(artifact: Path) -> None:
    """Import what opening the artifact will need, so that it is not counted as the model's."""
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


def phases_of(
    job: LatencyJob,
    opener: Callable[[Path, int], tuple[Encoder, int]],
    imports: Callable[[Path], None],
) -> tuple[list[Phase], str]:
    """Import, open, answer once, answer everything; and how memory was read."""
    watch = Watch()
    rows = [Row(str(number), texts, None) for number, texts in enumerate(job.texts)]
    imports(job.artifact)
    gc.collect()
    found = [watch.ended("imports")]
    encoder, _ = opener(job.artifact, job.threads)
    found.append(watch.ended("load"))
    _answer(encoder, rows[:1])
    found.append(watch.ended("first call"))
    for _ in range(STEADY_PASSES):
        _answer(encoder, rows)
    found.append(watch.ended("steady"))
    return found, watch.how


def _answer(encoder: Encoder, rows: list[Row]) -> None:
    for row in rows:
        encoder.runtime.logits(tokenize(encoder.tokenizer, [row]).batch([0]))


def serve(
    path: str,
    opener: Callable[[Path, int], tuple[Encoder, int]] = open_artifact,
    imports: Callable[[Path], None] = import_for,
) -> int:
    """Go through the phases and tell of them in one line."""
    pipe = take_over_output()
    job = LatencyJob.model_validate_json(Path(path).read_text(encoding="utf-8"))
    answer: dict[str, Any]
    try:
        found, how = phases_of(job, opener, imports)
        answer = {"how": how, "phases": [phase.model_dump() for phase in found]}
    except WorkbenchError as error:
        answer = {"error": " ".join(str(error).split())}
    pipe.write(json.dumps(answer) + "\n")
    pipe.flush()
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    raise SystemExit(serve(sys.argv[1]))
