"""Fine-tuning: recovery training after surgery, on the labels alone."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.sketch import GRAPH, ZEROED
from workbench.strategy import Strategy
from workbench.study import Training
from workbench.training import Job, by_length, lesson, train


class Finetune(Training, Strategy):
    """Train the encoder on the task's labels again, with the options of the base's own training."""

    name = "finetune"
    needs = ("train",)
    claims = ("other-weights",)
    portable = True
    refuses = (GRAPH, ZEROED)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Give an encoder of the same shape with trained weights."""
        data = bench.data
        learn = lesson(bench.tokens(encoder, data.train), data.train)
        chosen = by_length(data.select)
        select = lesson(bench.tokens(encoder, chosen), chosen)
        job = Job(data.task, self.training(bench.precision), bench.seed, f"fine-tuning {data.task.name} again")
        outcome = train(copy.deepcopy(encoder.model), learn, select, job, bench.workplace, bench.progress)
        return encoder.evolve(outcome.model, by=self, detail={"select": outcome.told()})

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Training changes no architecture."""
        return model
