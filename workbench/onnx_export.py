"""ONNX export: a torch encoder as a graph file, through optimum."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

from workbench.encoder import Encoder
from workbench.tasks.kinds import KINDS


def export_onnx(encoder: Encoder, folder: Path) -> Path:
    """Write ``model.onnx`` and ``config.json`` of a torch encoder into a new folder; the encoder stays as it was."""
    from optimum.exporters.onnx import onnx_export_from_model

    # The exporter patches the model's methods while it traces.
    model = copy.deepcopy(encoder.model)
    with _hushed():
        onnx_export_from_model(
            model,
            folder,
            task=KINDS[encoder.lineage.kind].export_task,
            do_validation=False,
        )
    return folder


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Keep the exporter's tracing chatter from the person; its errors are raised all the same."""
    previous = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous)
