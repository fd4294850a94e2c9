"""Layer dropping: keep some transformer layers, leave the others out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import with_layers
from workbench.sketch import Sketch
from workbench.strategy import Strategy


class LayerDrop(Strategy):
    """Keep only the listed transformer layers; the others are removed from the model."""

    name = "layer-drop"
    claims = ("fewer-layers",)
    portable = True

    keep: tuple[int, ...] = Field(min_length=1, description="layers that stay, counted from 0, in ascending order")

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse layers the encoder does not have, and keeping all of them."""
        outside = [index for index in self.keep if not 0 <= index < sketch.layers]
        if outside:
            raise PlanError(f"keep: layer {outside[0]} does not exist; the encoder has layers 0 to {sketch.layers - 1}")
        if list(self.keep) != sorted(set(self.keep)):
            raise PlanError(f"keep: name each layer once, in ascending order (given: {list(self.keep)})")
        return replace(sketch, layers=len(self.keep))

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Give an encoder with the kept layers alone."""
        return encoder.evolve(with_layers(encoder.model, self.keep), by=self)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Leave the same layers out of an untrained model."""
        return with_layers(model, self.keep)
