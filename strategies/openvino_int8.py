"""Static int8 on OpenVINO, through NNCF: weights in 8 bits, and activations by ranges seen on the task's own rows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.openvino_export import check_installed, export_openvino, openvino_operators
from workbench.operators import Operators, Pattern
from workbench.runtimes.openvino_runtime import CONFIG_FILE, GRAPH_FILE, OpenVinoRuntime, openvino
from workbench.sensitivity import Guard, Quantizer, divided, guarded
from workbench.silence import silenced
from workbench.sketch import GRAPH, QUANTIZED, Sketch
from workbench.strategy import Strategy
from workbench.tokens import Tokens

# Enough to tell parts apart, and a part is quantized in a few seconds.
RANKING_ROWS = 16


class OpenVinoInt8(Strategy):
    """Turn the encoder into an OpenVINO graph with int8 weights and activations, calibrated on the task's rows."""

    name = "openvino-int8"
    needs = ("calibrate",)
    claims = ("smaller-file", "other-runtime")
    gives = (GRAPH, QUANTIZED)
    refuses = (GRAPH, QUANTIZED)

    subset_size: int = Field(
        default=128, ge=1, description="how many calibration rows decide the ranges of activations"
    )
    preset: Literal["mixed", "performance"] = Field(
        default="mixed",
        description="activations by their own range (mixed), or by one around zero, which can be faster (performance)",
    )
    embeddings: bool = Field(default=True, description="quantize the embedding tables as well")
    exclude: tuple[Pattern, ...] = Field(
        default=(),
        description="operators to leave in float: regular expressions found anywhere in their names in the OpenVINO "
        "graph, such as 'layer.5.output' or 'classifier'; operators that share a weight go together",
    )
    threshold: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="agreement with the float encoder on rows held apart (share of equal predictions, correlation of "
        "scores) below which the parts that suffer most are left in float; nothing is if not given",
    )
    cap: int = Field(default=8, ge=1, description="how many parts may be left in float to reach the threshold")

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse where OpenVINO or NNCF is not installed."""
        check_installed("openvino", "nncf")
        return super().check(sketch)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Convert the model, calibrate, quantize, and leave parts in float as far as the threshold asks for it."""
        seen, held = (bench.tokens(encoder, rows) for rows in divided(bench.data.calibrate, self.subset_size))
        exported = export_openvino(encoder, bench.scratch / "float")
        operators = openvino_operators(openvino().Core().read_model(exported / GRAPH_FILE))
        nodes = operators.chosen(self.exclude, self.embeddings)
        quantizer = _PostTraining(exported, operators, nodes, self.preset, seen, bench.scratch)
        outcome = guarded(quantizer, encoder, held, Guard(self.threshold, self.cap), bench.progress)
        detail = {
            "calibrated_on": len(seen),
            **outcome.record,
            "excluded_operators": sorted(operators.named(self.exclude) | operators.inside(outcome.parts)),
        }
        return encoder.evolve(outcome.runtime, by=self, detail=detail)


@dataclass(frozen=True)
class _PostTraining(Quantizer):
    exported: Path
    operators: Operators
    nodes: frozenset[str]
    preset: str
    seen: Tokens
    workplace: Path

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part for part, nodes in self.operators.parts.items() if nodes & self.nodes)

    def without(self, parts: Collection[str]) -> OpenVinoRuntime:
        return self._quantized(self.nodes - self.operators.inside(parts), len(self.seen), correct_biases=True)

    def only(self, part: str) -> OpenVinoRuntime:
        return self._quantized(self.nodes & self.operators.inside([part]), RANKING_ROWS, correct_biases=False)

    def _quantized(self, nodes: frozenset[str], rows: int, correct_biases: bool) -> OpenVinoRuntime:
        model = openvino().Core().read_model(self.exported / GRAPH_FILE)
        with silenced():
            import nncf

            quantized = nncf.quantize(
                model,
                nncf.Dataset(range(len(self.seen)), lambda index: self._inputs(model, index)),
                preset=nncf.QuantizationPreset(self.preset),
                subset_size=rows,
                model_type=nncf.ModelType.TRANSFORMER,
                ignored_scope=nncf.IgnoredScope(names=sorted(self.operators.everything.keys() - nodes)),
                advanced_parameters=nncf.AdvancedQuantizationParameters(disable_bias_correction=not correct_biases),
            )
        target = Path(tempfile.mkdtemp(prefix="int8-", dir=self.workplace))
        openvino().save_model(quantized, target / GRAPH_FILE, compress_to_fp16=False)
        shutil.copyfile(self.exported / CONFIG_FILE, target / CONFIG_FILE)
        return OpenVinoRuntime(target)

    def _inputs(self, model: Any, index: int) -> dict[str, Any]:
        batch = self.seen.batch([index])
        return {given.any_name: batch[given.any_name] for given in model.inputs}
