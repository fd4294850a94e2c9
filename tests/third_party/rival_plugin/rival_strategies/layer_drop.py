"""Another idea of dropping layers, sound in itself, under a name that is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.families import with_layers
from workbench.strategy import Strategy


class LayerDrop(Strategy):
    """Keep the lowest layer alone."""

    name = "layer-drop"
    claims = ("fewer-layers",)
    portable = True

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Give an encoder of one layer."""
        return encoder.evolve(with_layers(encoder.model, [0]), by=self)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Leave the other layers out of an untrained model."""
        return with_layers(model, [0])
