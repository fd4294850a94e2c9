"""How fast we evaluate, beside `Trainer.evaluate` at its defaults: same model, same sentences, same process.

Run with `make benchmarks`, alone on the machine. Both sides get tokenized rows; rounds alternate and the ratio is
the median over rounds. The sentences are the test rows of the embedded task, the base is fine-tuned on 1,000 rows.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
from datasets import Dataset
from rich.console import Console
from rich.table import Table
from transformers import DataCollatorWithPadding, Trainer, TrainingArguments

from workbench.cache import Cache
from workbench.finetuned import OpenedBase, finetuned_base
from workbench.metrics import score
from workbench.progress import OnConsole
from workbench.silence import quieten_libraries
from workbench.study import Study, Training
from workbench.tasks.data import read_task
from workbench.tokens import tokenize

ROUNDS = 7


def main() -> int:
    """Print samples per second of both sides, and the ratio."""
    quieten_libraries()
    console = Console()
    study = Study(name="benchmark", tasks=("rotten-tomatoes",), training=Training(epochs=1), limit=1000)
    task = study.chosen_tasks()[0]
    encoder, _ = finetuned_base(OpenedBase.open(study), read_task(task, 1000), 0, Cache.default(), OnConsole(console))
    rows = read_task(task).tests["test"]
    tokens = tokenize(encoder.tokenizer, rows)
    kind = read_task(task).kind

    encoded = encoder.tokenizer([row.texts[0] for row in rows], truncation=True)
    table = Dataset.from_dict({**encoded, "labels": [row.label for row in rows]})
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=encoder.model,
            args=TrainingArguments(output_dir=folder, report_to=[], disable_tqdm=True),
            data_collator=DataCollatorWithPadding(encoder.tokenizer),
            compute_metrics=lambda seen: {"accuracy": float((seen.predictions.argmax(-1) == seen.label_ids).mean())},
        )

        def ours() -> list[int]:
            answers: list[int] = kind.predictions(encoder.logits(tokens))
            score(task, answers, [row.label for row in rows])
            return answers

        def theirs() -> list[int]:
            return [int(label) for label in trainer.predict(table).predictions.argmax(-1)]

        equal = ours() == theirs()
        times = {"Trainer.evaluate": [], "workbench": []}  # type: dict[str, list[float]]
        for number in range(ROUNDS):
            sides: list[tuple[str, Callable[[], object]]] = [
                ("workbench", ours),
                ("Trainer.evaluate", lambda: trainer.evaluate(table)),
            ]
            for name, side in sides if number % 2 else reversed(sides):
                started = time.perf_counter()
                side()
                times[name].append(time.perf_counter() - started)
    report(console, times, len(rows), equal)
    return 0 if equal else 1


def report(console: Console, times: dict[str, list[float]], count: int, equal: bool) -> None:
    """Show both speeds and their ratio."""
    shown = Table("", "median s", "sentences a second", title=f"{count} sentences, {ROUNDS} alternating rounds")
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        shown.add_row(name, f"{middle:.2f}", f"{count / middle:.0f}")
    console.print(shown)
    ratios = np.asarray(times["Trainer.evaluate"]) / np.asarray(times["workbench"])
    console.print(f"ratio {np.median(ratios):.2f} (rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)})")
    console.print(f"equal predictions: {equal}")


if __name__ == "__main__":
    sys.exit(main())
