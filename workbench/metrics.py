"""The official GLUE metrics as `evaluate.Metric` modules of our own, so that the hub is not needed."""

from __future__ import annotations

import math
from typing import Any

import datasets
import evaluate
import numpy as np
from scipy import stats
from sklearn import metrics as judges

from workbench.errors import DataError, PlanError, UnknownNameError
from workbench.measurement import Measurement
from workbench.tasks.task import Task


class GlueMetric(evaluate.Metric):
    """A metric over one prediction and one reference an example."""

    value_type = "int64"
    kind = "classification"

    def _info(self) -> Any:
        features = datasets.Features(
            {"predictions": datasets.Value(self.value_type), "references": datasets.Value(self.value_type)}
        )
        return evaluate.MetricInfo(
            description=str(type(self).__doc__), citation="", inputs_description="", features=features
        )


class Accuracy(GlueMetric):
    """The share of right answers."""

    def _compute(self, predictions: list[int], references: list[int], labels: int) -> dict[str, float]:
        return {"accuracy": float(judges.accuracy_score(references, predictions))}


class F1(GlueMetric):
    """The harmonic mean of precision and recall of label 1; over more than two labels, their plain average."""

    def _compute(self, predictions: list[int], references: list[int], labels: int) -> dict[str, float]:
        average = "binary" if labels <= 2 else "macro"
        return {"f1": float(judges.f1_score(references, predictions, average=average, zero_division=0.0))}


class Matthews(GlueMetric):
    """Matthews' correlation of two labelings."""

    def _compute(self, predictions: list[int], references: list[int], labels: int) -> dict[str, float]:
        return {"matthews": float(judges.matthews_corrcoef(references, predictions))}


class Pearson(GlueMetric):
    """The linear correlation of scores; zero when one side is constant and none is defined."""

    value_type = "float64"
    kind = "regression"

    def _compute(self, predictions: list[float], references: list[float], labels: int) -> dict[str, float]:
        return {"pearson": _correlation(stats.pearsonr, predictions, references)}


class Spearman(GlueMetric):
    """The rank correlation of scores; zero when one side is constant and none is defined."""

    value_type = "float64"
    kind = "regression"

    def _compute(self, predictions: list[float], references: list[float], labels: int) -> dict[str, float]:
        return {"spearman": _correlation(stats.spearmanr, predictions, references)}


METRICS: dict[str, type[GlueMetric]] = {
    "accuracy": Accuracy,
    "f1": F1,
    "matthews": Matthews,
    "pearson": Pearson,
    "spearman": Spearman,
}


def check_metrics(task: Task) -> None:
    """Refuse a task that asks for a metric nobody knows."""
    for name in task.metrics:
        if name not in METRICS:
            raise UnknownNameError("metric", name, METRICS, where=f"task {task.name!r}: ")
        if METRICS[name].kind != task.kind:
            fitting = [other for other, metric in METRICS.items() if metric.kind == task.kind]
            raise PlanError(
                f"task {task.name!r}: metric {name!r} cannot judge {task.kind}; those that can: {', '.join(fitting)}"
            )


def score(task: Task, predictions: list[Any], references: list[Any], part: str = "test") -> list[Measurement]:
    """Judge predictions by every metric of the task; parts other than the only one are named in the metric."""
    suffix = "" if task.tests == (part,) or part not in task.tests else f"/{part}"
    found = []
    for name in task.metrics:
        judge = METRICS[name](keep_in_memory=True)
        value = judge.compute(predictions=predictions, references=references, labels=len(task.labels))[name]
        if not math.isfinite(value):
            raise DataError(
                f"task {task.name!r}: {name} is not a number, because an answer is none; did training diverge?"
            )
        found.append(Measurement.single(f"{name}{suffix}", "score", "higher", value))
    return found


def _correlation(judge: Any, predictions: list[float], references: list[float]) -> float:
    if np.ptp(predictions) == 0 or np.ptp(references) == 0:
        return 0.0
    return float(judge(predictions, references).statistic)
