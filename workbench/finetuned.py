"""The fine-tuned base: the encoder every recipe of a task and seed starts from, trained once and kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench import bases
from workbench.cache import Cache
from workbench.clock import Stopwatch
from workbench.encoder import Encoder
from workbench.environment import installed_versions
from workbench.errors import PlanError
from workbench.files import hash_of
from workbench.lineage import Lineage
from workbench.progress import Reporter
from workbench.run import BaseRecord, Cost
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.study import Study
from workbench.tasks.data import TaskData
from workbench.tasks.task import Task
from workbench.tokens import tokenize_once, tokenizer_fingerprint
from workbench.training import Job, by_length, lesson, train

DECISIVE_PACKAGES = ("torch", "transformers", "accelerate", "tokenizers")
ENCODER = "encoder"
NOTES = "training.json"


@dataclass(frozen=True)
class OpenedBase:
    """A base that was found and understood, not yet fitted to a task."""

    study: Study
    folder: Path
    hash: str
    config: Any

    @classmethod
    def open(cls, study: Study) -> OpenedBase:
        """Find a study's base and read its configuration; refusals come before any work."""
        folder = bases.locate(study.base, study.folder)
        config = bases.read_config(study.base, folder)
        return cls(study, folder, bases.content_hash(folder), config)

    @cached_property
    def tokenizer_fingerprint(self) -> str:
        """A hash of how the base splits text."""
        return tokenizer_fingerprint(self.tokenizer())

    def tokenizer(self) -> Any:
        """The base's tokenizer, cutting texts at the study's length."""
        return bases.load_tokenizer(self.study.base, self.folder, self.study.max_length, self.config)

    def needs_training(self, task: Task) -> bool:
        """Whether the base must be fine-tuned; ``finetune: never`` needs a head that fits."""
        wish = self.study.finetune
        fits = bases.has_fitting_head(self.config, task)
        if wish == "never" and not fits:
            raise PlanError(
                f"base {self.study.base.name!r} carries no head for the labels of task {task.name!r} "
                f"({', '.join(task.labels) or 'one score'}); set finetune: auto"
            )
        return wish == "always" or not fits

    def key(self, data: TaskData, seed: int) -> str:
        """A hash of everything that decides the fine-tuned weights."""
        trained = self.needs_training(data.task)
        versions, settings = installed_versions(), self.study.training_of(data.task.name)
        return hash_of(
            {
                "base": self.hash,
                "data": data.fingerprint if trained else data.task.name,
                # Steps are trained in the study's precision even where the base is not trained at all.
                "settings": settings.model_dump(exclude_none=True) if trained else settings.precision,
                "max_length": self.study.max_length,
                "seed": seed if trained else None,
                "versions": {name: versions.get(name) for name in DECISIVE_PACKAGES},
            }
        )

    def untrained(self, task: Task, seed: int) -> Encoder:
        """The base under a head for the task; a new head's weights are decided by the seed."""
        from transformers import set_seed

        set_seed(seed)
        base = self.study.base
        model = bases.load_model(base, self.folder, task)
        tokenizer = self.tokenizer()
        lineage = Lineage(
            base=base.name,
            base_hash=self.hash,
            base_config=json.loads(model.config.to_json_string(use_diff=False)),
            task=task.name,
            kind=task.kind,
            labels=task.labels,
            text_count=task.text_count,
            max_length=tokenizer.model_max_length,
        )
        return Encoder(TorchRuntime(model), tokenizer, lineage)


def finetuned_base(
    opened: OpenedBase, data: TaskData, seed: int, cache: Cache, progress: Reporter
) -> tuple[Encoder, BaseRecord]:
    """Give the fine-tuned base of a task and seed, from the cache or by training it now."""
    key = opened.key(data, seed)

    def build(folder: Path) -> None:
        watch = Stopwatch()
        encoder, notes = _fitted(opened, data, seed, key, cache, progress)
        (folder / ENCODER).mkdir()
        encoder.save(folder / ENCODER)
        notes["cost"] = watch.cost().model_dump()
        (folder / NOTES).write_text(json.dumps(notes, indent=1), encoding="utf-8")

    folder = cache.make("bases", key, build)
    cache.clear_workplace(key)
    notes = json.loads((folder / NOTES).read_text(encoding="utf-8"))
    return Encoder.load(folder / ENCODER), _record(opened, data.task, key, notes)


def _fitted(
    opened: OpenedBase, data: TaskData, seed: int, key: str, cache: Cache, progress: Reporter
) -> tuple[Encoder, dict[str, Any]]:
    encoder = opened.untrained(data.task, seed)
    if not opened.needs_training(data.task):
        return encoder, {"finetuned": False}
    learn = lesson(tokenize_once(encoder.tokenizer, data.train, cache), data.train)
    chosen = by_length(data.select)
    select = lesson(tokenize_once(encoder.tokenizer, chosen, cache), chosen)
    job = Job(data.task, opened.study.training_of(data.task.name), seed, f"fine-tuning {data.task.name}, seed {seed}")
    outcome = train(encoder.model, learn, select, job, cache.workplace(key), progress)
    notes = {"finetuned": True, "select": outcome.told()}
    return Encoder(TorchRuntime(outcome.model), encoder.tokenizer, encoder.lineage), notes


def _record(opened: OpenedBase, task: Task, key: str, notes: dict[str, Any]) -> BaseRecord:
    settings = opened.study.training_of(task.name).model_dump() if notes["finetuned"] else {}
    return BaseRecord(
        name=opened.study.base.name,
        revision=opened.study.base.revision,
        hash=opened.hash,
        finetuned=notes["finetuned"],
        key=key,
        settings={**settings, **({"select": notes["select"]} if "select" in notes else {})},
        cost=Cost(**notes["cost"]),
    )
