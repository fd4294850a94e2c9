"""Steps: apply a recipe's strategies one by one; what was trained is kept, so that recipes share their beginnings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench.bench import Bench
from workbench.cache import Cache
from workbench.clock import Stopwatch
from workbench.encoder import Encoder
from workbench.errors import PluginError
from workbench.plan import PlannedRun, step_identity
from workbench.progress import Reporter
from workbench.run import StepRecord
from workbench.step_keys import step_key
from workbench.strategy import Strategy

ENCODER = "encoder"
RECORD = "step.json"


@dataclass(frozen=True)
class StepMaker:
    """Carries out the steps of one planned run, from the fine-tuned base on."""

    planned: PlannedRun
    base: Encoder
    scratch: Path
    progress: Reporter
    cache: Cache

    def make(self, number: int, encoder: Encoder) -> tuple[Encoder, StepRecord]:
        """Apply step ``number``, counted from 1, or take its result from the cache when it needed training."""
        strategy = self.planned.strategies[number - 1]
        if "train" not in strategy.needs:
            return self._apply(strategy, encoder, number)
        key = self.key(number)

        def build(folder: Path) -> None:
            evolved, record = self._apply(strategy, encoder, number)
            (folder / ENCODER).mkdir()
            evolved.save(folder / ENCODER)
            (folder / RECORD).write_text(record.model_dump_json(), encoding="utf-8")

        folder = self.cache.make("steps", key, build)
        self.cache.clear_workplace(key)
        record = StepRecord.model_validate_json((folder / RECORD).read_text(encoding="utf-8"))
        return Encoder.load(folder / ENCODER), record

    def key(self, number: int) -> str:
        """A hash of everything that decides the result of the first ``number`` steps."""
        told = [step_identity(strategy) for strategy in self.planned.strategies[:number]]
        return step_key(self.planned.base_key, self.planned.data.fingerprint, self.planned.seed, told)

    def _apply(self, strategy: Strategy, encoder: Encoder, number: int) -> tuple[Encoder, StepRecord]:
        watch = Stopwatch()
        evolved = strategy.apply(encoder, self._bench(number))
        if not isinstance(evolved, Encoder) or len(evolved.lineage.steps) != len(encoder.lineage.steps) + 1:
            raise PluginError(f"strategy {strategy.name!r} must return encoder.evolve(...) exactly once")
        facts = evolved.lineage.steps[-1].model_dump(exclude={"portable"})
        return evolved, StepRecord(**facts, cost=watch.cost())

    def _bench(self, number: int) -> Bench:
        scratch = self.scratch / f"step-{number}"
        scratch.mkdir()
        return Bench(
            data=self.planned.data,
            teacher=self.base,
            seed=self.planned.seed,
            scratch=scratch,
            workplace=self.cache.workplace(self.key(number)),
            progress=self.progress,
            cache=self.cache,
            precision=self.planned.study.training_of(self.planned.data.task.name).precision,
        )
