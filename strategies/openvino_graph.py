"""The encoder as an OpenVINO graph in float: what OpenVINO gives by itself, before any bit is saved."""

from __future__ import annotations

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.openvino_export import check_installed, export_openvino
from workbench.runtimes.openvino_runtime import OpenVinoRuntime
from workbench.sketch import GRAPH, Sketch
from workbench.strategy import Strategy


class OpenVinoGraph(Strategy):
    """Turn the encoder into an OpenVINO graph with the weights it has; only the runtime changes."""

    name = "openvino"
    claims = ("other-runtime",)
    gives = (GRAPH,)

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse where OpenVINO is not installed."""
        check_installed("openvino")
        return super().check(sketch)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Convert the model."""
        return encoder.evolve(OpenVinoRuntime(export_openvino(encoder, bench.scratch / "float")), by=self)
