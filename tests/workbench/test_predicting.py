"""Kept encoders answer texts of one's own as they answered the test rows, here and through a process of their own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kept_runs import make_store
from scipy.special import softmax

from workbench.errors import ArtifactError, UsageError, WorkerError
from workbench.kept_rows import read_rows
from workbench.predicting import Predictor
from workbench.prediction_records import WORKER, Answer, PredictionAnswer
from workbench.prediction_worker import answer_to
from workbench.predictions import read_predictions
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.worker_process import WorkerProcess, environment_for

TORCH, ONNX, INT8, OPENVINO = (f"reviews-{recipe}-s0" for recipe in ("baseline", "onnx", "int8", "openvino"))
FACTORIZED = "reviews-factorized-s0"


@pytest.fixture(scope="module")
def store(tmp_path_factory, tiny_task) -> RunStore:
    return make_store(tmp_path_factory.mktemp("kept"), tiny_task, ("factorized", "onnx", "int8", "openvino"))


@pytest.fixture(scope="module")
def scoring(tmp_path_factory, tiny_regression) -> RunStore:
    return make_store(tmp_path_factory.mktemp("scoring"), tiny_regression, ("onnx",))


def artifacts(store: RunStore, *names: str) -> dict[str, Path]:
    return {name: store.folder(name) / ARTIFACT for name in names}


def kept(store: RunStore, run_id: str, count: int = 5):
    """The texts of some test rows, and what a run put out for them."""
    rows = read_rows(store.rows_file(store.read(run_id).data.fingerprint))["test"]
    (answers,) = read_predictions(store.folder(run_id) / PREDICTIONS)
    return [row.texts for row in rows[:count]], np.stack(answers.logits[:count]).astype(np.float64)


@pytest.mark.parametrize("run_id", [TORCH, FACTORIZED, ONNX, INT8, OPENVINO])
def test_probabilities_are_those_of_the_kept_answers(run_id, store):
    texts, logits = kept(store, run_id)
    answered = Predictor().answers(artifacts(store, run_id), texts)
    assert [one.texts for one in answered] == texts
    for one, row in zip(answered, logits, strict=True):
        answer = one.answers[run_id]
        assert list(answer.probabilities) == ["bad", "good"]
        # Int8 with ranges of a text alone differs a little from int8 with those of a batch.
        np.testing.assert_allclose(list(answer.probabilities.values()), softmax(row), atol=0.03)
        assert answer.label == max(answer.probabilities, key=answer.probabilities.get)
        assert answer.probability == max(answer.probabilities.values())
        assert answer.score is None
        assert answer.milliseconds > 0


def test_scores_of_pairs_are_those_of_the_kept_answers(scoring):
    names = scoring.ids()
    texts, logits = kept(scoring, names[0])
    answered = Predictor().answers(artifacts(scoring, *names), texts)
    for one, row in zip(answered, logits, strict=True):
        for answer in one.answers.values():
            assert answer.score == pytest.approx(row[0], abs=1e-4)
            assert (answer.label, answer.probabilities, answer.probability) == (None, None, None)


def test_several_runs_answer_beside_each_other_under_their_names(store):
    (answered,) = Predictor().answers(
        {"plain": store.folder(TORCH) / ARTIFACT, "small": store.folder(INT8) / ARTIFACT}, [("the film is lovely",)]
    )
    assert list(answered.answers) == ["plain", "small"]


def test_an_artifact_is_opened_once_and_the_longest_unasked_is_closed(store, tmp_path):
    paths = {name: Path(shutil.copytree(path, tmp_path / name)) for name, path in artifacts(store, TORCH, ONNX).items()}
    predictor, text = Predictor(most_open=1), [("the film is lovely",)]
    first = predictor.answers({TORCH: paths[TORCH]}, text)
    (paths[TORCH] / "workbench.json").unlink()
    again = predictor.answers({TORCH: paths[TORCH]}, text)
    assert again[0].answers[TORCH].probabilities == first[0].answers[TORCH].probabilities
    predictor.answers({ONNX: paths[ONNX]}, text)
    with pytest.raises(ArtifactError, match=r"no workbench\.json"):
        predictor.answers({TORCH: paths[TORCH]}, text)


def test_more_artifacts_than_may_stay_open_answer_all_the_same(store):
    names = (TORCH, ONNX, OPENVINO)
    (answered,) = Predictor(most_open=1).answers(artifacts(store, *names), [("a dull story",)])
    assert tuple(answered.answers) == names


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([("fine",), ("one", "two")], "text 2: .* answers single texts, and this is 2 texts at a time"),
        ([("fine",), (" ",)], "text 2 is empty"),
        ([("half \ud83d a character",)], "text 1 is not UTF-8 text"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_its_number(texts, words, store):
    with pytest.raises(UsageError, match=words):
        Predictor().answers(artifacts(store, TORCH), texts)


def test_outputs_that_are_no_numbers_are_an_error(lively, tmp_path):
    import torch

    encoder = lively("bert")
    with torch.no_grad():
        encoder.model.classifier.bias.fill_(float("nan"))
    (tmp_path / "sick").mkdir()
    encoder.save(tmp_path / "sick")
    with pytest.raises(ArtifactError, match="not finite numbers"):
        Predictor().answers({"sick": tmp_path / "sick"}, [("the film",)])


def test_a_long_text_is_cut_as_in_the_run(store):
    (answered,) = Predictor().answers(artifacts(store, TORCH, ONNX, OPENVINO), [("lovely film " * 500,)])
    shares = [answer.probabilities["good"] for answer in answered.answers.values()]
    assert max(shares) - min(shares) < 1e-4


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no json", "not a line of JSON"),
        ("[1]", "not a request for predictions"),
        ('{"texts": [["a"]]}', r"not a request for predictions \(artifacts: Field required\)"),
        ('{"artifacts": {}, "texts": "a"}', r"\(texts: "),
        ('{"artifacts": {"a": "/nowhere"}, "texts": [["a"]]}', "/nowhere: not an artifact of the workbench"),
    ],
)
def test_a_request_that_cannot_be_served_is_answered_with_an_error(line, words):
    import re

    told = answer_to(line, Predictor())
    assert list(told) == ["error"]
    assert re.search(words, told["error"])


def test_a_process_answers_line_by_line_whatever_comes_between(store, tmp_path):
    paths = {name: str(path) for name, path in artifacts(store, TORCH, INT8).items()}
    good = json.dumps({"artifacts": paths, "texts": [["the film is lovely"], ["a dull story"]]})
    lines = "\n".join([good, "nonsense", good]) + "\n"
    done = subprocess.run(WORKER, input=lines, capture_output=True, text=True, check=True, cwd=tmp_path)
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert list(second) == ["error"]
    assert [list(one["answers"]) for one in first["answered"]] == [[TORCH, INT8]] * 2
    both = [PredictionAnswer.model_validate(told).answered for told in (first, third)]
    assert [one.answers[TORCH].probabilities for one in both[0]] == [
        one.answers[TORCH].probabilities for one in both[1]
    ]
    assert [one.texts for one in both[0]] == [("the film is lovely",), ("a dull story",)]


@pytest.mark.slow
def test_a_worker_process_can_be_asked_and_tells_its_errors(store, tmp_path):
    paths = {name: str(path) for name, path in artifacts(store, ONNX).items()}
    with WorkerProcess(WORKER, tmp_path / "errors.txt", environment_for(1), patience=120) as worker:
        told = worker.ask("predict", artifacts=paths, texts=[["the film is lovely"]])
        (answered,) = PredictionAnswer.model_validate(told).answered
        assert isinstance(answered.answers[ONNX], Answer)
        with pytest.raises(WorkerError, match=r"text 1: .* answers single texts"):
            worker.ask("predict", artifacts=paths, texts=[["one", "two"]])


def test_the_records_of_answers_need_no_heavy_library():
    code = "import sys, workbench.prediction_records; print('torch' in sys.modules, 'transformers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
