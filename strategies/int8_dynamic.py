"""Dynamic int8 on ONNX Runtime: weights in 8 bits on disk, activations quantized as they come."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.onnx_export import export_onnx
from workbench.runtimes.onnx_runtime import GRAPH_FILE, OnnxRuntime
from workbench.sketch import GRAPH, QUANTIZED
from workbench.strategy import Strategy

QUANTIZED_FILE = "model_quantized.onnx"


class Int8Dynamic(Strategy):
    """Turn the encoder into an ONNX graph with int8 weights, embeddings included; needs no data."""

    name = "int8-dynamic"
    claims = ("smaller-file", "other-runtime")
    gives = (GRAPH, QUANTIZED)
    refuses = (GRAPH, QUANTIZED)

    per_channel: bool = Field(default=True, description="one scale for each output channel instead of one a matrix")
    embeddings: bool = Field(default=True, description="quantize the embedding tables as well")

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Export the model and quantize the graph."""
        exported = export_onnx(encoder, bench.scratch / "float")
        return encoder.evolve(OnnxRuntime(self._quantized(exported, bench.scratch / "int8")), by=self)

    def _quantized(self, exported: Path, target: Path) -> Path:
        from optimum.onnxruntime import ORTQuantizer
        from optimum.onnxruntime.configuration import AutoQuantizationConfig

        operators = ["MatMul", "Gemm", "Attention"] + (["Gather", "EmbedLayerNormalization"] if self.embeddings else [])
        settings = AutoQuantizationConfig.avx512_vnni(
            is_static=False, per_channel=self.per_channel, operators_to_quantize=operators
        )
        quantizer = ORTQuantizer.from_pretrained(exported, file_name=GRAPH_FILE)
        quantizer.quantize(settings, save_dir=target)
        (target / QUANTIZED_FILE).rename(target / GRAPH_FILE)
        return target
