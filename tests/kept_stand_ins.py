"""A small real store whose runs hold stand-ins instead of encoders, with the rows and answers they were judged by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from records import a_run
from stand_ins import write_stand_in

from workbench.files import folder_hashes
from workbench.kept_rows import keep_rows
from workbench.predictions import Predictions, write_predictions
from workbench.run import Run
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.tasks.task import Row

TEXTS = tuple(f"{'word ' * (1 + number)}{'x' * (1 + number % 2)}" for number in range(6))
ROWS = tuple(Row(f"test-{number}", (text,), number % 2) for number, text in enumerate(TEXTS))


def a_store(folder: Path) -> RunStore:
    """An empty store that holds the rows of the runs to come."""
    store = RunStore(folder)
    store.prepare()
    keep_rows(store.rows_file("rows"), {"test": ROWS})
    return store


def keep_stand_in(store: RunStore, recipe: str, behaviour: dict[str, Any] | None = None, **changes: Any) -> Run:
    """Keep a run of a recipe whose artifact is a stand-in, with the answers a stand-in gives."""
    run_id = changes.pop("id", f"reviews-{recipe}-s0")
    with store.writing(run_id) as folder:
        artifact = write_stand_in(folder / ARTIFACT, **(behaviour or {}))
        write_predictions(folder / PREDICTIONS, [right_answers()])
        record = {"runtime": "stand-in", "portable": False, "files": folder_hashes(artifact)}
        run = a_run(run_id, recipe, **{"artifact": record, **changes})
        store.keep(run, folder)
    return run


def right_answers() -> Predictions:
    """What a stand-in answers unless it is told to flip: it looks at whether the letters are odd in number."""
    odd = [sum(map(len, text.split())) % 2 for text in TEXTS]
    logits = [np.array([1, -1] if is_odd else [-1, 1], np.float32) for is_odd in odd]
    labels = [row.label for row in ROWS]
    return Predictions("test", [row.id for row in ROWS], labels, [1 - is_odd for is_odd in odd], logits)
