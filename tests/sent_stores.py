"""A store such as somebody might send: runs with artifacts, answers, rows, a study and a campaign, made in a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from records import EVEN, a_campaign, a_run, an_entry

from workbench.campaign import TWIN
from workbench.campaign_store import CampaignStore
from workbench.kept_rows import keep_rows
from workbench.lineage import Lineage, Manifest
from workbench.predictions import Predictions, write_predictions
from workbench.run import Run
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.tasks.task import Row
from workbench.timings import Timings

BASELINE, DROP, CAMPAIGN, ROWS, STUDY = "reviews-baseline-s0", "reviews-drop-s0", "reviews-1", "rows", "s"
LINEAGE = Lineage(
    base="./base",
    base_hash="0" * 64,
    base_config={},
    task="reviews",
    kind="classification",
    labels=("bad", "good"),
    text_count=1,
    max_length=32,
)


def empty_store(folder: Path) -> RunStore:
    store = RunStore(folder)
    store.prepare()
    return store


def a_sent_store(folder: Path) -> RunStore:
    """A baseline and a variant with everything that belongs to them."""
    store = empty_store(folder)
    keep_whole(store, BASELINE, "baseline")
    keep_whole(store, DROP, "drop")
    keep_rows(store.rows_file(ROWS), {"test": tuple(Row(f"test-{n}", (f"text {n}",), n) for n in range(2))})
    runs = {"baseline": BASELINE, TWIN: BASELINE, "drop": DROP}
    entries = tuple(an_entry(name, EVEN, run=run_id) for name, run_id in runs.items())
    CampaignStore(store).keep(a_campaign(id=CAMPAIGN, entries=entries), Timings.of([]))
    store.study_file(STUDY).parent.mkdir()
    store.study_file(STUDY).write_text("name: s\n")
    return store


def keep_whole(store: RunStore, run_id: str, recipe: str, **changes: Any) -> Run:
    """Keep a finished run with an artifact of a few bytes and its answers."""
    with store.writing(run_id) as folder:
        files = write_artifact(folder / ARTIFACT, run_id)
        write_answers(folder / PREDICTIONS)
        artifact = {"runtime": "torch", "portable": True, "files": files}
        run = a_run(run_id, recipe, **{"artifact": artifact, **changes})
        store.keep(run, folder)
    return run


def keep_record(store: RunStore, run: Run) -> Run:
    """Keep a run that is nothing but its record."""
    with store.writing(run.id) as folder:
        store.keep(run, folder)
    return run


def write_artifact(folder: Path, content: str) -> dict[str, str]:
    (folder / "graph").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "graph" / "model.safetensors").write_bytes(content.encode() * 1000)
    manifest = Manifest.describe(folder, LINEAGE, "torch")
    manifest.write(folder)
    return manifest.files


def write_answers(path: Path, right: bool = True) -> None:
    predictions = [0, 1] if right else [1, 0]
    logits = [np.array([1, -1] if answer == 0 else [-1, 1], np.float32) for answer in predictions]
    write_predictions(path, [Predictions("test", ["test-0", "test-1"], [0, 1], predictions, logits)])


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
