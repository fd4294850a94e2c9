"""Coordinator: lets the contestants of a campaign take turns in being timed, and writes down all that is seen.

Every contestant sits loaded and idle in a process of its own; in each round all are visited in a new random order over
the same texts. Then all processes are thrown away and fresh ones take their places.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.campaign import Round
from workbench.errors import WorkerError
from workbench.logbook import Logbook, Visit
from workbench.measuring import GRID_BATCHES, GRID_LENGTHS, Measuring
from workbench.noise import Reading
from workbench.progress import Advance, Reporter
from workbench.ratios import ratio_of
from workbench.room import check_room
from workbench.worker_process import WorkerProcess, environment_for

STEAL_AT_MOST = 0.02
OTHERS_AT_MOST = 0.2
# Rounds beyond the planned ones, as a share of them, to replace noisy ones.
SPARE_ROUNDS = 0.5
LEAST_ROUNDS = 5
THROUGHPUT_PASSES = 2
GRID_PASSES = 2
# Threads of the last call may still be waiting busily; with one thread there are none.
SETTLE_SECONDS = 0.02
LATENCY = (sys.executable, "-m", "workbench.probes.latency")
RULER = (sys.executable, "-m", "workbench.probes.ruler")

Workers = dict[str, WorkerProcess]


@dataclass(frozen=True)
class Field:
    """What is measured beside each other, the baseline first, by name; and the texts it is measured on."""

    artifacts: Mapping[str, Path]
    texts: Sequence[tuple[str, ...]]

    @property
    def baseline(self) -> str:
        """What the others are measured against."""
        return next(iter(self.artifacts))


def write_job(folder: Path, artifact: Path, texts: Sequence[tuple[str, ...]], threads: int) -> Path:
    """Write what a measuring process is asked to open, on which texts, with how many threads."""
    folder.mkdir()
    job = {"artifact": str(artifact.resolve()), "texts": [list(pair) for pair in texts], "threads": threads}
    path = folder / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    return path


class Coordinator:
    """Carries out the timing of one campaign; a contestant that fails is noted and the others go on."""

    def __init__(
        self,
        field: Field,
        settings: Measuring,
        scratch: Path,
        progress: Reporter,
        command: Sequence[str] = LATENCY,
    ) -> None:
        self.field = field
        self.settings = settings
        self.log = Logbook(field.artifacts)
        self._scratch = scratch
        self._progress = progress
        self._command = command
        self._chance = random.Random(0)
        self._processor_seconds: dict[str, float] = {}

    def time_all(self) -> Logbook:
        """Time every contestant in several processes, until the ratios are known well enough."""
        least, rounds = self.settings.processes, self.settings.rounds
        with self._progress.bar(f"timing, {least} processes of each", least * rounds, calm=True) as advance:
            for process in range(least):
                self._one_process(process, lambda done, before=process * rounds: advance(before + done))  # type: ignore[misc]
        for process in range(least, self.settings.most_processes):
            if self._known_well_enough():
                break
            label = f"ratios are not yet known to ±{self.settings.precision:.0%}: process {process + 1}"
            with self._progress.bar(label, rounds, calm=True) as advance:
                self._one_process(process, advance)
        return self.log

    def _one_process(self, process: int, advance: Advance) -> None:
        """Start a fresh process for each contestant, time them in turn, and end them all."""
        with ExitStack() as stack:
            workers = self._started(process, stack)
            self._rounds(process, workers, self._warmed(workers), advance)
            for number in range(THROUGHPUT_PASSES):
                self._turn(workers, process, number, "throughput", samples=len(self.field.texts))
            if self.settings.grid:
                self._grid(process, workers)

    def _started(self, process: int, stack: ExitStack) -> Workers:
        """Start a process for each contestant; they import side by side, and then open one after the other."""
        workers: Workers = {}
        self._processor_seconds = {}
        standing = [name for name, seen in self.log.seen.items() if not seen.failure]
        for number, name in enumerate(self._shuffled(standing)):
            folder = self._scratch / f"{process}-{number}"
            with self._noting(workers, name):
                workers[name] = stack.enter_context(self._worker(folder, name))
        for name in list(workers):
            with self._noting(workers, name):
                workers[name].answer()
        for name in self._shuffled(workers):
            with self._noting(workers, name):
                check_room(self.field.artifacts[name])
                self.log.ready(name, process, workers[name].ask("open"))
        return workers

    def _worker(self, folder: Path, name: str) -> WorkerProcess:
        job = write_job(folder, self.field.artifacts[name], self.field.texts, self.settings.threads)
        environment = environment_for(self.settings.threads)
        return WorkerProcess((*self._command, str(job)), folder / "errors.txt", environment, self.settings.patience)

    @contextmanager
    def _noting(self, workers: Workers, name: str) -> Iterator[None]:
        """Note a failure as the contestant's, and go on without it."""
        try:
            yield
        except WorkerError as error:
            self.log.seen[name].failure = str(error)
            workers.pop(name, None)

    def _warmed(self, workers: Workers) -> int:
        """Warm everybody up; say how many rounds the time allows."""
        answers = [self._ask(workers, name, "warm") for name in self._shuffled(workers)]
        passes = [answer["pass_ns"] / 1e9 for answer in answers if answer]
        if not passes:
            return 0
        allowed = int(self.settings.seconds * len(passes) / sum(passes))
        return min(self.settings.rounds, max(LEAST_ROUNDS, allowed))

    def _rounds(self, process: int, workers: Workers, wanted: int, advance: Advance) -> None:
        kept, spare, number = 0, int(wanted * SPARE_ROUNDS), 0
        while kept < wanted and workers:
            done = self._round(process, number, workers, whatever_happens=spare == 0)
            kept, spare, number = kept + done.kept, spare - (not done.kept), number + 1
            advance(self.settings.rounds * kept // wanted)

    def _round(self, process: int, number: int, workers: Workers, whatever_happens: bool) -> Round:
        before, spent_before = Reading.take(), self._spent()
        visits = [
            (Visit(name, process, "natural", number, place), self._ask(workers, name, "block"))
            for place, name in enumerate(self._shuffled(workers))
        ]
        noise = Reading.take().since(before)
        busy, ours = noise.busy_cores, (self._spent() - spent_before) / noise.wall_seconds
        others = None if busy is None else max(0.0, busy - ours)
        quiet = (noise.steal_share or 0) <= STEAL_AT_MOST and (others or 0) <= OTHERS_AT_MOST
        found = Round(
            process=process,
            round=number,
            seconds=noise.wall_seconds,
            load=noise.load,
            steal_share=noise.steal_share,
            others_cores=others,
            involuntary_switches=sum(told["switches"] for _, told in visits if told),
            quiet=quiet,
            kept=quiet or whatever_happens,
        )
        self.log.rounds.append(found)
        for visit, told in visits:
            if told:
                self.log.block(visit, told, found.kept)
        return found

    def _grid(self, process: int, workers: Workers) -> None:
        shapes = [(batch, length) for batch in GRID_BATCHES for length in GRID_LENGTHS]
        with self._progress.bar(f"grid of shapes, process {process + 1}", len(shapes), calm=True) as advance:
            for done, (batch, length) in enumerate(shapes, 1):
                for number in range(GRID_PASSES):
                    self._turn(workers, process, number, "grid", samples=batch, tokens=length)
                advance(done)

    def _turn(
        self, workers: Workers, process: int, number: int, sort: Any, samples: int, tokens: int | None = None
    ) -> None:
        shape = {} if tokens is None else {"batch": samples, "length": tokens}
        for place, name in enumerate(self._shuffled(workers)):
            told = self._ask(workers, name, sort, **shape)
            if told:
                self.log.calls(Visit(name, process, sort, number, place, samples, tokens), told)

    def _ask(self, workers: Workers, name: str, do: str, **details: int) -> dict[str, Any] | None:
        if self.settings.threads > 1:
            time.sleep(SETTLE_SECONDS)
        told = None
        with self._noting(workers, name):
            told = workers[name].ask(do, **details)
            self._processor_seconds[name] = told["process_seconds"]
        return told

    def _spent(self) -> float:
        """Processor time of this campaign's own processes."""
        return time.process_time() + sum(self._processor_seconds.values())

    def _known_well_enough(self) -> bool:
        timings = self.log.timings()
        ratios = [
            ratio_of(timings.log_ratios(self.field.baseline, name))
            for name, seen in self.log.seen.items()
            if name != self.field.baseline and not seen.failure
        ]
        return all(ratio is None or ratio.half_width <= self.settings.precision for ratio in ratios)

    def _shuffled(self, names: Iterable[str]) -> list[str]:
        given = list(names)
        return self._chance.sample(given, len(given))
