"""Head pruning: attention heads that the task's loss minds least are taken out of every layer.

Importance is the Fisher information of a mask on each head, as in Kwon et al., "A fast post-training pruning framework
for transformers" (2022). What is left is refitted, a whole matrix at a time, to give what all heads together gave.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.narrowing import narrowed
from workbench.pruning import PruningOptions, Quota, foretold
from workbench.sketch import CLS_ONLY, GRAPH, QUANTIZED, SHARED, ZEROED, Sketch
from workbench.strategy import Strategy


class HeadPruning(PruningOptions, Strategy):
    """Take the least important attention heads out, a number or a share of them, and refit what reads the others."""

    name = "head-pruning"
    needs = ("calibrate",)
    claims = ("fewer-parameters", "fewer-macs", "smaller-file")
    refuses = (GRAPH, QUANTIZED, SHARED, CLS_ONLY, ZEROED)

    heads: int | None = Field(default=None, ge=1, description="how many heads stay in every layer, instead of share")

    @model_validator(mode="after")
    def _number_or_share(self) -> Self:
        self.check_number("heads", self.heads)
        return self

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse more heads than there are."""
        return foretold(super().check(sketch), "attention", self._quota, "heads")

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Weigh the heads on calibration rows, and give an encoder with the most important alone."""
        made = self.prune(encoder, bench, "attention", self._quota)
        detail = {"heads": made.counts, "kept": made.kept, **made.told()}
        if not made.changed:
            detail["remark"] = "nothing was pruned: every head stays"
            bench.progress.say(f"  {detail['remark']}")
        return encoder.evolve(made.model, by=self, detail=detail)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Leave an untrained model as many heads in each layer."""
        return narrowed(model, "attention", [range(count) for count in detail["heads"]])

    @property
    def _quota(self) -> Quota:
        return self.quota(self.heads, usual="even")
