"""The latency probe's process: holds one artifact and times calls when the coordinator asks for them.

Started as ``python -m workbench.probes.latency JOB.json`` with its threads fixed in the environment beforehand. It
answers one JSON line to each JSON line and sleeps in between, so that whoever else is being timed is undisturbed.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError
from workbench.probes.opening import Importer, Opener, OpeningJob, import_for, open_artifact, take_over_output
from workbench.tasks.task import Row
from workbench.tokens import Batch, Tokens, tokenize

if TYPE_CHECKING:
    from workbench.encoder import Encoder

WARM_SECONDS = 0.5
WARM_PASSES = 2
WARM_CALLS_OF_A_SHAPE = 3
LONGEST_VISIT_SECONDS = 0.5
MOST_CALLS_OF_A_VISIT = 5


class Stand:
    """What a job names, once it is open, and the texts it is timed on."""

    encoder: Encoder

    def __init__(self, job: OpeningJob, opener: Opener) -> None:
        self._job = job
        self._opener = opener
        self.rows = [Row(str(number), texts, None) for number, texts in enumerate(job.texts)]
        self._shapes: dict[tuple[int, int], Batch] = {}

    def open(self) -> dict[str, Any]:
        """Open the artifact, answer every text for the first time, and say what came out."""
        self.encoder, load_ns = self._opener(self._job.artifact, self._job.threads)
        calls = [self._timed_call(row) for row in self.rows]
        return {
            "load_ns": load_ns,
            "model_ns": [call[1] for call in calls],
            "tokens": [call[3] for call in calls],
            "logits": [call[2][0].tolist() for call in calls],
        }

    def warm(self) -> dict[str, Any]:
        """Answer all texts several times, unobserved; say how long a pass took at the end."""
        began = time.perf_counter()
        passes = 0
        while passes < WARM_PASSES or time.perf_counter() - began < WARM_SECONDS:
            started = time.perf_counter_ns()
            for row in self.rows:
                self._timed_call(row)
            passes += 1
        taken = time.perf_counter_ns() - started
        # What is there now stays; the collector need not look at it again.
        gc.collect()
        gc.freeze()
        return {"pass_ns": taken}

    def block(self) -> dict[str, Any]:
        """Answer every text once, one call each: making tokens and running the model timed apart."""
        with _undisturbed() as cost:
            calls = [self._timed_call(row) for row in self.rows]
        times = {"tokenize_ns": [call[0] for call in calls], "model_ns": [call[1] for call in calls]}
        return {**times, **cost, "logits": [call[2][0].tolist() for call in calls]}

    def throughput(self) -> dict[str, Any]:
        """Answer all texts in length-sorted batches."""
        tokens = tokenize(self.encoder.tokenizer, self.rows)
        with _undisturbed() as cost:
            start = time.perf_counter_ns()
            for chosen in tokens.buckets():
                self.encoder.runtime.logits(tokens.batch(chosen))
            taken = time.perf_counter_ns() - start
        return {"model_ns": [taken], **cost}

    def grid(self, batch: int, length: int) -> dict[str, Any]:
        """Run a batch of texts of one length several times; the first time, unobserved calls come before.

        Texts longer than the encoder takes are not tried.
        """
        if length > self.encoder.tokenizer.model_max_length:
            return {"model_ns": []}
        if (batch, length) not in self._shapes:
            self._shapes[batch, length] = self._of_shape(batch, length)
            self._warm_shape(self._shapes[batch, length])
        given = self._shapes[batch, length]
        taken: list[int] = []
        with _undisturbed() as cost:
            while len(taken) < MOST_CALLS_OF_A_VISIT and sum(taken) < LONGEST_VISIT_SECONDS * 1e9:
                start = time.perf_counter_ns()
                self.encoder.runtime.logits(given)
                taken.append(time.perf_counter_ns() - start)
        return {"model_ns": taken, **cost}

    def _timed_call(self, row: Row) -> tuple[int, int, NDArray[np.float32], int]:
        start = time.perf_counter_ns()
        batch = tokenize(self.encoder.tokenizer, [row]).batch([0])
        middle = time.perf_counter_ns()
        logits = self.encoder.runtime.logits(batch)
        end = time.perf_counter_ns()
        return middle - start, end - middle, logits, batch["input_ids"].shape[1]

    def _of_shape(self, batch: int, length: int) -> Batch:
        """Real tokens, one text after the other, cut to the length."""
        real = tokenize(self.encoder.tokenizer, self.rows)
        count = batch * length
        types = None if real.types is None else np.zeros(count, np.int32)
        starts = np.arange(0, count + 1, length, dtype=np.int64)
        return Tokens(np.resize(real.ids, count), types, starts, real.pad_id).batch(np.arange(batch))

    def _warm_shape(self, given: Batch) -> None:
        began, calls = time.perf_counter(), 0
        while calls < WARM_CALLS_OF_A_SHAPE or time.perf_counter() - began < WARM_SECONDS:
            self.encoder.runtime.logits(given)
            calls += 1


@contextmanager
def _undisturbed() -> Iterator[dict[str, Any]]:
    """Keep the garbage collector away, and note processor time and involuntary switches of what runs inside."""
    cost: dict[str, Any] = {}
    gc.disable()
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    try:
        yield cost
    finally:
        after = resource.getrusage(resource.RUSAGE_SELF)
        gc.enable()
        cost["wall_seconds"] = time.perf_counter() - wall
        cost["cpu_seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cost["switches"] = after.ru_nivcsw - before.ru_nivcsw


def serve(path: str, opener: Opener = open_artifact, importer: Importer = import_for) -> int:
    """Import, then open what the job names when asked to, and answer requests until the coordinator hangs up."""
    pipe = take_over_output()

    def say(answer: dict[str, Any]) -> None:
        pipe.write(json.dumps({**answer, "process_seconds": time.process_time()}) + "\n")
        pipe.flush()

    job = OpeningJob.model_validate_json(Path(path).read_text(encoding="utf-8"))
    stand = Stand(job, opener)
    try:
        importer(job.artifact)
        say({})
        for line in sys.stdin:
            request = json.loads(line)
            say(getattr(stand, request.pop("do"))(**request))
    except WorkbenchError as error:
        say({"error": " ".join(str(error).split())})
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(serve(sys.argv[1]))
