"""A small real store: tiny encoders of every runtime, kept with the rows and answers they were judged by."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphs import bench_for, lively_encoder
from records import a_run

from strategies.embedding_factorization import EmbeddingFactorization
from strategies.int8_dynamic import Int8Dynamic
from strategies.layer_drop import LayerDrop
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from workbench.encoder import Encoder
from workbench.files import files_below
from workbench.kept_rows import keep_rows
from workbench.predictions import Predictions, write_predictions
from workbench.run import Run
from workbench.scores import accuracy, pearson
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.tasks.data import TaskData, read_task
from workbench.tasks.own_files import OwnTask
from workbench.tokens import tokenize

COST = {"wall_seconds": 1.5, "cpu_seconds": 2.5}
# A recipe for each way an artifact can be: opened by transformers, by the workbench alone, or a graph.
RECIPES = {
    "drop": LayerDrop(keep=(0,)),
    "factorized": EmbeddingFactorization(rank=8),
    "onnx": OnnxGraph(),
    "int8": Int8Dynamic(),
    "openvino": OpenVinoGraph(),
}


def make_store(folder: Path, task: OwnTask, recipes: Iterable[str] = tuple(RECIPES), family: str = "bert") -> RunStore:
    """Keep an untrained but lively baseline, and what some recipes make of it, under the recipes' names."""
    store = RunStore(folder / "store")
    store.prepare()
    encoder = lively_encoder(family, folder / "base", task)
    data = read_task(task.declared(Path()))
    keep_run(store, encoder, "baseline", data)
    for name in recipes:
        bench = bench_for(encoder, task, folder / f"bench-{name}")
        keep_run(store, RECIPES[name].apply(encoder, bench), name, data)
    return store


def keep_run(store: RunStore, encoder: Encoder, recipe: str, data: TaskData, **changes: Any) -> Run:
    """Save an encoder, let it answer the test rows of its task, and keep both with their record."""
    keep_rows(store.rows_file(data.fingerprint), data.tests)
    run_id = f"{data.task.name}-{recipe}-s0"
    with store.writing(run_id) as folder:
        (folder / ARTIFACT).mkdir()
        manifest = encoder.save(folder / ARTIFACT)
        answers = answers_of(encoder, data)
        write_predictions(folder / PREDICTIONS, [answers])
        facts = {
            "task": data.task.name,
            "metrics": data.task.metrics,
            "data": {"source": data.source, "fingerprint": data.fingerprint, "rows": data.counts()},
            "base": base_record(manifest.lineage.base),
            "steps": [{**step.model_dump(exclude={"portable"}), "cost": COST} for step in manifest.lineage.steps],
            "artifact": {"runtime": manifest.runtime, "portable": manifest.portable, "files": manifest.files},
            "measurements": measured(answers, data, folder / ARTIFACT),
        }
        run = a_run(run_id, recipe, **{**facts, **changes})
        store.keep(run, folder)
    return run


def answers_of(encoder: Encoder, data: TaskData) -> Predictions:
    rows = data.tests["test"]
    logits = encoder.logits(tokenize(encoder.tokenizer, rows))
    return Predictions(
        "test", [row.id for row in rows], [row.label for row in rows], data.kind.predictions(logits), logits
    )


def base_record(name: str) -> dict[str, Any]:
    return {"name": name, "hash": "b" * 64, "finetuned": False, "key": "k", "settings": {}, "cost": COST}


def measured(answers: Predictions, data: TaskData, artifact: Path) -> list[dict[str, Any]]:
    score = {"accuracy": accuracy, "pearson": pearson}[data.task.headline]
    value = score(answers.labels, answers.predictions)
    size = sum(path.stat().st_size for path in files_below(artifact))
    return [
        {"metric": data.task.headline, "unit": "score", "better": "higher", "values": [value]},
        {"metric": "disk", "unit": "bytes", "better": "lower", "values": [size]},
    ]
