"""The memory probe's process: opens one artifact in phases and says what each phase held at its highest.

Started as ``python -m workbench.probes.memory JOB.json``. What a library takes by being imported is not the model's:
everything the artifact's runtime imports is imported in a phase of its own.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.probes.opening import Importer, Opener, OpeningJob, import_for, open_artifact, take_over_output
from workbench.process_memory import Phase, Watch
from workbench.tasks.task import Row
from workbench.tokens import tokenize

if TYPE_CHECKING:
    from workbench.encoder import Encoder

STEADY_PASSES = 2


def phases_of(job: OpeningJob, opener: Opener, importer: Importer) -> tuple[list[Phase], str]:
    """Import, open, answer once, answer everything; and how memory was read."""
    watch = Watch()
    rows = [Row(str(number), texts, None) for number, texts in enumerate(job.texts)]
    importer(job.artifact)
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


def serve(path: str, opener: Opener = open_artifact, importer: Importer = import_for) -> int:
    """Go through the phases and tell of them in one line."""
    pipe = take_over_output()
    job = OpeningJob.model_validate_json(Path(path).read_text(encoding="utf-8"))
    answer: dict[str, Any]
    try:
        found, how = phases_of(job, opener, importer)
        answer = {"how": how, "phases": [phase.model_dump() for phase in found]}
    except WorkbenchError as error:
        answer = {"error": " ".join(str(error).split())}
    pipe.write(json.dumps(answer) + "\n")
    pipe.flush()
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    raise SystemExit(serve(sys.argv[1]))
