"""Quiet: libraries talk to their developers; the person wants the workbench's own words."""

from __future__ import annotations

import logging
import os
import warnings


def quieten_libraries() -> None:
    """Silence bars, tips and warnings of the libraries below; their errors still reach us as exceptions."""
    import datasets
    import transformers

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    datasets.utils.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    for name in ("optimum", "huggingface_hub", "onnxruntime", "torch.onnx", "nncf", "openvino"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
