"""The OpenVINO runtime: a graph in OpenVINO's own form and its configuration.

OpenVINO is an optional extra of the workbench and is imported only by whoever needs it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.environment import Environment
from workbench.errors import ArtifactError, first_line
from workbench.families import longest_input
from workbench.inventory import Inventory
from workbench.runtimes.fixed_graph import FixedGraph
from workbench.runtimes.fixed_lengths import fixed_length, one_by_one
from workbench.runtimes.openvino_products import openvino_macs
from workbench.runtimes.openvino_weights import openvino_inventory
from workbench.runtimes.runtime import Runtime, inputs_for
from workbench.tokens import Batch

GRAPH_FILE = "model.xml"
WEIGHTS_FILE = "model.bin"
CONFIG_FILE = "config.json"
HOW_TO_GET_IT = "pip install 'encoder-workbench[openvino]'"
TELEMETRY = "openvino_telemetry"
MAX_INSTRUCTIONS = "ONEDNN_MAX_CPU_ISA"
# Every graph of fixed length holds its weights in memory once more.
LARGEST_FIXED = 32_000_000
# On one thread OpenVINO 2026.4 takes two narrow matrices with a ReLU between them, as in the head of a DistilBERT, for
# one kernel, which answers at random in int8 where the length is fixed: 13.4 and 337.1 instead of 0.28 and 0.29.
RELU_HEADS = ("distilbert",)
NO_FUSED_KERNELS = {"SNIPPETS_MODE": "DISABLE"}


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
    """Runs ``model.xml`` of a folder on the processor; the graph is compiled at the first batch.

    Of a small graph there is one for each of a few lengths, compiled when the first text of that length comes, and
    texts go through it one by one. Long texts, large graphs and those that OpenVINO cannot fix go through one that is
    open to any length.
    """

    name = "openvino"

    def __init__(self, folder: Path, threads: int = 0) -> None:
        lack = missing("openvino")
        if lack:
            raise ArtifactError(f"{folder}: made for OpenVINO, but {lack}")
        self.folder = folder
        self._threads = threads
        self._fixed: dict[int, FixedGraph] = {}

    @cached_property
    def compiled(self) -> Any:
        """The graph that is open to any length, compiled."""
        return self._compiled(self._graph)

    def open(self) -> None:
        """Compile the graph, where there is one for all lengths."""
        if not self._most_fixed:
            _ = self.compiled

    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """Run one batch with the inputs the graph asks for."""
        if self._most_fixed and (alone := one_by_one(batch)):
            return np.concatenate([self._alone(text) for text in alone])
        return self._open_answer(batch)

    def save(self, folder: Path) -> None:
        """Copy graph, weights and configuration."""
        for name in (GRAPH_FILE, WEIGHTS_FILE, CONFIG_FILE):
            shutil.copyfile(self.folder / name, folder / name)

    def inventory(self) -> Inventory:
        """List the weights that the files hold."""
        return openvino_inventory(self._model())

    def macs(self, batch: Batch) -> int:
        """Count them in the graph as it is for the batch's shape."""
        return openvino_macs(self._model(), batch)

    @cached_property
    def _graph(self) -> Any:
        """The graph as it is in the file; read once, since each reading maps all weights into memory anew."""
        return self._model()

    @cached_property
    def _config(self) -> dict[str, Any]:
        try:
            return json.loads((self.folder / CONFIG_FILE).read_bytes())  # type: ignore[no-any-return]
        except (OSError, ValueError):
            return {}

    @cached_property
    def _most_fixed(self) -> int:
        """The longest text that has a graph of fixed length; none of a graph too large to have several of."""
        weights = self.folder / WEIGHTS_FILE
        small = weights.is_file() and weights.stat().st_size <= LARGEST_FIXED
        return longest_input(SimpleNamespace(**self._config)) if small and self._config else 0

    def _alone(self, text: Batch) -> NDArray[np.float32]:
        fitting = self._fitting(text["input_ids"].shape[1])
        return fitting.answer(text) if fitting else self._open_answer(text)

    def _fitting(self, tokens: int) -> FixedGraph | None:
        length = fixed_length(tokens, self._most_fixed)
        if length is None:
            return None
        if length not in self._fixed:
            try:
                self._fixed[length] = self._of_length(length)
            except RuntimeError:
                # OpenVINO 2026.4 cannot fold the positions that RoBERTa counts once their number is fixed.
                self._most_fixed = 0
                return None
        return self._fixed[length]

    def _of_length(self, length: int) -> FixedGraph:
        model = self._graph.clone()
        model.reshape({given.any_name: [1, length] for given in model.inputs})
        settings = NO_FUSED_KERNELS if self._config.get("model_type") in RELU_HEADS else {}
        return FixedGraph(self._compiled(model, **settings), self._config.get("pad_token_id") or 0)

    def _open_answer(self, batch: Batch) -> NDArray[np.float32]:
        wanted = [given.any_name for given in self.compiled.inputs]
        return np.array(self.compiled(list(inputs_for(wanted, batch).values()))["logits"], np.float32)

    def _compiled(self, model: Any, **more: Any) -> Any:
        """Compile a graph; what is stored in float is computed in full float, whatever the processor prefers."""
        settings = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32", **more}
        if self._threads:
            settings["INFERENCE_NUM_THREADS"] = self._threads
        return openvino().Core().compile_model(model, "CPU", settings)

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
