"""A judgement says of a run beside its baseline what their answers bear out, and no more."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from workbench.errors import StoreError, UnknownNameError
from workbench.judging import SeedPair, judge
from workbench.predictions import Predictions, read_predictions, write_predictions
from workbench.scores import accuracy, f1, pearson


def answered(guesses, truth, labels: int = 2, part: str = "test", sure: float = 2.0) -> Predictions:
    guesses, truth = np.asarray(guesses, int), np.asarray(truth, int)
    logits = (sure * np.eye(labels)[guesses]).astype(np.float32)
    return Predictions(part, [f"r{row}" for row in range(len(truth))], truth.tolist(), guesses.tolist(), list(logits))


def told(scores, truth, part: str = "test") -> Predictions:
    logits = np.asarray(scores, np.float32)[:, None]
    ids = [f"r{row}" for row in range(len(logits))]
    return Predictions(part, ids, np.asarray(truth).tolist(), [float(row[0]) for row in logits], list(logits))


def counted(both: int, mended: int, broken: int, neither: int, seed: int = 0, part: str = "test") -> SeedPair:
    counts = [both, mended, broken, neither]
    truth = np.arange(sum(counts)) % 2
    right, base_right = np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)
    ours, base = np.where(right, truth, 1 - truth), np.where(base_right, truth, 1 - truth)
    return SeedPair(seed, [answered(ours, truth, part=part, sure=1.5)], [answered(base, truth, part=part)])


def test_accuracy_is_judged_by_counts_and_the_exact_test():
    found = judge("accuracy", [counted(700, 20, 48, 104)])
    assert (found.metric, found.rows, found.seeds) == ("accuracy", 872, (0,))
    assert (found.ours, found.base) == (pytest.approx(720 / 872), pytest.approx(748 / 872))
    assert found.difference == pytest.approx(-28 / 872)
    assert (found.p, found.test) == (pytest.approx(stats.binomtest(20, 68).pvalue), "exact McNemar")
    # The closed form of a paired difference with one flip more in each direction.
    error = np.sqrt(21 + 49 - 28**2 / 874) / 874
    assert found.interval == pytest.approx((-28 / 872 - 1.96 * error, -28 / 872 + 1.96 * error), abs=0.1 * error)
    assert found.verdict() == "worse"


def test_other_metrics_are_tested_by_the_bootstrap_and_say_so():
    pair = counted(700, 20, 48, 104)
    found = judge("f1", [pair])
    assert found.test == "paired bootstrap"
    assert 0 < found.p < 0.05
    assert not found.interval.low <= 0 <= found.interval.high
    assert found.ours == f1(pair.ours[0].labels, pair.ours[0].predictions)


@pytest.mark.parametrize(("right", "shown"), [(440, False), (460, False), (540, True)])
def test_a_baseline_must_beat_the_most_frequent_label_beyond_doubt(right, shown):
    truth = np.repeat([0, 1], [450, 350])
    base = np.where(np.arange(800) % 800 < right, truth, 1 - truth)
    found = judge("accuracy", [SeedPair(0, [answered(base, truth)], [answered(base, truth)])])
    assert found.blind == pytest.approx(450 / 800)
    assert found.beats_blindness is shown


def test_one_label_for_all_scores_as_the_metric_says_and_numbers_have_none():
    truth = np.repeat([0, 1], [100, 200])
    same = [answered(truth, truth)]
    assert judge("f1", [SeedPair(0, same, same)]).blind == pytest.approx(f1(truth, np.ones(300, int)))
    assert judge("matthews", [SeedPair(0, same, same)]).blind == 0
    scores = [told(np.linspace(0, 1, 50), np.linspace(0, 1, 50))]
    found = judge("pearson", [SeedPair(0, scores, scores)])
    assert found.blind is None
    assert found.beats_blindness


def test_the_same_answers_are_always_judged_alike():
    assert judge("f1", [counted(80, 5, 9, 6)]) == judge("f1", [counted(80, 5, 9, 6)])


def test_a_share_is_kept_only_where_its_bound_is_above_zero():
    found = judge("accuracy", [counted(1500, 20, 24, 200)])
    kept = found.keeps()
    assert kept.shown and kept.bound > 0
    assert kept.words == "keeps at least 97 % of the baseline's accuracy (one-sided 95 %)"
    refused = found.keeps(0.999)
    assert not refused.shown and refused.bound < 0
    assert refused.words.startswith("not shown: accuracy may fall 0.00")
    assert refused.words.endswith("short of 99.9 % of the baseline's accuracy (one-sided 95 %)")


def test_few_rows_show_nothing_even_without_a_single_flip():
    pair = counted(40, 0, 0, 31)
    found = judge("accuracy", [pair])
    assert (found.difference, found.p, found.verdict()) == (0, 1, "unclear")
    assert not found.keeps(0.97).shown
    assert judge("accuracy", [counted(800, 0, 0, 72)]).verdict() == "equivalent"


def test_outputs_equal_up_to_rounding_are_equivalent_on_any_number_of_rows():
    base = counted(40, 0, 0, 31).base
    nearly = [dataclasses.replace(base[0], logits=[row + np.float32(1e-5) for row in base[0].logits])]
    found = judge("accuracy", [SeedPair(0, nearly, base)])
    assert found.interval == (0, 0)
    assert found.verdict() == "equivalent"


@pytest.mark.parametrize("metric", ["accuracy", "f1", "matthews"])
def test_the_largest_share_is_where_showing_ends(metric):
    found = judge(metric, [counted(500, 12, 30, 60)], draws=2000)
    largest = found.largest_share
    assert 0.8 < largest < found.ours / found.base
    assert found.keeps(largest).shown
    assert not found.keeps(largest + 2e-4).shown


def test_no_share_of_nothing_can_be_kept():
    truth = np.tile([0, 1], 200)
    constant = answered(np.zeros(400, int), truth)
    found = judge("matthews", [SeedPair(0, [answered(truth, truth)], [constant])])
    assert (found.base, found.ours, found.largest_share) == (0, 1, None)
    assert found.keeps().words == ("not shown: the baseline's matthews is not above 0, so a share of it means nothing")
    assert found.verdict(0.01) == "better"


def test_the_margin_of_equivalence_can_be_set():
    found = judge("accuracy", [counted(1500, 20, 24, 200)])
    assert found.verdict(0.05) == "equivalent"
    assert found.verdict(0.001) == "unclear"


def test_flips_name_the_rows_their_direction_and_the_confidence_of_the_baseline():
    truth = [0, 1, 2, 2, 0]
    base = answered([0, 1, 0, 1, 0], truth, labels=3)
    base.logits[1][1] = 5.0
    ours = answered([0, 2, 2, 0, 0], truth, labels=3, sure=1.0)
    found = judge("accuracy", [SeedPair(7, [ours], [base])], draws=200)
    assert [flip[:7] for flip in found.flips] == [
        (7, "test", "r1", 1, 1, 2, "broken"),
        (7, "test", "r2", 2, 0, 2, "mended"),
        (7, "test", "r3", 2, 1, 0, "sideways"),
    ]
    assert found.flips[0].confidence == pytest.approx(softmax([0, 5, 0])[1])
    assert found.flips[1].confidence == pytest.approx(softmax([2, 0, 0])[0])
    assert found.flip_counts == {(1, "broken"): 1, (2, "mended"): 1, (2, "sideways"): 1}


def test_fidelity_is_told_with_its_unit():
    pair = counted(90, 1, 2, 7)
    found = judge("accuracy", [pair])
    assert (found.agreement.unit, found.agreement.value) == ("share", pytest.approx(0.97))
    ours, base = (softmax(np.stack(part[0].logits), axis=1) for part in (pair.ours, pair.base))
    assert found.divergence.value == pytest.approx(stats.entropy(base, ours, axis=1).mean(), rel=1e-5)
    assert (found.divergence.unit, found.divergence.better) == ("nats", "lower")


def test_scores_are_judged_by_correlation_and_have_no_flips():
    chance = np.random.default_rng(0)
    truth = np.round(chance.uniform(0, 5, 1500), 1)
    base = truth + chance.normal(0, 0.5, 1500)
    ours = base + chance.normal(0, 0.5, 1500)
    pair = SeedPair(0, [told(ours, truth)], [told(base, truth)])
    found = judge("pearson", [pair], draws=2000)
    assert found.difference == pytest.approx(pearson(truth, ours) - pearson(truth, base), abs=1e-6)
    assert (found.test, found.flips, found.verdict()) == ("paired bootstrap", (), "worse")
    assert (found.divergence.unit, found.divergence.value) == (
        "squared score",
        pytest.approx(np.square(ours - base).mean(), rel=1e-4),
    )
    assert found.agreement.unit == "correlation"
    assert judge("spearman", [pair], draws=500).keeps(0.9).shown


def test_parts_count_alike_however_many_rows_they_have():
    small, large = counted(50, 5, 20, 25, part="matched"), counted(700, 30, 30, 40, part="mismatched")
    both = SeedPair(0, small.ours + large.ours, small.base + large.base)
    found = judge("accuracy", [both])
    assert found.rows == 900
    assert found.ours == pytest.approx((55 / 100 + 730 / 800) / 2)
    assert found.difference == pytest.approx(-0.15 / 2)
    assert found.p == pytest.approx(stats.binomtest(35, 85).pvalue)
    assert {flip.part for flip in found.flips} == {"matched", "mismatched"}


def test_several_seeds_are_averaged_and_their_disagreement_widens_the_interval():
    alike = [counted(700, 20, 48, 104, seed) for seed in range(3)]
    apart = [counted(700, 20 + shift, 48 - shift, 104, seed) for seed, shift in enumerate((-15, 0, 15))]
    one, steady, wild = (judge("accuracy", pairs) for pairs in (alike[:1], alike, apart))
    assert steady.seeds == (0, 1, 2)
    assert steady.test == "paired bootstrap"
    assert steady.interval == pytest.approx(one.interval, abs=1e-3)
    assert wild.difference == pytest.approx(steady.difference)
    assert (wild.verdict(), steady.verdict()) == ("unclear", "worse")
    assert len(wild.agreement.values) == 3
    assert len(wild.flips) == 3 * 68


def test_answers_read_from_a_file_are_judged_like_those_in_memory(tmp_path):
    pair = counted(80, 5, 9, 6)
    write_predictions(tmp_path / "ours.parquet", pair.ours)
    write_predictions(tmp_path / "base.parquet", pair.base)
    read = SeedPair(0, read_predictions(tmp_path / "ours.parquet"), read_predictions(tmp_path / "base.parquet"))
    assert judge("accuracy", [read]) == judge("accuracy", [pair])


def test_runs_that_answered_other_rows_are_refused():
    pair, longer = counted(80, 5, 9, 6), counted(90, 5, 9, 6)
    with pytest.raises(StoreError, match=r"seed 4: its run answered other rows of part 'test' \(110, expected 100\)"):
        judge("accuracy", [SeedPair(4, longer.ours, pair.base)])
    with pytest.raises(StoreError, match="seed 1: its baseline answered other rows"):
        judge("accuracy", [pair, SeedPair(1, pair.ours, longer.base)])
    swapped = dataclasses.replace(pair.ours[0], ids=pair.ours[0].ids[::-1])
    with pytest.raises(StoreError, match="run the study again"):
        judge("accuracy", [SeedPair(0, [swapped], pair.base)])
    relabelled = dataclasses.replace(pair.ours[0], labels=[1 - label for label in pair.ours[0].labels])
    with pytest.raises(StoreError, match="other rows"):
        judge("accuracy", [SeedPair(0, [relabelled], pair.base)])


def test_runs_that_answered_other_parts_or_nothing_are_refused():
    pair, other = counted(80, 5, 9, 6), counted(80, 5, 9, 6, part="matched")
    with pytest.raises(StoreError, match="its run answered 'matched' where 'test' was expected"):
        judge("accuracy", [SeedPair(0, other.ours, pair.base)])
    with pytest.raises(StoreError, match="answered no test part where"):
        judge("accuracy", [SeedPair(0, [], pair.base)])
    with pytest.raises(StoreError, match="part 'test' holds no rows"):
        judge("accuracy", [SeedPair(0, [answered([], [])], [answered([], [])])])
    with pytest.raises(StoreError, match="no run with a baseline"):
        judge("accuracy", [])


def test_an_unknown_metric_is_answered_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="did you mean 'accuracy'"):
        judge("acuracy", [counted(8, 1, 1, 1)])


def test_accuracy_seen_is_the_plain_share():
    pair = counted(80, 5, 9, 6)
    assert judge("accuracy", [pair]).base == accuracy(pair.base[0].labels, pair.base[0].predictions)
