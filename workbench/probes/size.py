"""The size probe: bytes on disk by kind of file, and distinct parameters."""

from __future__ import annotations

from pathlib import Path

from workbench.files import files_below
from workbench.lineage import MANIFEST
from workbench.measurement import Measurement
from workbench.probes.probe import Subject

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
    """Counts what is needed to run the artifact; the manifest describes it and is not counted."""

    def measure(self, subject: Subject) -> list[Measurement]:
        """Give total and partial sizes, and the number of parameters."""
        sizes = {"weights": 0, "tokenizer": 0, "rest": 0}
        for path in files_below(subject.artifact):
            if path.name != MANIFEST:
                sizes[_sort_of(path)] += path.stat().st_size
        found = [Measurement.single("disk", "bytes", "lower", sum(sizes.values()))]
        found += [Measurement.single(f"disk/{sort}", "bytes", "lower", size) for sort, size in sizes.items()]
        return [*found, Measurement.single("parameters", "count", "lower", subject.encoder.runtime.parameters())]


def _sort_of(path: Path) -> str:
    if path.suffix in WEIGHT_SUFFIXES:
        return "weights"
    return "tokenizer" if path.name in TOKENIZER_FILES else "rest"
