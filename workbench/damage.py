"""Damage: which rows a compressed encoder answers otherwise than its baseline, and which labels suffer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.special import softmax

from workbench.errors import StoreError
from workbench.flips import Flip, flips_of
from workbench.kept_rows import read_rows
from workbench.predictions import Predictions, read_predictions
from workbench.run import Run
from workbench.store import PREDICTIONS, RunStore


class Record(BaseModel):
    """A frozen part of the damage."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FlippedRow(Record):
    """A row with its texts and what both answered; probabilities are those of every label in order."""

    seed: int
    part: str
    id: str
    texts: tuple[str, ...]
    label: str
    base: str
    ours: str
    direction: str
    confidence: float
    base_probabilities: tuple[float, ...]
    our_probabilities: tuple[float, ...]


class LabelDamage(Record):
    """How many rows of a label the baseline and ours have right, over all seeds, and how many went which way."""

    label: str
    rows: int
    base_right: int
    ours_right: int
    mended: int
    broken: int


class Damage(Record):
    """What a recipe changed in the answers to one task; flips come with the surest of the baseline's first.

    ``confusion`` counts rows by true label and our answer, ``base_confusion`` by true label and the baseline's.
    """

    labels: tuple[str, ...]
    by_label: tuple[LabelDamage, ...]
    confusion: tuple[tuple[int, ...], ...]
    base_confusion: tuple[tuple[int, ...], ...]
    flips: tuple[FlippedRow, ...]
    flip_count: int


def damage_of(pairs: Sequence[tuple[Run, Run]], store: RunStore, most: int | None = None) -> Damage | None:
    """Look at every answer of some runs beside their baselines'; absent for scores, which all differ a little.

    At most ``most`` flips are told with their texts; all are counted.
    """
    labels = pairs[0][0].data.labels
    answers = [(run.seed, _answers(run, store), _answers(base, store)) for run, base in pairs]
    if not labels or len(labels) != len(answers[0][1][0].logits[0]):
        return None
    parts = [(seed, mine, theirs) for seed, ours, base in answers for mine, theirs in zip(ours, base, strict=True)]
    found = [(flip, mine, theirs) for seed, mine, theirs in parts for flip in flips_of(seed, mine, theirs)]
    found.sort(key=lambda item: -item[0].confidence)
    texts = _texts(pairs[0][0], store)
    return Damage(
        labels=labels,
        by_label=tuple(_label_damage(number, name, parts) for number, name in enumerate(labels)),
        confusion=_confusion(len(labels), [mine for _, mine, _ in parts]),
        base_confusion=_confusion(len(labels), [theirs for _, _, theirs in parts]),
        flips=tuple(_row(flip, mine, theirs, labels, texts) for flip, mine, theirs in found[:most]),
        flip_count=len(found),
    )


def _answers(run: Run, store: RunStore) -> list[Predictions]:
    return read_predictions(store.folder(run.id) / PREDICTIONS)


def _texts(run: Run, store: RunStore) -> dict[tuple[str, str], tuple[str, ...]]:
    """The texts by part and id; none where the rows were not kept."""
    try:
        tests = read_rows(store.rows_file(run.data.fingerprint))
    except StoreError:
        return {}
    return {(part, row.id): row.texts for part, rows in tests.items() for row in rows}


def _row(
    flip: Flip,
    ours: Predictions,
    base: Predictions,
    labels: Sequence[str],
    texts: dict[tuple[str, str], tuple[str, ...]],
) -> FlippedRow:
    place = base.ids.index(flip.id)
    return FlippedRow(
        seed=flip.seed,
        part=flip.part,
        id=flip.id,
        texts=texts.get((flip.part, flip.id), ()),
        label=labels[flip.label],
        base=labels[flip.base],
        ours=labels[flip.ours],
        direction=flip.direction,
        confidence=flip.confidence,
        base_probabilities=tuple(softmax(base.logits[place].astype(np.float64)).tolist()),
        our_probabilities=tuple(softmax(ours.logits[place].astype(np.float64)).tolist()),
    )


def _label_damage(number: int, name: str, parts: Sequence[tuple[int, Predictions, Predictions]]) -> LabelDamage:
    ours, base = [], []
    for _, mine, theirs in parts:
        of_label = np.asarray(theirs.labels) == number
        ours.append((np.asarray(mine.predictions) == number)[of_label])
        base.append((np.asarray(theirs.predictions) == number)[of_label])
    mine_right, base_right = np.concatenate(ours), np.concatenate(base)
    return LabelDamage(
        label=name,
        rows=len(base_right),
        base_right=int(base_right.sum()),
        ours_right=int(mine_right.sum()),
        mended=int((mine_right & ~base_right).sum()),
        broken=int((base_right & ~mine_right).sum()),
    )


def _confusion(count: int, answers: Sequence[Predictions]) -> tuple[tuple[int, ...], ...]:
    table = np.zeros((count, count), int)
    for part in answers:
        np.add.at(table, (np.asarray(part.labels, int), np.asarray(part.predictions, int)), 1)
    return tuple(tuple(row) for row in table.tolist())
