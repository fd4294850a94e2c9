"""The size probe: bytes on disk by kind of file, distinct parameters by part and by type, and what one answer takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workbench.files import files_below
from workbench.inventory import PARTS, Inventory
from workbench.lineage import MANIFEST
from workbench.measurement import Measurement
from workbench.probes.probe import Subject
from workbench.tokens import Batch, Tokens, tokenize_once

WEIGHT_SUFFIXES = {".safetensors", ".onnx", ".bin", ".xml"}
TOKENIZER_FILES = {
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
}


class Size:
    """Counts what is needed to run the artifact, what it is made of, and how much arithmetic a usual text takes."""

    def measure(self, subject: Subject) -> list[Measurement]:
        """Give sizes on disk, numbers of parameters, their bytes, and the multiply-accumulates of one answer."""
        return [*_on_disk(subject.artifact), *_made_of(subject.encoder.runtime.inventory()), *_arithmetic(subject)]


def _on_disk(artifact: Path) -> list[Measurement]:
    """Every file that is needed to run; the manifest describes the artifact and is not counted."""
    sizes = {"weights": 0, "tokenizer": 0, "rest": 0}
    for path in files_below(artifact):
        if path.name != MANIFEST:
            sizes[_sort_of(path)] += path.stat().st_size
    found = [Measurement.single("disk", "bytes", "lower", sum(sizes.values()))]
    return found + [Measurement.single(f"disk/{sort}", "bytes", "lower", size) for sort, size in sizes.items()]


def _sort_of(path: Path) -> str:
    if path.suffix in WEIGHT_SUFFIXES:
        return "weights"
    return "tokenizer" if path.name in TOKENIZER_FILES else "rest"


def _made_of(inventory: Inventory) -> list[Measurement]:
    """Parameters in all and by part, how many of them are zero, and the bytes they take by type."""
    counts = {"parameters": inventory.total, **{f"parameters/{part}": inventory.of(part).total for part in PARTS}}
    return [
        *(Measurement.single(metric, "count", "lower", count) for metric, count in counts.items()),
        Measurement.single("parameters/zeroed", "count", "neither", inventory.zeroed),
        *(
            Measurement.single(f"bytes/{dtype}", "bytes", "lower", size)
            for dtype, size in inventory.bytes_by_dtype.items()
        ),
    ]


def _arithmetic(subject: Subject) -> list[Measurement]:
    """The mean length of the test rows, and what one text of that length, by itself and unpadded, takes."""
    parts = [tokenize_once(subject.encoder.tokenizer, rows, subject.cache) for rows in subject.tests.values()]
    mean = float(np.concatenate([part.lengths for part in parts]).mean())
    macs = subject.encoder.runtime.macs(_example(parts, round(mean)))
    return [
        Measurement.single("tokens", "tokens", "neither", mean),
        Measurement.single("macs", "MACs", "lower", macs),
    ]


def _example(parts: list[Tokens], length: int) -> Batch:
    """A real text of a length that some text reaches."""
    sizes = [(int(size), part, index) for part in parts for index, size in enumerate(part.lengths) if size >= length]
    _, part, index = min(sizes, key=lambda item: item[0])
    # Where no row has just that length, the shortest of the longer ones is cut; the arithmetic is the same.
    return {name: values[:, :length] for name, values in part.batch([index]).items()}
