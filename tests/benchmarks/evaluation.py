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
from transformers import DataCollatorWithPadding, PrinterCallback, Trainer, TrainingArguments

from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.finetuned import OpenedBase, finetuned_base
from workbench.metrics import score
from workbench.progress import OnConsole
from workbench.silence import quieten_libraries
from workbench.study import Study, Training
from workbench.tasks.data import TaskData, read_task
from workbench.tokens import tokenize

ROUNDS = 7


def prepared(console: Console) -> tuple[Encoder, TaskData]:
    """A base fine-tuned for a moment, and the whole task."""
    study = Study(name="benchmark", tasks=("rotten-tomatoes",), training=Training(epochs=1), limit=1000)
    task = study.chosen_tasks()[0]
    encoder, _ = finetuned_base(OpenedBase.open(study), read_task(task, 1000), 0, Cache.default(), OnConsole(console))
    return encoder, read_task(task)


def trainer_at_its_defaults(encoder: Encoder, folder: str) -> Trainer:
    """The stock way to evaluate the same model."""
    return Trainer(
        model=encoder.model,
        args=TrainingArguments(output_dir=folder, report_to=[], disable_tqdm=True),
        data_collator=DataCollatorWithPadding(encoder.tokenizer),
        compute_metrics=lambda seen: {"accuracy": float((seen.predictions.argmax(-1) == seen.label_ids).mean())},
    )


def alternated(sides: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """The seconds of each side, round by round, now one first and now the other."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(ROUNDS):
        for name in list(sides)[:: 1 if number % 2 else -1]:
            started = time.perf_counter()
            sides[name]()
            times[name].append(time.perf_counter() - started)
    return times


def main() -> int:
    """Print samples per second of both sides, and the ratio."""
    quieten_libraries()
    console = Console()
    encoder, data = prepared(console)
    rows = data.tests["test"]
    labels = [row.label for row in rows]
    tokens = tokenize(encoder.tokenizer, rows)
    table = Dataset.from_dict({**encoder.tokenizer([row.texts[0] for row in rows], truncation=True), "labels": labels})

    def ours() -> list[int]:
        answers: list[int] = data.kind.predictions(encoder.logits(tokens))
        score(data.task, answers, labels)
        return answers

    with tempfile.TemporaryDirectory() as folder:
        trainer = trainer_at_its_defaults(encoder, folder)
        trainer.remove_callback(PrinterCallback)
        equal = ours() == trainer.predict(table).predictions.argmax(-1).tolist()
        times = alternated({"Trainer.evaluate": lambda: trainer.evaluate(table), "workbench": ours})
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
