"""Distillation: a student learns what its teacher says, not only what the labels say."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from workbench.augment import augmented
from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.errors import ArtifactError, PlanError
from workbench.families import family_of, part, projection_width, quantity
from workbench.lineage import Lineage, Manifest
from workbench.plugins import STRATEGIES, load
from workbench.shapes import SHAPES
from workbench.sketch import CLS_ONLY, GRAPH, ZEROED, Sketch
from workbench.strategy import Strategy
from workbench.student import HIDDEN, LOGITS, PROJECTIONS, UNLABELLED, Student, Weights
from workbench.study import Training
from workbench.tasks.task import Row
from workbench.teacher import Teacher
from workbench.tokens import tokenizer_fingerprint
from workbench.training import Extra, Job, by_length, lesson, train

ShapeName = Literal["bert-tiny", "bert-mini", "bert-small", "bert-medium", "bert-base", "bert-large"]


class Distillation(Training, Strategy):
    """Train the encoder as it stands, or a new one of a named shape, to answer like a teacher."""

    name = "distillation"
    needs = ("train", "teacher")
    claims = ("other-weights",)
    portable = True
    refuses = (GRAPH, ZEROED)

    student: ShapeName | None = Field(default=None, description="a new student of this shape instead of the encoder")
    teacher: str | None = Field(default=None, description="folder of an artifact to learn from; the base if not given")
    soft: float = Field(default=0.7, ge=0, description="weight of the teacher's outputs")
    hard: float = Field(default=0.3, ge=0, description="weight of the labels")
    hidden: float = Field(default=0.0, ge=0, description="weight of the teacher's hidden states")
    relations: float = Field(default=0.0, ge=0, description="weight of query, key and value relations, last layer")
    temperature: float = Field(default=2.0, gt=0, description="how much softer both outputs are made for comparing")
    hidden_loss: Literal["cosine", "mse"] = Field(default="mse", description="how hidden states are compared")
    layer_map: tuple[int, ...] | None = Field(
        default=None,
        description="for each student layer the teacher's, counted from 1; if not given, the one it was refitted to "
        "stand in for, else evenly spread",
    )
    relation_heads: int | None = Field(
        default=None, ge=1, description="relation heads; the most that fit, if not given"
    )
    augment: int = Field(default=0, ge=0, le=50, description="teacher-labelled variants of each training row")
    freeze_embeddings: bool = Field(default=False, description="leave the embedding tables as they are")
    keep: Literal["best", "closest"] = Field(
        default="best",
        description="which checkpoint: that of the best score on the select rows, or the closest to the teacher there",
    )
    learning_rate: float = Field(default=1e-4, gt=0, description="the highest learning rate")
    regression_rate: float | None = Field(
        default=None,
        gt=0,
        description="the highest learning rate where the task asks for a number; learning_rate if not given",
    )

    @model_validator(mode="after")
    def _something_to_learn(self) -> Self:
        if not any((self.soft, self.hard, self.hidden, self.relations)):
            raise ValueError("every loss has weight 0; give at least one of soft, hard, hidden, relations a weight")
        return self

    def control(self) -> Self:
        """The same student with the same number of steps on the labels alone."""
        alone = {"soft": 0.0, "hidden": 0.0, "relations": 0.0, "hard": 1.0, "augment": 0, "keep": "best"}
        return self.model_copy(update={**alone, "epochs": self.epochs * (1 + self.augment)})

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse a teacher that answers another question, hidden states that are not there, and impossible maps."""
        if self.teacher:
            self._check_teacher(Manifest.read(Path(self.teacher).expanduser()), sketch)
        shaped = sketch
        if self.student:
            shape = SHAPES[self.student]
            shaped = replace(
                sketch, family="bert", layers=shape.layers, hidden=shape.hidden, heads=shape.heads, ffn=shape.ffn
            )
            shaped = replace(shaped, groups=0, traits=frozenset())
        if self.layer_map is not None and len(self.layer_map) != shaped.layers:
            raise PlanError(f"layer_map names {len(self.layer_map)} teacher layers for a student of {shaped.layers}")
        if self.freeze_embeddings and self.student:
            raise PlanError("freeze_embeddings would keep a new student's embeddings random; leave it out")
        if CLS_ONLY in shaped.traits and (self.hidden or self.relations):
            raise PlanError(
                "hidden and relations compare every token, but the last layer of this encoder is already cls-only; "
                "move this step before the one that made it so, or set both to 0"
            )
        if sketch.respelt and not self.teacher and (self.hidden or self.relations):
            raise PlanError(
                "hidden and relations compare token by token, but the base splits text otherwise than this encoder "
                "after an earlier step; move this step before that one, or set both to 0 and use soft only"
            )
        return shaped

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Give the trained student."""
        teacher = Teacher(Encoder.load(Path(self.teacher).expanduser()) if self.teacher else bench.teacher, bench)
        model = self._student_model(encoder.model)
        weights = self._weights(model, teacher.encoder, encoder.lineage.stands_for)
        rows = [*bench.data.train, *self._variants(encoder, bench)]
        learn = lesson(bench.tokens(encoder, rows), rows, self._told(teacher, encoder, rows, weights))
        chosen = by_length(bench.data.select)
        select = lesson(bench.tokens(encoder, chosen), chosen, self._judged_by(teacher, chosen))
        width = quantity(teacher.encoder.model.config, "hidden_size") if weights.hidden else 0
        in_class = Student(model, weights, width, regression=bench.data.task.kind == "regression")
        frozen = self._freeze(model)
        outcome = train(in_class, learn, select, self._job(bench), bench.workplace, bench.progress)
        for parameter in frozen:
            parameter.requires_grad_(True)
        return encoder.evolve(outcome.model.model, by=self, detail={"select": outcome.told(), "rows": len(rows)})

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """A named shape is built anew; otherwise training changes no architecture."""
        return _of_shape(model, self.student) if self.student else model

    def _check_teacher(self, manifest: Manifest, sketch: Sketch) -> None:
        lineage = manifest.lineage
        if (lineage.kind, lineage.labels) != (sketch.kind, sketch.labels):
            theirs, ours = (", ".join(labels) or "a score" for labels in (lineage.labels, sketch.labels))
            raise PlanError(f"teacher {self.teacher} answers with other labels ({theirs}) than the task has ({ours})")
        if not (self.hidden or self.relations):
            return
        if manifest.runtime != "torch":
            raise PlanError(
                f"teacher {self.teacher} is a graph and shows no hidden states; set hidden and relations to 0"
            )
        if CLS_ONLY in _traits_of(lineage):
            raise PlanError(
                f"teacher {self.teacher} is cls-only and shows one token's state after its last layer; "
                "set hidden and relations to 0"
            )
        from transformers import AutoTokenizer

        theirs = tokenizer_fingerprint(AutoTokenizer.from_pretrained(Path(self.teacher or "").expanduser()))
        # What spells like the base spells otherwise than an encoder whose spelling was changed since.
        if sketch.tokenizer and (theirs == sketch.tokenizer) == sketch.respelt:
            raise PlanError(
                f"teacher {self.teacher} splits text otherwise; set hidden and relations to 0, use soft only"
            )

    def _student_model(self, model: Any) -> Any:
        return _of_shape(model, self.student) if self.student else copy.deepcopy(model)

    def _weights(self, student: Any, teacher: Encoder, stands_for: Sequence[int] | None) -> Weights:
        layers = quantity(student.config, "num_hidden_layers")
        spread: dict[int, int] = {}
        heads = 1
        if self.hidden or self.relations:
            depth = quantity(teacher.model.config, "num_hidden_layers")
            chosen = self.layer_map or [math.ceil(own * depth / layers) for own in range(1, layers + 1)]
            if stands_for and len(stands_for) == layers and not (self.layer_map or self.student or self.teacher):
                chosen = [place + 1 for place in stands_for]
            outside = [layer for layer in chosen if not 0 <= layer <= depth]
            if outside:
                raise PlanError(f"layer_map names teacher layer {outside[0]}, but the teacher has {depth}")
            spread = dict(zip(range(1, layers + 1), chosen, strict=True))
            heads = self._common_heads(student, teacher)
        return Weights(
            soft=self.soft,
            hard=self.hard,
            hidden=self.hidden,
            relations=self.relations,
            temperature=self.temperature,
            hidden_loss=self.hidden_loss,
            relation_heads=heads,
            layer_map=spread,
        )

    def _common_heads(self, student: Any, teacher: Encoder) -> int:
        common = math.gcd(_relation_width(student), _relation_width(teacher.model))
        if self.relation_heads and common % self.relation_heads:
            raise PlanError(f"relation_heads: {self.relation_heads} does not divide both widths")
        # Relation heads of eight numbers or more; the paper uses 48 for a width of 768.
        return self.relation_heads or max(
            (heads for heads in range(1, common + 1) if common % heads == 0 and common // heads >= 8), default=1
        )

    def _told(self, teacher: Teacher, encoder: Encoder, rows: list[Row], weights: Weights) -> dict[str, Extra]:
        if not (self.soft or self.hidden or self.relations):
            return {}
        if self.hidden or self.relations:
            theirs, own = (teacher.bench.tokens(each, rows) for each in (teacher.encoder, encoder))
            if not (np.array_equal(theirs.ids, own.ids) and np.array_equal(theirs.starts, own.starts)):
                raise PlanError(
                    "teacher and student split text differently; set hidden and relations to 0, use soft only"
                )
        told: dict[str, Extra] = {LOGITS: teacher.logits(rows)}
        if self.hidden:
            states = teacher.hidden_states(rows, weights.layer_map.values())
            told |= {f"{HIDDEN}{layer}": theirs for layer, theirs in states.items()}
        if self.relations:
            last = quantity(teacher.encoder.model.config, "num_hidden_layers") - 1
            told[PROJECTIONS] = teacher.projections(rows, last)
        return told

    def _judged_by(self, teacher: Teacher, rows: list[Row]) -> dict[str, Extra]:
        """What checkpoints are judged by: few rows score noisily, but tell well who answers like the teacher."""
        return {LOGITS: teacher.logits(rows)} if self.keep == "closest" else {}

    def _job(self, bench: Bench) -> Job:
        task, settings = bench.data.task, self.training(bench.precision)
        if task.kind == "regression" and self.regression_rate:
            settings = settings.model_copy(update={"learning_rate": self.regression_rate})
        keep: Literal["score", "loss"] = "loss" if self.keep == "closest" else "score"
        return Job(task, settings, bench.seed, f"distilling {task.name}", keep)

    def _variants(self, encoder: Encoder, bench: Bench) -> list[Row]:
        if not self.augment:
            return []
        if not encoder.tokenizer.mask_token:
            raise ArtifactError("augment masks words, but the tokenizer has no mask token; set augment to 0")
        unlabelled = math.nan if bench.data.task.kind == "regression" else UNLABELLED
        return augmented(bench.data.train, self.augment, encoder.tokenizer.mask_token, unlabelled, bench.seed)

    def _freeze(self, model: Any) -> list[Any]:
        if not self.freeze_embeddings:
            return []
        embeddings = part(model, family_of(model.config).word_embeddings)
        frozen = [parameter for parameter in embeddings.parameters() if parameter.requires_grad]
        for parameter in frozen:
            parameter.requires_grad_(False)
        return frozen


def _traits_of(lineage: Lineage) -> set[str]:
    """The traits that the steps of an encoder gave it; a new student has none of those of its predecessor."""
    traits: set[str] = set()
    for step in lineage.steps:
        renewed = step.use == Distillation.name and step.options.get("student")
        traits = set() if renewed else traits | set(load(STRATEGIES, step.use).gives)
    return traits


def _relation_width(model: Any) -> int:
    """How wide the queries of the last layer are, whose relations are compared."""
    return projection_width(model, quantity(model.config, "num_hidden_layers") - 1)


def _of_shape(model: Any, name: str | None) -> Any:
    """A new BERT of a named shape with the vocabulary, positions and head of a given model."""
    from transformers import BertConfig, BertForSequenceClassification

    shape, old = SHAPES[name or ""], model.config
    config = BertConfig(
        vocab_size=old.vocab_size,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.ffn,
        max_position_embeddings=old.max_position_embeddings,
        type_vocab_size=max(2, getattr(old, "type_vocab_size", 2)),
        pad_token_id=old.pad_token_id,
        num_labels=old.num_labels,
        id2label=old.id2label,
        label2id=old.label2id,
        problem_type=old.problem_type,
    )
    return BertForSequenceClassification(config)
