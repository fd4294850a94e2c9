"""The encoder as an ONNX graph in float: what ONNX Runtime gives by itself, before any bit is saved."""

from __future__ import annotations

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.onnx_export import export_onnx
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.sketch import GRAPH
from workbench.strategy import Strategy


class OnnxGraph(Strategy):
    """Turn the encoder into an ONNX graph with the weights it has; only the runtime changes."""

    name = "onnx"
    claims = ("other-runtime",)
    gives = (GRAPH,)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Export the model."""
        return encoder.evolve(OnnxRuntime(export_onnx(encoder, bench.scratch / "float")), by=self)
