"""Static int8 on OpenVINO, through NNCF: weights in 8 bits, and activations by ranges seen on the task's own rows."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.openvino_export import check_installed, export_openvino, openvino_operators
from workbench.runtimes.openvino_runtime import CONFIG_FILE, GRAPH_FILE, OpenVinoRuntime, openvino
from workbench.sensitivity import CalibratedOptions, OperatorQuantizer, divided
from workbench.silence import silenced
from workbench.sketch import GRAPH, QUANTIZED, Sketch
from workbench.strategy import Strategy
from workbench.tokens import Tokens

# Enough to tell parts apart, and a part is quantized in a few seconds.
RANKING_ROWS = 16
# NNCF's own choice is the mean. On a student of STS-B it lost 1.5 points of Pearson correlation where all that was seen
# lost none.
RANGES = {"minmax": "MINMAX", "mean": "MEAN_MINMAX"}


class OpenVinoInt8(CalibratedOptions, Strategy):
    """Turn the encoder into an OpenVINO graph with int8 weights and activations, calibrated on the task's rows."""

    name = "openvino-int8"
    needs = ("calibrate",)
    claims = ("smaller-file", "other-runtime")
    gives = (GRAPH, QUANTIZED)
    refuses = (GRAPH, QUANTIZED)

    preset: Literal["mixed", "performance"] = Field(
        default="mixed",
        description="activations by their own range (mixed), or by one around zero, which can be faster (performance)",
    )

    calibration: Literal["minmax", "mean"] = Field(
        default="minmax",
        description="ranges of activations: all that was seen (minmax), or the mean over rows of what each row showed, "
        "beyond which values are cut off (mean)",
    )

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse where OpenVINO or NNCF is not installed."""
        check_installed("openvino", "nncf")
        return super().check(sketch)

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Convert the model, calibrate, quantize, and leave parts in float as far as the threshold asks for it."""
        seen, held = (bench.tokens(encoder, rows) for rows in divided(bench.data.calibrate, self.rows))
        exported = export_openvino(encoder, bench.scratch / "float")
        operators = openvino_operators(openvino().Core().read_model(exported / GRAPH_FILE))
        nodes = operators.chosen(self.exclude, self.embeddings)
        quantizer = _PostTraining(operators, nodes, exported, self.preset, self.calibration, seen, bench.scratch)
        runtime, detail = self.guarded(quantizer, encoder, seen, held, bench.progress)
        return encoder.evolve(runtime, by=self, detail=detail)


@dataclass(frozen=True)
class _PostTraining(OperatorQuantizer):
    exported: Path
    preset: str
    calibration: str
    seen: Tokens
    workplace: Path

    def quantized(self, nodes: frozenset[str], *, roughly: bool) -> OpenVinoRuntime:
        model = openvino().Core().read_model(self.exported / GRAPH_FILE)
        with silenced():
            import nncf
            from nncf.quantization.range_estimator import RangeEstimatorParametersSet

            quantized = nncf.quantize(
                model,
                nncf.Dataset(range(len(self.seen)), lambda index: self._inputs(model, index)),
                preset=nncf.QuantizationPreset(self.preset),
                subset_size=RANKING_ROWS if roughly else len(self.seen),
                model_type=nncf.ModelType.TRANSFORMER,
                ignored_scope=nncf.IgnoredScope(names=sorted(self.operators.everything.keys() - nodes)),
                advanced_parameters=nncf.AdvancedQuantizationParameters(
                    disable_bias_correction=roughly,
                    activations_range_estimator_params=getattr(RangeEstimatorParametersSet, RANGES[self.calibration]),
                ),
            )
        target = Path(tempfile.mkdtemp(prefix="int8-", dir=self.workplace))
        openvino().save_model(quantized, target / GRAPH_FILE, compress_to_fp16=False)
        shutil.copyfile(self.exported / CONFIG_FILE, target / CONFIG_FILE)
        return OpenVinoRuntime(target)

    def _inputs(self, model: Any, index: int) -> dict[str, Any]:
        batch = self.seen.batch([index])
        return {given.any_name: batch[given.any_name] for given in model.inputs}
