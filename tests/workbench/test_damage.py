"""Damage tells which rows are answered otherwise than by the baseline, with their texts, and which labels suffer."""

import dataclasses

import numpy as np
import pytest
from records import a_run, answered, answers, keep_run
from scipy.special import softmax

from workbench.damage import damage_of
from workbench.errors import StoreError
from workbench.kept_rows import keep_rows
from workbench.predictions import write_predictions
from workbench.store import PREDICTIONS, RunStore
from workbench.tasks.task import Row

NAMES = ("bad", "good", "odd")
TRUTH = [0, 1, 2, 2, 0]


@pytest.fixture
def store(tmp_path) -> RunStore:
    made = RunStore(tmp_path / "store")
    made.prepare()
    return made


def a_pair(store: RunStore, ours, base, seed: int = 0, labels: tuple[str, ...] = NAMES):
    data = {"source": "files", "fingerprint": "rows", "rows": {"test": len(base.ids)}, "labels": labels}
    runs = [a_run(f"{name}-{seed}", name, seed=seed, data=data) for name in ("drop", "baseline")]
    return keep_run(store, runs[0], ours), keep_run(store, runs[1], base)


def three_labels():
    """One row broken, one mended, one wrong in another way, two as they were; the baseline is surest of the first."""
    base = answered([0, 1, 0, 1, 0], TRUTH, labels=3)
    base.logits[1][1] = 5.0
    return answered([0, 2, 2, 0, 0], TRUTH, labels=3, sure=1.0), base


def test_every_flip_is_told_with_its_text_and_all_probabilities_the_surest_first(store):
    rows = tuple(Row(f"r{number}", (f"text {number}", "pair"), label) for number, label in enumerate(TRUTH))
    keep_rows(store.rows_file("rows"), {"test": rows})
    found = damage_of([a_pair(store, *three_labels())], store)
    told = [(flip.id, flip.texts, flip.label, flip.base, flip.ours, flip.direction) for flip in found.flips]
    assert told == [
        ("r1", ("text 1", "pair"), "good", "good", "odd", "broken"),
        ("r2", ("text 2", "pair"), "odd", "bad", "odd", "mended"),
        ("r3", ("text 3", "pair"), "odd", "good", "bad", "sideways"),
    ]
    first = found.flips[0]
    assert first.confidence == pytest.approx(softmax([0, 5, 0])[1])
    assert first.base_probabilities == pytest.approx(softmax([0, 5, 0]))
    assert first.our_probabilities == pytest.approx(softmax([0, 0, 1]))
    assert (first.seed, first.part, found.flip_count, found.labels) == (0, "test", 3, NAMES)


def test_every_label_has_its_sums_and_every_answer_its_place_in_the_table(store):
    found = damage_of([a_pair(store, *three_labels())], store)
    sums = {one.label: (one.rows, one.base_right, one.ours_right, one.mended, one.broken) for one in found.by_label}
    assert sums == {"bad": (2, 2, 2, 0, 0), "good": (1, 1, 0, 0, 1), "odd": (2, 0, 1, 1, 0)}
    assert found.base_confusion == ((2, 0, 0), (0, 1, 0), (1, 1, 0))
    assert found.confusion == ((2, 0, 0), (0, 0, 1), (1, 0, 1))


def test_a_label_that_no_row_has_is_told_with_no_rows(store):
    truth = [0, 0, 1]
    pair = a_pair(store, answered([0, 2, 1], truth, labels=3), answered([0, 0, 1], truth, labels=3))
    found = damage_of([pair], store)
    assert [one.rows for one in found.by_label] == [2, 1, 0]


def test_rows_that_were_not_kept_leave_the_flips_without_texts(store):
    found = damage_of([a_pair(store, *three_labels())], store)
    assert [flip.texts for flip in found.flips] == [()] * 3


def test_seeds_are_counted_together_and_told_apart(store):
    ours, base = three_labels()
    surer = dataclasses.replace(base, logits=[2 * row for row in base.logits])
    found = damage_of([a_pair(store, ours, base, seed=4), a_pair(store, ours, surer, seed=7)], store)
    confidences = [flip.confidence for flip in found.flips]
    assert confidences == sorted(confidences, reverse=True)
    assert found.flips[0].seed == 7
    assert found.flip_count == 6
    assert sorted(flip.seed for flip in found.flips) == [4, 4, 4, 7, 7, 7]
    assert [one.rows for one in found.by_label] == [4, 2, 4]
    assert sum(map(sum, found.confusion)) == 10


def test_no_more_flips_are_told_than_asked_for_but_all_are_counted(store):
    found = damage_of([a_pair(store, *answers(300, 20, 40, 40), labels=("bad", "good"))], store, most=5)
    assert (len(found.flips), found.flip_count) == (5, 60)
    assert sum(one.mended for one in found.by_label) == 20
    assert sum(one.broken for one in found.by_label) == 40


def test_equal_answers_show_no_damage(store):
    _, base = three_labels()
    found = damage_of([a_pair(store, base, base)], store)
    assert (found.flips, found.flip_count) == ((), 0)
    assert found.confusion == found.base_confusion


def test_several_parts_are_counted_together(store):
    ours, base = three_labels()
    pair = a_pair(store, ours, base)
    for run, first in zip(pair, (ours, base), strict=True):
        other = dataclasses.replace(first, part="mismatched")
        write_predictions(store.folder(run.id) / PREDICTIONS, [first, other])
    found = damage_of([pair], store)
    assert found.flip_count == 6
    assert {flip.part for flip in found.flips} == {"test", "mismatched"}


def test_scores_have_no_flips(store):
    scores = [np.array([value], np.float32) for value in (0.1, 0.2)]
    ours = dataclasses.replace(answered([0, 1], [0, 1]), predictions=[0.1, 0.2], labels=[0.0, 1.0], logits=scores)
    assert damage_of([a_pair(store, ours, ours, labels=())], store) is None


def test_labels_without_names_are_not_told(store):
    assert damage_of([a_pair(store, *three_labels(), labels=())], store) is None


def test_answers_that_are_gone_are_told(store):
    pair = a_pair(store, *three_labels())
    (store.folder(pair[0].id) / PREDICTIONS).unlink()
    with pytest.raises(StoreError, match="predictions cannot be read"):
        damage_of([pair], store)
