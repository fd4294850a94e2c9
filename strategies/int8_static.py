"""Static int8 on ONNX Runtime: weights in 8 bits, and activations by ranges seen on the task's own rows."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.onnx_export import export_onnx, onnx_operators
from workbench.onnx_int8 import Calibration, calibrated_ranges, quantize_onnx
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.sensitivity import CalibratedOptions, OperatorQuantizer, divided
from workbench.sketch import GRAPH, QUANTIZED
from workbench.strategy import Strategy


class Int8Static(CalibratedOptions, Strategy):
    """Turn the encoder into an ONNX graph with int8 weights and activations, calibrated on the task's rows."""

    name = "int8-static"
    needs = ("calibrate",)
    claims = ("smaller-file", "other-runtime")
    gives = (GRAPH, QUANTIZED)
    refuses = (GRAPH, QUANTIZED)

    calibration: Calibration = Field(
        default="minmax", description="how a range is made of what was seen: its extremes, or cut where little is lost"
    )
    per_channel: bool = Field(default=True, description="one scale for each output channel instead of one a matrix")

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Export the model, calibrate, quantize, and leave parts in float as far as the threshold asks for it."""
        seen, held = (bench.tokens(encoder, rows) for rows in divided(bench.data.calibrate, self.rows))
        exported = export_onnx(encoder, bench.scratch / "float")
        operators = onnx_operators(exported)
        nodes = operators.chosen(self.exclude, self.embeddings)
        ranges = calibrated_ranges(exported, seen, self.calibration, bench.scratch)
        quantizer = _Static(operators, nodes, exported, self.per_channel, ranges, bench.scratch)
        runtime, detail = self.guarded(quantizer, encoder, seen, held, bench.progress)
        return encoder.evolve(runtime, by=self, detail=detail)


@dataclass(frozen=True)
class _Static(OperatorQuantizer):
    exported: Path
    per_channel: bool
    ranges: Any
    workplace: Path

    def quantized(self, nodes: frozenset[str], *, roughly: bool) -> OnnxRuntime:
        target = Path(tempfile.mkdtemp(prefix="int8-", dir=self.workplace))
        return OnnxRuntime(quantize_onnx(self.exported, target, nodes, self.per_channel, self.ranges))
