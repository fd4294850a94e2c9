"""Paired statistics agree with scipy, with scikit-learn through the workbench's metrics, and with worked examples."""

import numpy as np
import pytest
from scipy import stats

from workbench import metrics
from workbench.errors import UnknownNameError
from workbench.resampling import Answers, bootstrap
from workbench.scores import METRICS, accuracy, f1, matthews, metric_named, pearson, spearman
from workbench.statistics import Interval, bootstrap_p, holm, interval_of, lower_bound, mcnemar, verdict
from workbench.tasks.task import Task


def rights(both: int, mended: int, broken: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    counts = [both, mended, broken, neither]
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


def official(name: str, truth: np.ndarray, guess: np.ndarray, labels: int = 2) -> float:
    kind = METRICS[name].kind
    task = Task(
        name="t", about="", kind=kind, metrics=(name,), labels=tuple(str(one) for one in range(labels)), sources=()
    )
    return metrics.score(task, guess.tolist(), truth.tolist())[0].value


def classified(seed: int, rows: int = 120, labels: int = 2, seeds: int = 1) -> Answers:
    chance = np.random.default_rng(seed)
    truth = chance.integers(0, labels, rows)
    noisy = [np.where(chance.random(rows) < 0.25, chance.integers(0, labels, rows), truth) for _ in range(2 * seeds)]
    return Answers(truth, np.array(noisy[:seeds]), np.array(noisy[seeds:]), labels)


def scored(seed: int, rows: int = 120) -> Answers:
    chance = np.random.default_rng(seed)
    truth = np.round(chance.uniform(0, 5, rows), 1)
    return Answers(truth, np.round(truth + chance.normal(0, 1.2, (1, rows)), 1), truth + chance.normal(0, 1, (1, rows)))


@pytest.mark.parametrize(("mended", "broken"), [(0, 1), (5, 0), (3, 12), (40, 40), (70, 31)])
def test_mcnemar_is_the_exact_binomial_test_of_the_changed_rows(mended, broken):
    found = mcnemar(*rights(50, mended, broken, 9))
    expected = stats.binomtest(mended, mended + broken, 0.5).pvalue
    assert found == (mended, broken, pytest.approx(expected))


def test_mcnemar_of_five_broken_rows_is_one_sixteenth():
    assert mcnemar(*rights(100, 0, 5, 0)).p == pytest.approx(2 / 2**5)


def test_mcnemar_without_changed_rows_finds_nothing():
    assert mcnemar(*rights(10, 0, 0, 3)) == (0, 0, 1.0)


def test_holm_follows_an_example_worked_by_hand():
    # In ascending order 4 times 0.01, 3 times 0.02, 2 times 0.03 and 0.04; the last is raised to the one before it.
    adjusted = holm({"rte": 0.04, "sst2": 0.01, "mrpc": 0.03, "cola": 0.02})
    assert list(adjusted) == ["rte", "sst2", "mrpc", "cola"]
    assert adjusted == pytest.approx({"sst2": 0.04, "cola": 0.06, "mrpc": 0.06, "rte": 0.06})


def test_holm_never_passes_one_and_leaves_a_single_task_alone():
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({"a": 0.03}) == {"a": 0.03}
    assert holm({}) == {}


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("name", ["accuracy", "f1", "matthews"])
def test_scores_of_labels_equal_the_official_metrics(name, labels):
    for seed in range(3):
        one = classified(seed, labels=labels)
        expected = official(name, one.truth, one.ours[0], labels)
        assert METRICS[name](one.truth, one.ours[0], labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_correlations_equal_the_official_metrics_with_ties_and_without(name):
    for seed in range(3):
        one = scored(seed)
        for guess in (one.ours[0], one.base[0]):
            expected = official(name, one.truth, guess)
            assert METRICS[name](one.truth, guess) == pytest.approx(expected, abs=1e-12)


def test_correlations_equal_scipy_far_from_zero():
    one = scored(4)
    assert pearson(one.truth + 1e6, one.base[0]) == pytest.approx(stats.pearsonr(one.truth, one.base[0]).statistic)
    assert spearman(one.truth, one.ours[0]) == pytest.approx(stats.spearmanr(one.truth, one.ours[0]).statistic)


@pytest.mark.parametrize(
    ("truth", "guess"), [([0, 0, 0], [0, 0, 0]), ([0, 1, 1], [0, 0, 0]), ([0, 0, 0], [1, 0, 1]), ([1, 1], [1, 1])]
)
def test_scores_with_an_empty_margin_are_those_of_the_official_metrics(truth, guess):
    for score in (accuracy, f1, matthews):
        assert score(truth, guess) == official(score.name, np.array(truth), np.array(guess))


def test_f1_averages_over_the_labels_that_occur():
    truth, guess = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    assert f1(truth, guess, 3) == pytest.approx(official("f1", truth, guess, 3))
    assert f1(truth, guess, 3) != pytest.approx(f1(truth, guess, 2))


@pytest.mark.parametrize("score", [pearson, spearman])
def test_a_correlation_with_something_constant_is_zero(score):
    assert score([0.1, 0.1, 0.1], [0.0, 1.0, 2.0]) == 0
    assert score([0.0, 1.0, 2.0], [0.1, 0.1, 0.1]) == 0


@pytest.mark.parametrize("score", METRICS.values(), ids=METRICS)
def test_a_row_of_weight_three_counts_as_three_rows(score):
    one = classified(7, rows=30, labels=3) if score.kind == "classification" else scored(7, rows=30)
    weights = np.random.default_rng(1).integers(0, 4, (30, 20))
    found = score.over(one.truth, np.concatenate([one.ours, one.base]), 3)(weights.astype(float))
    for draw in range(20):
        rows = np.repeat(np.arange(30), weights[:, draw])
        expected = [score(one.truth[rows], guess[rows], 3) for guess in (one.ours[0], one.base[0])]
        assert found[:, draw] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("score", METRICS.values(), ids=METRICS)
def test_intervals_agree_with_those_of_scipy(score):
    one = classified(3) if score.kind == "classification" else scored(3)

    def difference(truth, ours, base):
        return score(truth, ours) - score(truth, base)

    columns = (one.truth, one.ours[0], one.base[0])
    expected = stats.bootstrap(
        columns, difference, paired=True, vectorized=False, n_resamples=2000, method="percentile", rng=1
    )
    found = interval_of(bootstrap(score, [one], np.random.default_rng(1), 10_000, unseen=0).of(np.subtract))
    # The end of an interval of 2,000 draws errs by about 6 % of the standard error.
    assert found == pytest.approx(tuple(expected.confidence_interval), abs=0.25 * expected.standard_error)


def test_draws_repeat_with_the_generator_and_keep_the_pairing():
    one = scored(5)
    first, again = (bootstrap(spearman, [one], np.random.default_rng(9), 300) for _ in range(2))
    assert np.array_equal(first.ours, again.ours) and np.array_equal(first.base, again.base)
    same = bootstrap(pearson, [Answers(one.truth, one.ours, one.ours)], np.random.default_rng(9), 300)
    assert same.ours.std() > 0
    assert np.array_equal(same.ours, same.base)


def test_any_function_of_both_scores_can_be_drawn():
    drawn = bootstrap(accuracy, [classified(2)], np.random.default_rng(0), 500)
    assert np.allclose(drawn.of(lambda ours, base: ours / base), drawn.ours[:, 0] / drawn.base[:, 0])
    assert np.allclose(drawn.of(lambda ours, base: ours - 0.97 * base), (drawn.ours - 0.97 * drawn.base)[:, 0])


def test_chunks_of_draws_are_all_given(monkeypatch):
    one = classified(2)
    whole = bootstrap(accuracy, [one], np.random.default_rng(0), 1000)
    monkeypatch.setattr("workbench.resampling.CHUNK", 100)
    chunked = bootstrap(accuracy, [one], np.random.default_rng(0), 1000)
    assert chunked.ours.shape == (1000, 1)
    assert np.array_equal(chunked.ours, whole.ours)


def test_parts_are_drawn_apart_and_averaged_plainly():
    small, large = classified(1, rows=40), classified(2, rows=400)
    drawn = bootstrap(accuracy, [small, large], np.random.default_rng(0), 4000, unseen=0)
    means = [accuracy(part.truth, part.ours[0]) for part in (small, large)]
    assert drawn.seen_ours == pytest.approx([np.mean(means)])
    errors = [mean * (1 - mean) / rows for mean, rows in zip(means, (40, 400), strict=True)]
    assert drawn.ours.std() == pytest.approx(np.sqrt(sum(errors)) / 2, rel=0.05)


def test_flips_that_were_never_seen_are_reckoned_with():
    truth = np.tile([0, 1], 100)
    same = Answers(truth, truth[None], truth[None], 2)
    blind = interval_of(bootstrap(accuracy, [same], np.random.default_rng(0), 4000, unseen=0).of(np.subtract))
    wary = interval_of(bootstrap(accuracy, [same], np.random.default_rng(0), 4000).of(np.subtract))
    assert blind == (0, 0)
    # Broken less mended is the difference of two Poisson counts of mean 1, whose 97.5 % point is 3.
    assert stats.skellam(1, 1).ppf(0.975) == 3
    assert wary == pytest.approx((-3 / 200, 3 / 200))


def test_seeds_that_differ_give_the_t_interval_of_their_mean_when_rows_do_not_matter():
    truth = np.ones(20_000, int)
    base = np.ones((3, 20_000), int)
    ours = base.copy()
    for seed, wrong in enumerate((600, 2000, 3400)):
        ours[seed, :wrong] = 0
    drawn = bootstrap(accuracy, [Answers(truth, ours, base, 2)], np.random.default_rng(0), 10_000)
    found = interval_of(drawn.of(np.subtract))
    error = 0.07 / np.sqrt(3)
    expected = -0.1 + np.array([-1, 1]) * stats.t(2).ppf(0.975) * error
    assert found == pytest.approx(expected, abs=0.1 * error * stats.t(2).ppf(0.975))


def test_seeds_that_all_answer_alike_are_as_good_as_one():
    one = classified(6, rows=300)
    thrice = Answers(one.truth, np.repeat(one.ours, 3, 0), np.repeat(one.base, 3, 0), 2)
    single = bootstrap(f1, [one], np.random.default_rng(0), 4000).of(np.subtract)
    triple = bootstrap(f1, [thrice], np.random.default_rng(0), 4000).of(np.subtract)
    assert interval_of(triple) == pytest.approx(interval_of(single), abs=1e-9)


def test_bounds_and_p_of_draws_follow_their_definitions():
    draws = np.arange(1, 1001) - 30.0
    assert interval_of(draws) == pytest.approx(tuple(np.percentile(draws, [2.5, 97.5])))
    assert lower_bound(draws) == 20
    assert bootstrap_p(draws) == pytest.approx(2 * (30 + 1) / 1001)
    assert bootstrap_p(-draws) == bootstrap_p(draws)
    assert bootstrap_p(np.zeros(100)) == 1
    assert bootstrap_p(np.ones(99)) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.005, 0.004, "equivalent"),
        (0.001, 0.009, "equivalent"),
        (0.001, 0.011, "better"),
        (-0.03, -0.001, "worse"),
        (-0.03, 0.001, "unclear"),
        (-0.01, 0.01, "unclear"),
        (0.0, 0.02, "unclear"),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_margin(low, high, expected):
    assert verdict(Interval(low, high), 0.01) == expected


def test_an_unknown_metric_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="no metric 'pearsson'; did you mean 'pearson'"):
        metric_named("pearsson")


def test_the_register_holds_every_official_metric_and_its_kind():
    assert {name: score.kind for name, score in METRICS.items()} == {
        name: judge.kind for name, judge in metrics.METRICS.items()
    }
