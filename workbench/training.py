"""Training: models learn on `transformers.Trainer`, the same way for bases and for strategies."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_model, save_model
from torch.utils.data import Dataset, Sampler
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed

from workbench.families import takes_token_types
from workbench.metrics import score
from workbench.progress import Advance, Reporter
from workbench.study import Precision, Training
from workbench.tasks.kinds import Kind, kind_of
from workbench.tasks.task import Row, Task
from workbench.tokens import Tokens

# Batches are cut from stretches of this many batches, sorted by length: little padding, still well mixed.
STRETCH = 50
CHECKPOINT_WEIGHTS = "model.safetensors"


class Extra(Protocol):
    """More than labels to learn from, such as what a teacher said; cut into batches beside the tokens."""

    def batch(self, tokens: Tokens, chosen: list[int]) -> NDArray[np.float32]:
        """Give what belongs to some examples, padded like them."""


@dataclass(frozen=True)
class Lesson:
    """Examples to learn from: their tokens, their labels, and what else there is to learn from."""

    tokens: Tokens
    labels: Sequence[Any]
    extras: Mapping[str, Extra] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """What is trained for what, and how; ``keep`` is the checkpoint of the best score or of the least loss."""

    task: Task
    settings: Training
    seed: int
    label: str
    keep: Literal["score", "loss"] = "score"


@dataclass(frozen=True)
class Outcome:
    """What training came to: the model that was best on the select rows, its score there, and when it was seen."""

    model: Any
    metric: str
    score: float
    step: int
    steps: int
    precision: Precision

    def told(self) -> dict[str, Any]:
        """What of it belongs into a record."""
        found = {"metric": self.metric, "score": self.score, "step": self.step, "steps": self.steps}
        return {**found, "precision": self.precision}


class Examples(Dataset[tuple[Lesson, int]]):
    """A lesson's examples as numbers; the collator turns them into a padded batch."""

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson

    def __len__(self) -> int:
        return len(self._lesson.tokens)

    def __getitem__(self, index: int) -> tuple[Lesson, int]:
        return self._lesson, index


class LengthGrouped(Sampler[int]):
    """A shuffle decided by seed and epoch alone, so that a resumed epoch goes on where it stopped."""

    def __init__(self, lengths: Any, batch_size: int, seed: int) -> None:
        self._lengths = lengths
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer before each epoch."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = np.random.default_rng([self._seed, self._epoch])
        order = generator.permutation(len(self._lengths))
        stretch = self._batch_size * STRETCH
        batches: list[Any] = []
        for start in range(0, len(order), stretch):
            part = order[start : start + stretch]
            part = part[np.argsort(-self._lengths[part], kind="stable")]
            batches += [part[at : at + self._batch_size] for at in range(0, len(part), self._batch_size)]
        full = [batch for batch in batches if len(batch) == self._batch_size]
        short = [batch for batch in batches if len(batch) < self._batch_size]
        generator.shuffle(full)
        for batch in full + short:
            yield from map(int, batch)


class EncoderTrainer(Trainer):
    """The stock trainer with our sampler."""

    def __init__(self, *args: Any, lengths: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lengths = lengths
        # Our losses are means over a batch; the trainer would pass a count of items to any open signature.
        self.model_accepts_loss_kwargs = False

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        return LengthGrouped(self._lengths, self.args.per_device_train_batch_size, self.args.seed)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        # The stock method refuses models whose layers share weights.
        folder = Path(output_dir or self.args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self.model, str(folder / CHECKPOINT_WEIGHTS))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        load_model(model or self.model, str(Path(resume_from_checkpoint) / CHECKPOINT_WEIGHTS))

    def _load_best_model(self) -> None:
        load_model(self.model, str(Path(self.state.best_model_checkpoint) / CHECKPOINT_WEIGHTS))


class Telling(TrainerCallback):
    """Passes the step count on to the progress bar."""

    def __init__(self, told: Advance) -> None:
        self._told = told

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Hear of a finished step."""
        self._told(state.global_step)


class Collator:
    """Pads the examples of a batch and adds their labels."""

    def __init__(self, model: Any, kind: Kind) -> None:
        self._takes_types = takes_token_types(model.config)
        self._label_type = getattr(torch, kind.label_type)

    def __call__(self, examples: list[tuple[Lesson, int]]) -> dict[str, torch.Tensor]:
        """Make the tensors of a batch."""
        lesson = examples[0][0]
        chosen = [index for _, index in examples]
        batch = {name: torch.from_numpy(values) for name, values in lesson.tokens.batch(chosen).items()}
        if not self._takes_types:
            batch.pop("token_type_ids", None)
        batch["labels"] = torch.tensor([lesson.labels[index] for index in chosen], dtype=self._label_type)
        batch |= {name: torch.from_numpy(extra.batch(lesson.tokens, chosen)) for name, extra in lesson.extras.items()}
        return batch


def train(model: Any, learn: Lesson, select: Lesson, job: Job, workplace: Path, progress: Reporter) -> Outcome:
    """Train a model and keep the checkpoint that is best on the select rows, by its score unless the job says else.

    Checkpoints go to ``workplace``; when it already holds whole ones from an interrupted call with the same
    arguments, training goes on from the last of them and ends with the same weights. The given model is consumed.
    """
    set_seed(job.seed)
    kind = kind_of(job.task)
    trainer = EncoderTrainer(
        model=model,
        args=_arguments(job, len(learn.tokens), workplace),
        train_dataset=Examples(learn),
        eval_dataset=Examples(select),
        data_collator=Collator(model, kind),
        compute_metrics=lambda seen: _headline(job.task, kind, seen),
        lengths=learn.tokens.lengths,
    )
    trainer.remove_callback(PrinterCallback)
    with progress.bar(job.label, trainer.args.max_steps) as told:
        trainer.add_callback(Telling(told))
        trainer.train(resume_from_checkpoint=last_whole_checkpoint(workplace))
    return _outcome(trainer, job.task)


def last_whole_checkpoint(workplace: Path) -> str | None:
    """Find the newest checkpoint that was written to its end; half-written ones are removed.

    The trainer writes a checkpoint's state file last.
    """
    found = sorted(workplace.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for folder in reversed(found):
        try:
            json.loads((folder / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(folder, ignore_errors=True)
            continue
        return str(folder)
    return None


def lesson(tokens: Tokens, rows: Sequence[Row], extras: Mapping[str, Extra] | None = None) -> Lesson:
    """Pair tokens with their rows' labels."""
    return Lesson(tokens, [row.label for row in rows], extras or {})


def by_length(rows: Sequence[Row]) -> list[Row]:
    """Sort rows by the length of their texts, so that judging them carries little padding."""
    return sorted(rows, key=lambda row: sum(map(len, row.texts)))


def _arguments(job: Job, examples: int, workplace: Path) -> TrainingArguments:
    settings = job.settings
    # Under torchrun every process takes its own batches of a step.
    together = settings.batch_size * int(os.environ.get("WORLD_SIZE", "1"))
    steps = max(1, settings.least_steps, math.ceil(settings.epochs * math.ceil(examples / together)))
    steps = min(steps, settings.most_steps or steps)
    pause = max(1, math.ceil(steps / settings.evaluations))
    return TrainingArguments(
        output_dir=str(workplace),
        max_steps=steps,
        per_device_train_batch_size=settings.batch_size,
        per_device_eval_batch_size=64,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        warmup_ratio=settings.warmup,
        max_grad_norm=settings.clip,
        lr_scheduler_type="linear",
        # AdamW with bias correction; the fused form spares most of the optimizer's time.
        optim="adamw_torch_fused",
        # Weights, their updates and sums stay float32; the products of matrices are bfloat16.
        bf16=settings.precision == "bfloat16",
        use_cpu=not torch.accelerator.is_available(),
        eval_strategy="steps",
        save_strategy="steps",
        eval_steps=pause,
        save_steps=pause,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model=job.task.headline if job.keep == "score" else "loss",
        greater_is_better=job.keep == "score",
        seed=job.seed,
        data_seed=job.seed,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        label_names=["labels"],
        report_to=[],
        logging_strategy="no",
        disable_tqdm=True,
    )


def _headline(task: Task, kind: Kind, seen: Any) -> dict[str, float]:
    predictions = kind.predictions(list(seen.predictions))
    return {found.metric: found.value for found in score(task, predictions, list(seen.label_ids), "select")}


def _outcome(trainer: Trainer, task: Task) -> Outcome:
    state = trainer.state
    checkpoint = state.best_model_checkpoint or ""
    step = int(checkpoint.rpartition("-")[2] or state.global_step)
    seen = f"eval_{task.headline}"
    return Outcome(
        model=trainer.model.eval(),
        metric=task.headline,
        score=float(next(told[seen] for told in state.log_history if seen in told and told["step"] == step)),
        step=step,
        steps=int(state.max_steps),
        precision="bfloat16" if trainer.args.bf16 else "float32",
    )
