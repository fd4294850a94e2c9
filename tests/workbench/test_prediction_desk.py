"""One process answers everybody's questions, and one that died, hung or failed is replaced and told of."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from kept_runs import make_store
from scipy.special import softmax

from workbench.kept_rows import read_rows
from workbench.prediction_desk import PredictionDesk
from workbench.predictions import read_predictions
from workbench.process_mark import mark_of
from workbench.store import ARTIFACT, PREDICTIONS, RunStore

# Stands in for the prediction process: answers with the text it was asked about, unless the artifact says otherwise.
STAND_IN = """
import json, os, sys, time
for number, line in enumerate(sys.stdin, 1):
    asked = json.loads(line)
    ((name, path),) = asked["artifacts"].items()
    if "dies" in path:
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    if "hangs" in path:
        time.sleep(600)
    answer = {"milliseconds": number, "label": asked["texts"][0][0], "probabilities": {asked["texts"][0][0]: 1.0}}
    told = {"answered": [{"texts": asked["texts"][0], "answers": {name: answer}}]}
    if "fails" in path:
        told = {"error": "its weights are gone"}
    if "nonsense" in path:
        told = {"answered": []}
    print(json.dumps(told), flush=True)
"""


@pytest.fixture
def open_desk() -> Iterator[Callable[..., PredictionDesk]]:
    """Gives desks over the stand-in, whose processes are gone after the test."""
    with contextlib.ExitStack() as stack:

        def give(patience: float = 60.0) -> PredictionDesk:
            desk = PredictionDesk((sys.executable, "-c", STAND_IN), patience)
            stack.callback(desk.close)
            return desk

        yield give


def until_gone(pid: int) -> None:
    end = time.monotonic() + 60
    while mark_of(pid):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nothing_is_started_before_somebody_asks(open_desk):
    assert open_desk().pid is None


def test_one_process_answers_question_after_question(open_desk):
    desk = open_desk()
    first = desk.ask({"a": Path("a"), "b": Path("b")}, ("one",))
    pid = desk.pid
    second = desk.ask({"a": Path("a")}, ("two",))
    assert [answer.label for answer in first.answers.values()] == ["one", "one"]
    assert second.answers["a"].label == "two"
    # The stand-in counts what it was asked.
    assert second.answers["a"].milliseconds == 3
    assert (desk.pid, first.faults, first.remark) == (pid, {}, None)


@pytest.mark.parametrize(
    ("artifact", "words"),
    [
        ("dies", "the process that answers died (exit code 3): out of memory"),
        ("fails", "its weights are gone"),
        ("nonsense", "the process that answers answered nonsense"),
    ],
)
def test_what_one_cannot_answer_is_told_of_it_alone(open_desk, artifact, words):
    desk = open_desk()
    reply = desk.ask({"first": Path("x"), "sick": Path(artifact), "last": Path("y")}, ("text",))
    assert list(reply.answers) == ["first", "last"]
    assert reply.faults["sick"].startswith(words)
    assert reply.remark is None


def test_silence_is_not_waited_for_for_ever(open_desk):
    desk = open_desk(patience=0.5)
    reply = desk.ask({"slow": Path("hangs")}, ("text",))
    assert reply.faults == {"slow": "the process that answers did not answer within 0.5 s and was stopped"}


def test_a_process_that_died_while_nobody_asked_is_replaced_and_told_of_once(open_desk):
    desk = open_desk()
    desk.ask({"a": Path("a")}, ("one",))
    os.kill(desk.pid, signal.SIGKILL)
    until_gone(desk.pid)
    reply = desk.ask({"a": Path("a"), "b": Path("b")}, ("two",))
    assert list(reply.answers) == ["a", "b"]
    assert reply.remark == "the process that answers died (signal 9): it said nothing"
    assert desk.ask({"a": Path("a")}, ("three",)).remark is None


def test_everybody_gets_the_answers_to_their_own_questions(open_desk):
    desk, told = open_desk(), {}

    def ask(text: str) -> None:
        told[text] = [desk.ask({"a": Path("a"), "b": Path("b")}, (text,)).answers for _ in range(20)]

    askers = [threading.Thread(target=ask, args=(f"text {number}",)) for number in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(told) == 4
    for text, replies in told.items():
        assert {answer.label for answers in replies for answer in answers.values()} == {text}
    # All through one process.
    assert desk.ask({"a": Path("a")}, ("last",)).answers["a"].milliseconds == 4 * 20 * 2 + 1


def test_a_question_that_is_given_up_leaves_no_answer_for_the_next(open_desk, monkeypatch):
    desk = open_desk()
    desk.ask({"a": Path("a")}, ("one",))
    with monkeypatch.context() as patch:
        patch.setattr("workbench.worker_process.WorkerProcess.answer", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            desk.ask({"a": Path("a")}, ("two",))
    assert desk.ask({"a": Path("a")}, ("three",)).answers["a"].label == "three"


def _interrupted(_: object) -> None:
    raise KeyboardInterrupt


def test_a_closed_desk_ends_its_process_and_opens_again(open_desk):
    desk = open_desk()
    desk.ask({"a": Path("a")}, ("one",))
    pid = desk.pid
    desk.close()
    assert mark_of(pid) is None
    assert desk.ask({"a": Path("a")}, ("two",)).answers["a"].label == "two"


def test_the_process_ends_when_nobody_can_ask_any_more():
    desk = PredictionDesk((sys.executable, "-c", STAND_IN))
    desk.ask({"a": Path("a")}, ("one",))
    pid = desk.pid
    del desk
    until_gone(pid)
    assert mark_of(pid) is None


@pytest.mark.slow
def test_real_encoders_answer_as_they_answered_the_test_rows(tmp_path, tiny_task):
    store = make_store(tmp_path, tiny_task, ("onnx",))
    baseline, onnx = (f"reviews-{recipe}-s0" for recipe in ("baseline", "onnx"))
    paths = {name: store.folder(name) / ARTIFACT for name in (baseline, onnx)}
    damaged = tmp_path / "damaged"
    shutil.copytree(paths[onnx], damaged)
    (damaged / "model.onnx").write_bytes(b"altered")
    texts, logits = _kept(store, baseline)
    desk = PredictionDesk()
    try:
        reply = desk.ask({baseline: paths[baseline], "damaged": damaged, onnx: paths[onnx]}, texts)
    finally:
        desk.close()
    assert "is not what was saved" in reply.faults["damaged"]
    for answer in reply.answers.values():
        assert list(answer.probabilities) == ["bad", "good"]
        np.testing.assert_allclose(list(answer.probabilities.values()), softmax(logits), atol=1e-3)


def _kept(store: RunStore, run_id: str) -> tuple[tuple[str, ...], np.ndarray]:
    row = read_rows(store.rows_file(store.read(run_id).data.fingerprint))["test"][0]
    (answers,) = read_predictions(store.folder(run_id) / PREDICTIONS)
    return row.texts, np.asarray(answers.logits[0], np.float64)
