"""What the answers came to is judged once, read again as long as they stay the same, and never trusted beyond that."""

import dataclasses
import os
import time

import numpy as np
import pytest
from records import answers, keep_study

from workbench.errors import StoreError, UnknownNameError
from workbench.judged import Judged, judged_once
from workbench.judging import SeedPair, judge
from workbench.predictions import write_predictions
from workbench.statistics import interval_of
from workbench.store import PREDICTIONS, RunStore


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "store")


def a_pair(store: RunStore, mended: int = 4, broken: int = 20):
    base, drop = keep_study(store, {"drop": (mended, broken)})
    return [(drop, base)]


def kept_files(store: RunStore) -> list:
    return sorted((store.root / "judged").glob("*"))


def test_a_judgement_is_summed_up_whole():
    ours, base = answers(300, 4, 20, 76)
    found = judge("accuracy", [SeedPair(3, [ours], [base])])
    judged = Judged.of(found)
    assert (judged.metric, judged.rows, judged.seeds) == ("accuracy", 400, (3,))
    assert (judged.ours, judged.base) == (pytest.approx(0.76), pytest.approx(0.8))
    assert (judged.low, judged.high) == tuple(found.interval)
    assert (judged.p, judged.test, judged.verdict) == (found.p, "exact McNemar", "worse")
    assert (judged.agreement, judged.divergence_unit) == (pytest.approx(0.94), "nats")
    assert judged.divergence == found.divergence.value > 0
    flips = {(one.label, one.direction): one.count for one in judged.flips}
    assert flips == found.flip_counts
    assert sum(flips.values()) == 24


def test_our_metric_by_itself_is_less_sure_than_beside_the_baseline():
    ours, base = answers(300, 4, 20, 76)
    found = judge("accuracy", [SeedPair(0, [ours], [base])])
    judged = Judged.of(found)
    assert judged.alone == interval_of(found.draws.of(lambda ours, base: ours))
    # The closed form for a share of 400 rows.
    reach = 1.96 * np.sqrt(0.76 * 0.24 / 400)
    assert judged.alone == pytest.approx((0.76 - reach, 0.76 + reach), abs=0.1 * reach)
    assert judged.high - judged.low < judged.alone[1] - judged.alone[0]


def test_the_baseline_beside_itself_stands_fast_but_not_by_itself():
    _, base = answers(300, 4, 20, 76)
    judged = Judged.of(judge("accuracy", [SeedPair(0, [base], [base])]))
    assert (judged.low, judged.high, judged.verdict) == (0, 0, "equivalent")
    assert judged.alone[1] - judged.alone[0] > 0.05


def test_a_share_is_kept_up_to_the_largest_that_is_shown():
    ours, base = answers(300, 4, 20, 76)
    found = judge("accuracy", [SeedPair(0, [ours], [base])])
    judged = Judged.of(found)
    assert judged.largest_share == found.largest_share
    assert judged.keeps(judged.largest_share)
    assert judged.keeps(0.5)
    assert not judged.keeps(judged.largest_share + 1e-6)
    assert not judged.model_copy(update={"largest_share": None}).keeps(0.0)


def test_answers_are_judged_once_and_read_back_the_next_time(store):
    pair = a_pair(store)
    first = judged_once(pair, store)
    (kept,) = kept_files(store)
    marked = first.model_copy(update={"test": "read back"})
    kept.write_text(marked.model_dump_json())
    assert judged_once(pair, store) == marked
    assert kept_files(store) == [kept]


def test_answers_that_changed_are_judged_again(store):
    pair = a_pair(store)
    first = judged_once(pair, store)
    path = store.folder("reviews-drop-s0") / PREDICTIONS
    write_predictions(path, [answers(310, 4, 10, 76)[0]])
    again = judged_once(pair, store)
    assert (first.ours, again.ours) == (pytest.approx(0.76), pytest.approx(0.785))
    assert len(kept_files(store)) == 2


def test_answers_of_the_baseline_that_changed_are_judged_again(store):
    pair = a_pair(store)
    judged_once(pair, store)
    path = store.folder("reviews-baseline-s0") / PREDICTIONS
    later = time.time() + 5
    os.utime(path, (later, later))
    judged_once(pair, store)
    assert len(kept_files(store)) == 2


def test_another_metric_is_another_judgement(store):
    ((drop, base),) = a_pair(store)
    judged_once([(drop, base)], store)
    f1 = drop.model_copy(update={"metrics": ("f1",)})
    assert judged_once([(f1, base)], store).metric == "f1"
    assert len(kept_files(store)) == 2


@pytest.mark.parametrize("spoilt", [b"", b"{", b"\xff\xfe\x00", b'{"metric": "accuracy"}'])
def test_a_kept_judgement_that_is_damaged_is_made_anew(store, spoilt):
    pair = a_pair(store)
    first = judged_once(pair, store)
    (kept,) = kept_files(store)
    kept.write_bytes(spoilt)
    assert judged_once(pair, store) == first
    assert Judged.model_validate_json(kept.read_bytes()) == first


def test_where_nothing_can_be_written_it_is_judged_all_the_same(store):
    pair = a_pair(store)
    (store.root / "judged").write_text("a file where the folder would be")
    assert judged_once(pair, store) == judged_once(pair, store)
    assert (store.root / "judged").is_file()


def test_answers_that_are_missing_are_told_by_run_and_file(store):
    pair = a_pair(store)
    path = store.folder("reviews-drop-s0") / PREDICTIONS
    path.unlink()
    with pytest.raises(StoreError, match=f"run reviews-drop-s0: its answers .{path}. are missing"):
        judged_once(pair, store)


def test_answers_that_cannot_be_read_are_told(store):
    pair = a_pair(store)
    (store.folder("reviews-baseline-s0") / PREDICTIONS).write_bytes(b"no parquet")
    with pytest.raises(StoreError, match="predictions cannot be read"):
        judged_once(pair, store)


def test_outputs_that_are_no_numbers_are_told_and_not_kept(store):
    pair = a_pair(store)
    ours, _ = answers(300, 4, 20, 76)
    lost = dataclasses.replace(ours, logits=[np.full(2, np.nan, np.float32), *ours.logits[1:]])
    write_predictions(store.folder("reviews-drop-s0") / PREDICTIONS, [lost])
    with pytest.raises(StoreError, match="the answers of reviews-drop-s0 hold outputs that are no numbers"):
        judged_once(pair, store)
    assert kept_files(store) == []


def test_a_metric_that_nobody_knows_is_told_by_name(store):
    ((drop, base),) = a_pair(store)
    with pytest.raises(UnknownNameError, match="no metric 'beauty'"):
        judged_once([(drop.model_copy(update={"metrics": ("beauty",)}), base)], store)
