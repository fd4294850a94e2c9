"""The metrics agree with scikit-learn, with scipy and with their definitions written out by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as judges

from workbench.errors import UnknownNameError, UsageError, WorkbenchError
from workbench.metrics import METRICS, check_metrics, score
from workbench.plugins import TASKS, load
from workbench.tasks.task import Task

TRUTH = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
GUESS = [1, 1, 1, 0, 1, 0, 0, 0, 0, 0]


def task_with(*metrics: str, labels: tuple[str, ...] = ("no", "yes"), kind: str = "classification") -> Task:
    return Task(name="t", about="", kind=kind, metrics=metrics, labels=labels, sources=())


def value(metric: str, predictions: list, references: list, labels: tuple[str, ...] = ("no", "yes")) -> float:
    kind = "regression" if metric in {"pearson", "spearman"} else "classification"
    (found,) = score(task_with(metric, labels=labels, kind=kind), predictions, references)
    assert (found.metric, found.unit, found.better) == (metric, "score", "higher")
    return found.value


def test_metrics_of_two_labels_follow_their_definitions():
    right, wrong_yes, wrong_no, right_no = 3, 1, 1, 5
    assert value("accuracy", GUESS, TRUTH) == 0.8
    assert value("f1", GUESS, TRUTH) == 2 * right / (2 * right + wrong_yes + wrong_no)
    above = right * right_no - wrong_yes * wrong_no
    below = math.sqrt((right + wrong_yes) * (right + wrong_no) * (right_no + wrong_yes) * (right_no + wrong_no))
    assert value("matthews", GUESS, TRUTH) == pytest.approx(above / below)


def test_the_order_of_prediction_and_truth_matters_where_it_should():
    guess, truth = [1, 1, 1, 0], [1, 0, 0, 0]
    assert value("f1", guess, truth) == pytest.approx(0.5)
    assert judges.precision_score(truth, guess) != judges.recall_score(truth, guess)


@pytest.mark.parametrize("seed", range(5))
def test_metrics_agree_with_scikit_learn_on_random_labels(seed):
    chance = np.random.default_rng(seed)
    truth, guess = chance.integers(0, 2, 200).tolist(), chance.integers(0, 2, 200).tolist()
    assert value("accuracy", guess, truth) == pytest.approx(judges.accuracy_score(truth, guess))
    assert value("f1", guess, truth) == pytest.approx(judges.f1_score(truth, guess))
    assert value("matthews", guess, truth) == pytest.approx(judges.matthews_corrcoef(truth, guess))


@pytest.mark.parametrize("seed", range(5))
def test_correlations_agree_with_scipy_and_with_their_definition(seed):
    chance = np.random.default_rng(seed)
    truth = np.round(chance.uniform(0, 5, 100), 1)
    guess = truth + chance.normal(0, 1, 100)
    centred, other = guess - guess.mean(), truth - truth.mean()
    by_hand = (centred @ other) / math.sqrt((centred @ centred) * (other @ other))
    assert value("pearson", guess.tolist(), truth.tolist()) == pytest.approx(by_hand)
    assert value("pearson", guess.tolist(), truth.tolist()) == pytest.approx(stats.pearsonr(guess, truth).statistic)
    ranks = [stats.rankdata(values) for values in (guess, truth)]
    expected = np.corrcoef(*ranks)[0, 1]
    assert value("spearman", guess.tolist(), truth.tolist()) == pytest.approx(expected)


def test_rank_correlation_sees_order_alone():
    truth = [0.0, 1.0, 2.0, 3.0]
    assert value("spearman", [1.0, 10.0, 100.0, 1000.0], truth) == pytest.approx(1)
    assert value("spearman", [3.0, 2.0, 1.0, 0.0], truth) == pytest.approx(-1)
    assert value("pearson", [1.0, 10.0, 100.0, 1000.0], truth) < 0.9


@pytest.mark.parametrize("constant", [0, 1])
def test_constant_predictions_have_a_defined_score(constant):
    guess = [constant] * len(TRUTH)
    assert value("matthews", guess, TRUTH) == 0
    assert value("accuracy", guess, TRUTH) == (0.4 if constant else 0.6)
    assert value("f1", guess, TRUTH) == pytest.approx(2 * 4 / (2 * 4 + 6) if constant else 0)


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_a_correlation_with_something_constant_is_zero(metric):
    assert value(metric, [2.5, 2.5, 2.5], [0.0, 1.0, 2.0]) == 0
    assert value(metric, [0.0, 1.0, 2.0], [2.5, 2.5, 2.5]) == 0


def test_f1_of_three_labels_is_the_plain_average():
    truth, guess = [0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 0]
    each = [2 * 1 / (2 * 1 + 1 + 1), 2 * 2 / (2 * 2 + 1 + 0), 2 * 1 / (2 * 1 + 0 + 1)]
    assert value("f1", guess, truth, labels=("a", "b", "c")) == pytest.approx(sum(each) / 3)


def test_f1_of_a_task_with_three_labels_stays_the_average_when_one_label_does_not_occur():
    truth, guess = [0, 0, 0, 1], [0, 0, 1, 1]
    expected = judges.f1_score(truth, guess, average="macro")
    assert expected != pytest.approx(judges.f1_score(truth, guess))
    assert value("f1", guess, truth, labels=("a", "b", "c")) == pytest.approx(expected)


def test_every_metric_of_the_task_is_given_in_its_order():
    found = score(task_with("f1", "accuracy"), GUESS, TRUTH)
    assert [one.metric for one in found] == ["f1", "accuracy"]


def test_the_parts_of_mnli_are_named_and_the_only_part_of_others_is_not():
    mnli = load(TASKS, "mnli")
    assert score(mnli, [0, 1, 2], [0, 1, 1], "matched")[0].metric == "accuracy/matched"
    assert score(mnli, [0, 1, 2], [0, 1, 1], "mismatched")[0].metric == "accuracy/mismatched"
    assert score(mnli, [0, 1, 2], [0, 1, 1], "select")[0].metric == "accuracy"
    assert score(task_with("accuracy"), GUESS, TRUTH, "test")[0].metric == "accuracy"


def test_an_unknown_metric_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="task 't': no metric 'acuracy'; did you mean 'accuracy'"):
        check_metrics(task_with("acuracy"))


@pytest.mark.parametrize("metric", METRICS)
def test_every_known_metric_is_accepted_for_the_kind_it_judges(metric):
    task = task_with(metric, kind="regression" if metric in {"pearson", "spearman"} else "classification")
    check_metrics(task)
    assert [found.metric for found in score(task, [0, 1, 1], [0, 1, 0])] == [metric]


@pytest.mark.parametrize("metric", ["accuracy", "f1", "matthews"])
def test_a_metric_of_labels_is_refused_for_scores_before_any_work(metric):
    with pytest.raises(UsageError, match=f"task 't': .*{metric}.*regression"):
        check_metrics(task_with(metric, labels=(), kind="regression"))


def test_predictions_that_are_not_numbers_are_refused():
    with pytest.raises(WorkbenchError, match="task 't': pearson"):
        value("pearson", [math.nan, 1.0, 2.0], [0.0, 1.0, 2.0])
