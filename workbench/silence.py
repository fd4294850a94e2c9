"""Silence: libraries talk to their developers while they work; the person hears the workbench's own words."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Keep what libraries print, log and warn of from the person; their errors are raised all the same."""
    previous = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous)


def quieten_libraries() -> None:
    """Silence bars, tips and warnings of the libraries below; their errors still reach us as exceptions."""
    import datasets

    datasets.utils.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    quieten_runtimes()


def quieten_runtimes() -> None:
    """Silence what answering takes, which is less than what training takes and much quicker to import."""
    import transformers

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for name in ("optimum", "huggingface_hub", "onnxruntime", "torch.onnx", "nncf", "openvino"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
