"""The OpenVINO runtime: a graph in OpenVINO's own form and its configuration.

OpenVINO is an optional extra of the workbench and is imported only by whoever needs it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.environment import Environment
from workbench.errors import ArtifactError, first_line
from workbench.runtimes.runtime import Runtime
from workbench.tokens import Batch

GRAPH_FILE = "model.xml"
WEIGHTS_FILE = "model.bin"
CONFIG_FILE = "config.json"
HOW_TO_GET_IT = "pip install 'encoder-workbench[openvino]'"
TELEMETRY = "openvino_telemetry"
MAX_INSTRUCTIONS = "ONEDNN_MAX_CPU_ISA"
WEIGHT_TYPES = ("f32", "f16", "i8", "u8")


def missing(*packages: str) -> str | None:
    """Say which of some packages is not installed and how to get it; nothing when all are there."""
    absent = [package for package in packages if not _is_installed(package)]
    return f"{absent[0]} is not installed; get it by {HOW_TO_GET_IT}" if absent else None


@cache
def openvino() -> Any:
    """The openvino package, kept from the network and from instructions that virtual machines promise in vain.

    AMX is announced by machines that then die of it, and the process with them, so oneDNN is held below it. Set
    ``ONEDNN_MAX_CPU_ISA=ALL`` to have it on a machine that keeps the promise.
    """
    # Importing openvino reports the import to its makers; without this module it cannot, and goes on.
    sys.modules.setdefault(TELEMETRY, None)  # type: ignore[arg-type]
    if "amx_int8" in Environment.observe().flags:
        os.environ.setdefault(MAX_INSTRUCTIONS, "AVX512_CORE_FP16")
    import openvino

    return openvino


class OpenVinoRuntime(Runtime):
    """Runs ``model.xml`` of a folder on the processor; the graph is compiled at the first batch."""

    name = "openvino"

    def __init__(self, folder: Path, threads: int = 0) -> None:
        lack = missing("openvino")
        if lack:
            raise ArtifactError(f"{folder}: made for OpenVINO, but {lack}")
        self.folder = folder
        self._threads = threads

    @cached_property
    def compiled(self) -> Any:
        """The compiled graph; what is stored in float is computed in full float, whatever the processor prefers."""
        settings = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        if self._threads:
            settings["INFERENCE_NUM_THREADS"] = self._threads
        return openvino().Core().compile_model(self._model(), "CPU", settings)

    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """Run one batch with the inputs the graph asks for; a tokenizer that tells no types means type 0."""
        wanted = [given.any_name for given in self.compiled.inputs]
        given = [batch[name] if name in batch else np.zeros_like(batch["input_ids"]) for name in wanted]
        return np.array(self.compiled(given)["logits"], np.float32)

    def save(self, folder: Path) -> None:
        """Copy graph, weights and configuration."""
        for name in (GRAPH_FILE, WEIGHTS_FILE, CONFIG_FILE):
            shutil.copyfile(self.folder / name, folder / name)

    def parameters(self) -> int:
        """Count the weights in the graph; ranges, scales and zero points are bookkeeping and not counted."""
        # The model must outlive its nodes: without it they forget who uses them.
        model = self._model()
        weights = [
            node.get_data() for node in model.get_ops() if node.get_type_name() == "Constant" and _is_weight(node)
        ]
        # A weight that is shared appears once for each use in the shape that this use wants.
        distinct = {hashlib.sha256(np.ascontiguousarray(weight).data).digest(): weight.size for weight in weights}
        return sum(distinct.values())

    def _model(self) -> Any:
        path = self.folder / GRAPH_FILE
        try:
            return openvino().Core().read_model(path)
        except RuntimeError as error:
            raise ArtifactError(f"{path}: OpenVINO cannot open it ({first_line(error)})") from None


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _is_weight(constant: Any) -> bool:
    """Whether a constant came from the model: no shape, no range, no scale, and no number of a formula."""
    if constant.get_element_type().get_type_name() not in WEIGHT_TYPES:
        return False
    users = [target.get_node() for target in constant.output(0).get_target_inputs()]
    if np.prod(constant.get_output_shape(0)) == 1:
        return any(user.get_type_name() == "Add" and _takes(user, "MatMul") for user in users)
    return not any(_keeps_books(user) for user in users)


def _keeps_books(user: Any) -> bool:
    kind = user.get_type_name()
    restores = kind in ("Multiply", "Subtract") and (_takes(user, "Convert") or _takes(user, "Subtract"))
    return kind == "FakeQuantize" or restores or "smooth_quant" in user.get_friendly_name()


def _takes(user: Any, kind: str) -> bool:
    return any(user.input_value(place).get_node().get_type_name() == kind for place in range(user.get_input_size()))
