"""Dynamic int8 on ONNX Runtime: weights in 8 bits on disk, activations quantized as they come.

Each batch brings its own ranges, so an answer depends, in its last digits, on the texts it shares a batch with.
"""

from __future__ import annotations

from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.onnx_export import export_onnx, onnx_operators
from workbench.onnx_int8 import quantize_onnx
from workbench.operators import Pattern
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.sketch import GRAPH, QUANTIZED
from workbench.strategy import Strategy


class Int8Dynamic(Strategy):
    """Turn the encoder into an ONNX graph with int8 weights, embeddings included; needs no data."""

    name = "int8-dynamic"
    claims = ("smaller-file", "other-runtime")
    gives = (GRAPH, QUANTIZED)
    refuses = (GRAPH, QUANTIZED)

    per_channel: bool = Field(default=True, description="one scale for each output channel instead of one a matrix")
    embeddings: bool = Field(default=True, description="quantize the embedding tables as well")
    exclude: tuple[Pattern, ...] = Field(
        default=(),
        description="operators to leave in float: regular expressions found anywhere in their names in the ONNX graph, "
        "such as 'layer.5/output' or 'classifier'; operators that share a weight go together",
    )

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Export the model and quantize the graph."""
        exported = export_onnx(encoder, bench.scratch / "float")
        operators = onnx_operators(exported)
        nodes = operators.chosen(self.exclude, self.embeddings)
        quantized = quantize_onnx(exported, bench.scratch / "int8", nodes, self.per_channel)
        detail = {"excluded_operators": sorted(operators.named(self.exclude))}
        return encoder.evolve(OnnxRuntime(quantized), by=self, detail=detail)
