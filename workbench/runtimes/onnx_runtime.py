"""The ONNX Runtime: a graph file and its configuration."""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ArtifactError, first_line
from workbench.inventory import Inventory
from workbench.runtimes.onnx_products import onnx_macs
from workbench.runtimes.onnx_weights import onnx_inventory
from workbench.runtimes.runtime import Runtime, inputs_for
from workbench.tokens import Batch

GRAPH_FILE = "model.onnx"
CONFIG_FILE = "config.json"
# The runtime's errors have no family of their own.
OPENING_ERRORS = ("Fail", "InvalidGraph", "InvalidProtobuf", "NoSuchFile", "NotImplemented", "RuntimeException")


class OnnxRuntime(Runtime):
    """Runs ``model.onnx`` of a folder; the session is opened at the first batch."""

    name = "onnxruntime"

    def __init__(self, folder: Path, threads: int = 0) -> None:
        self.folder = folder
        self._threads = threads

    @cached_property
    def session(self) -> Any:
        """The open session."""
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as its_errors

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        # Spinning threads of an idle session slow down whatever else runs on the machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        path = self.folder / GRAPH_FILE
        try:
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except tuple(getattr(its_errors, name) for name in OPENING_ERRORS) as error:
            raise ArtifactError(f"{path}: ONNX Runtime cannot open it ({first_line(error)})") from None

    def open(self) -> None:
        """Open the session."""
        _ = self.session

    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """Run one batch with the inputs the graph asks for."""
        wanted = [given.name for given in self.session.get_inputs()]
        (output,) = self.session.run(["logits"], inputs_for(wanted, batch))
        return np.asarray(output, np.float32)

    def save(self, folder: Path) -> None:
        """Copy graph and configuration."""
        for name in (GRAPH_FILE, CONFIG_FILE):
            shutil.copyfile(self.folder / name, folder / name)

    @cached_property
    def minds_company(self) -> bool:
        """Whether ranges of activations are taken from each batch as it comes."""
        return any(node.op_type == "DynamicQuantizeLinear" for node in self._model().graph.node)

    def inventory(self) -> Inventory:
        """List the weights that the file holds."""
        return onnx_inventory(self._model())

    def macs(self, batch: Batch) -> int:
        """Count them by running the graph once more, without optimisations, and looking at every product."""
        return onnx_macs(self._model(), batch)

    def _model(self) -> Any:
        import onnx

        return onnx.load(self.folder / GRAPH_FILE)
