"""A sound strategy that goes by another name than the one it is advertised by."""

from __future__ import annotations

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.strategy import Strategy


class Misnamed(Strategy):
    """Give the encoder back, under the wrong name."""

    name = "somebody-else"
    claims = ("other-weights",)
    portable = True

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Change nothing."""
        return encoder.evolve(encoder.model, by=self)
