"""The ONNX Runtime: a graph file and its configuration."""

from __future__ import annotations

import math
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ArtifactError, first_line
from workbench.runtimes.runtime import Runtime
from workbench.tokens import Batch

GRAPH_FILE = "model.onnx"
CONFIG_FILE = "config.json"
# Shapes, axes and position numbers are 64-bit integers in the graph, and parameters of nobody; biases of quantized
# products have 32 bits.
WEIGHT_TYPES = ("FLOAT", "FLOAT16", "INT8", "UINT8", "INT32")
BOOKKEEPING = ("_scale", "_zero_point")
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

    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """Run one batch with the inputs the graph asks for; a tokenizer that tells no types means type 0."""
        wanted = [given.name for given in self.session.get_inputs()]
        given = {name: batch[name] if name in batch else np.zeros_like(batch["input_ids"]) for name in wanted}
        (output,) = self.session.run(["logits"], given)
        return np.asarray(output, np.float32)

    def save(self, folder: Path) -> None:
        """Copy graph and configuration."""
        for name in (GRAPH_FILE, CONFIG_FILE):
            shutil.copyfile(self.folder / name, folder / name)

    def parameters(self) -> int:
        """Count the weights in the graph; scales and zero points are bookkeeping and not counted."""
        import onnx

        model = onnx.load(self.folder / GRAPH_FILE)
        counted = {onnx.TensorProto.DataType.Value(name) for name in WEIGHT_TYPES}
        return sum(
            math.prod(tensor.dims)
            for tensor in model.graph.initializer
            if tensor.data_type in counted and not tensor.name.endswith(BOOKKEEPING)
        )
