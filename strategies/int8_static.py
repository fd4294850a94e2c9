"""Static int8 on ONNX Runtime: weights in 8 bits, and activations by ranges seen on the task's own rows."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.onnx_export import export_onnx, onnx_operators
from workbench.onnx_int8 import Calibration, calibrated_ranges, quantize_onnx
from workbench.operators import Operators, Pattern
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.sensitivity import Guard, Quantizer, divided, guarded
from workbench.sketch import GRAPH, QUANTIZED
from workbench.strategy import Strategy


class Int8Static(Strategy):
    """Turn the encoder into an ONNX graph with int8 weights and activations, calibrated on the task's rows."""

    name = "int8-static"
    needs = ("calibrate",)
    claims = ("smaller-file", "other-runtime")
    gives = (GRAPH, QUANTIZED)
    refuses = (GRAPH, QUANTIZED)

    rows: int = Field(default=128, ge=1, description="how many calibration rows decide the ranges of activations")
    calibration: Calibration = Field(
        default="minmax", description="how a range is made of what was seen: its extremes, or cut where little is lost"
    )
    per_channel: bool = Field(default=True, description="one scale for each output channel instead of one a matrix")
    embeddings: bool = Field(default=True, description="quantize the embedding tables as well")
    exclude: tuple[Pattern, ...] = Field(
        default=(),
        description="operators to leave in float: regular expressions found anywhere in their names in the ONNX graph, "
        "such as 'layer.5/output' or 'classifier'; operators that share a weight go together",
    )
    threshold: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="agreement with the float encoder on rows held apart (share of equal predictions, correlation of "
        "scores) below which the parts that suffer most are left in float; nothing is if not given",
    )
    cap: int = Field(default=8, ge=1, description="how many parts may be left in float to reach the threshold")

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Export the model, calibrate, quantize, and leave parts in float as far as the threshold asks for it."""
        seen, held = (bench.tokens(encoder, rows) for rows in divided(bench.data.calibrate, self.rows))
        exported = export_onnx(encoder, bench.scratch / "float")
        operators = onnx_operators(exported)
        nodes = operators.chosen(self.exclude, self.embeddings)
        ranges = calibrated_ranges(exported, seen, self.calibration, bench.scratch)
        quantizer = _Static(exported, operators, nodes, self.per_channel, ranges, bench.scratch)
        outcome = guarded(quantizer, encoder, held, Guard(self.threshold, self.cap), bench.progress)
        detail = {
            "calibrated_on": len(seen),
            **outcome.record,
            "excluded_operators": sorted(operators.named(self.exclude) | operators.inside(outcome.parts)),
        }
        return encoder.evolve(outcome.runtime, by=self, detail=detail)


@dataclass(frozen=True)
class _Static(Quantizer):
    exported: Path
    operators: Operators
    nodes: frozenset[str]
    per_channel: bool
    ranges: Any
    workplace: Path

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part for part, nodes in self.operators.parts.items() if nodes & self.nodes)

    def without(self, parts: Collection[str]) -> OnnxRuntime:
        return self._quantized(self.nodes - self.operators.inside(parts))

    def only(self, part: str) -> OnnxRuntime:
        return self._quantized(self.nodes & self.operators.inside([part]))

    def _quantized(self, nodes: Collection[str]) -> OnnxRuntime:
        target = Path(tempfile.mkdtemp(prefix="int8-", dir=self.workplace))
        return OnnxRuntime(quantize_onnx(self.exported, target, nodes, self.per_channel, self.ranges))
