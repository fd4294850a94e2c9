"""Export formats: which kept artifacts can become which folders, and how each is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.encoder import Encoder
from workbench.errors import ArtifactError, UnknownNameError, UsageError, first_line
from workbench.families import takes_token_types
from workbench.files import lent_folder
from workbench.lineage import MANIFEST, Manifest
from workbench.onnx_export import export_onnx
from workbench.openvino_export import check_installed, export_openvino
from workbench.run import Run
from workbench.runtimes import onnx_runtime, openvino_runtime
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.runtimes.openvino_runtime import OpenVinoRuntime, openvino
from workbench.runtimes.runtime import Runtime
from workbench.silence import silenced

TOKENIZER_SETTINGS = "tokenizer_config.json"
TYPES = "token_type_ids"
SCRATCH = "graph"

# Takes an artifact, its manifest and an empty folder, and writes model, tokenizer and manifest into the folder.
Writer = Callable[[Path, Manifest, Path], None]


def writer_for(run: Run, to: str) -> Writer:
    """How a run's artifact is written in a format; what cannot be is refused with the way out."""
    if to not in FORMATS:
        raise UnknownNameError("export format", to, FORMATS)
    runtime = run.artifact.runtime if run.artifact else "nothing"
    if runtime in FORMATS[to]:
        return FORMATS[to][runtime]
    possible = [name for name, writers in FORMATS.items() if runtime in writers]
    ways = [f"export it with --to {' or '.join(possible)}"] if possible else []
    ways.append("export a run whose recipe ends before the graph is made")
    raise UsageError(
        f"run {run.id} is a graph for {runtime}, from which {WANTED[to]} cannot be made; {', or '.join(ways)}"
    )


def _copied(artifact: Path, manifest: Manifest, folder: Path) -> None:
    for name in (*manifest.files, MANIFEST):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(artifact / name, folder / name)


def _for_transformers(artifact: Path, manifest: Manifest, folder: Path) -> None:
    """Copy; a tokenizer that tells types its model does not take is told to keep them to itself.

    The workbench leaves them out by itself; a stock model refuses them.
    """
    _copied(artifact, manifest, folder)
    encoder = Encoder.opened(artifact, manifest)
    names = encoder.tokenizer.model_input_names
    if TYPES in names and not takes_token_types(encoder.model.config):
        path = folder / TOKENIZER_SETTINGS
        settings = json.loads(path.read_text(encoding="utf-8"))
        settings["model_input_names"] = [name for name in names if name != TYPES]
        path.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / MANIFEST).unlink()
        Manifest.describe(folder, manifest.lineage, manifest.runtime).write(folder)


def _onnx_from_torch(artifact: Path, manifest: Manifest, folder: Path) -> None:
    encoder = Encoder.opened(artifact, manifest)
    with lent_folder(folder.parent, SCRATCH) as scratch:
        _save(encoder, OnnxRuntime(export_onnx(encoder, scratch / "graph")), folder)


def _openvino_from_torch(artifact: Path, manifest: Manifest, folder: Path) -> None:
    check_installed("openvino")
    encoder = Encoder.opened(artifact, manifest)
    with lent_folder(folder.parent, SCRATCH) as scratch:
        _save(encoder, OpenVinoRuntime(export_openvino(encoder, scratch / "graph")), folder)


def _openvino_from_onnx(artifact: Path, manifest: Manifest, folder: Path) -> None:
    check_installed("openvino")
    with lent_folder(folder.parent, SCRATCH) as graph:
        library = openvino()
        try:
            with silenced():
                model = library.Core().read_model(artifact / onnx_runtime.GRAPH_FILE)
        except RuntimeError as error:
            raise ArtifactError(
                f"{artifact}: OpenVINO does not understand this ONNX graph ({first_line(error)}); export it as onnx"
            ) from None
        library.save_model(model, graph / openvino_runtime.GRAPH_FILE, compress_to_fp16=False)
        shutil.copyfile(artifact / onnx_runtime.CONFIG_FILE, graph / openvino_runtime.CONFIG_FILE)
        _save(Encoder.opened(artifact, manifest), OpenVinoRuntime(graph), folder)


def _save(encoder: Encoder, runtime: Runtime, folder: Path) -> None:
    replace(encoder, runtime=runtime).save(folder)


FORMATS: dict[str, dict[str, Writer]] = {
    "hf": {"torch": _for_transformers},
    "onnx": {"torch": _onnx_from_torch, "onnxruntime": _copied},
    "openvino": {"torch": _openvino_from_torch, "onnxruntime": _openvino_from_onnx, "openvino": _copied},
}
WANTED: dict[str, Any] = {"hf": "a transformers model", "onnx": "an ONNX graph", "openvino": "an OpenVINO graph"}
