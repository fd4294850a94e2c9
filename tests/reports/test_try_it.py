"""The page to try encoders on: texts are answered side by side, by one process that outlives a page's drawing."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from kept_runs import make_store
from records import a_failed_run
from streamlit.testing.v1 import AppTest

from reports.pages import try_it
from workbench.kept_rows import read_rows
from workbench.process_mark import mark_of
from workbench.store import ARTIFACT, RunStore

SECONDS = 180


def page() -> None:
    from reports.pages import try_it

    try_it.show()


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny_task) -> RunStore:
    return make_store(tmp_path_factory.mktemp("kept"), tiny_task, ("drop", "onnx"))


@pytest.fixture
def store(made, monkeypatch) -> RunStore:
    monkeypatch.setenv("WORKBENCH_STORE", str(made.root))
    return made


def opened() -> AppTest:
    return AppTest.from_function(page, default_timeout=SECONDS).run()


def asked(shown: AppTest, *texts: str) -> AppTest:
    for area, text in zip(shown.text_area, texts, strict=True):
        area.set_value(text)
    return pressed(shown, "Ask")


def pressed(shown: AppTest, label: str) -> AppTest:
    (button,) = [one for one in shown.button if one.label == label]
    shown = button.click().run()
    assert not shown.exception
    return shown


def pid_of(store: RunStore) -> int | None:
    return try_it._desk(str(store.root.resolve())).pid


def test_nothing_is_asked_before_there_is_a_text(store):
    shown = opened()
    assert not shown.exception
    assert shown.multiselect[0].options == ["drop", "onnx"]
    assert len(shown.dataframe) == 0
    shown = asked(shown, "   ")
    assert shown.warning[0].value == "Write something to ask about."


def test_baseline_and_variants_answer_side_by_side_through_one_process(store):
    shown = asked(opened(), "the film is lovely")
    table = shown.dataframe[0].value
    assert list(table["variant"]) == ["baseline", "drop", "onnx"]
    assert set(table["answer"]) <= {"bad", "good"}
    assert ((table["probability"] >= 0.5) & (table["probability"] <= 1)).all()
    assert (table["time"] > 0).all()
    assert table["probability"][0] == pytest.approx(table["probability"][2], abs=1e-3)
    assert table["beside the baseline"][2] == "the same"
    pid = pid_of(store)
    # Another session, another text: the same process.
    again = asked(opened(), "a dull story")
    assert len(again.dataframe[0].value) == 3
    assert pid_of(store) == pid is not None
    assert not again.warning and not again.error


def test_a_variant_that_is_chosen_later_is_asked_alone(store):
    shown = opened()
    shown.multiselect[0].set_value(["drop"])
    shown = asked(shown, "the cast is warm")
    before = shown.dataframe[0].value
    shown = shown.multiselect[0].set_value(["drop", "onnx"]).run()
    after = shown.dataframe[0].value
    assert list(after["variant"]) == ["baseline", "drop", "onnx"]
    # Who answered already was not asked again: a second call would not take the very same time.
    assert list(after["time"][:2]) == list(before["time"])


def test_a_test_row_can_be_taken_and_its_label_is_shown(store):
    shown = opened()
    (rows,) = read_rows(store.rows_file(store.read("reviews-baseline-s0").data.fingerprint)).values()
    shown = shown.selectbox(key=try_it.EXAMPLE).set_value(rows[3].texts[0]).run()
    assert shown.text_area[0].value == rows[3].texts[0]
    shown = pressed(shown, "Ask")
    assert shown.text[0].value == f"The test row's own label: {('bad', 'good')[rows[3].label]}"


def test_a_process_that_died_is_told_of_and_replaced(store):
    asked(opened(), "the music was great")
    pid = pid_of(store)
    os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 60
    while mark_of(pid) and time.monotonic() < end:
        time.sleep(0.01)
    shown = asked(opened(), "the music was awful")
    assert "died (signal 9)" in shown.warning[0].value
    assert len(shown.dataframe[0].value) == 3
    assert pid_of(store) not in (pid, None)


def test_runs_without_weights_are_left_out_with_a_word(made, tmp_path, monkeypatch):
    store = RunStore(Path(shutil.copytree(made.root, tmp_path / "copy")))
    monkeypatch.setenv("WORKBENCH_STORE", str(store.root))
    shutil.rmtree(store.folder("reviews-onnx-s0") / ARTIFACT)
    failed = a_failed_run("broken", "broken", "it crashed", data=store.read("reviews-onnx-s0").data)
    with store.writing(failed.id) as folder:
        store.keep(failed, folder)
    shown = opened()
    assert not shown.exception
    assert shown.multiselect[0].options == ["drop"]
    assert shown.caption[0].value.endswith("no weights of them in this store: broken, onnx.")


def test_a_store_without_any_weights_says_so(made, tmp_path, monkeypatch):
    store = RunStore(Path(shutil.copytree(made.root, tmp_path / "copy", ignore=shutil.ignore_patterns(ARTIFACT))))
    monkeypatch.setenv("WORKBENCH_STORE", str(store.root))
    shown = opened()
    assert not shown.exception
    assert "None of these runs can be asked" in shown.info[0].value


@pytest.mark.slow
def test_an_altered_artifact_is_told_of_and_the_others_answer(made, tmp_path, monkeypatch):
    store = RunStore(Path(shutil.copytree(made.root, tmp_path / "copy")))
    monkeypatch.setenv("WORKBENCH_STORE", str(store.root))
    (store.folder("reviews-onnx-s0") / ARTIFACT / "model.onnx").write_bytes(b"altered")
    shown = asked(opened(), "the film is lovely")
    assert "onnx did not answer" in shown.error[0].value
    assert list(shown.dataframe[0].value["variant"]) == ["baseline", "drop"]
    try_it._desk(str(store.root.resolve())).close()


def test_pairs_have_two_fields_and_scores_no_bars(tmp_path, tiny_regression, monkeypatch):
    store = make_store(tmp_path, tiny_regression, ())
    monkeypatch.setenv("WORKBENCH_STORE", str(store.root))
    shown = opened()
    assert [area.label for area in shown.text_area] == ["The first text", "The second text"]
    shown.text_area[0].set_value("the film is lovely")
    shown = pressed(shown, "Ask")
    assert shown.warning[0].value == "Write both texts."
    shown = asked(shown, "the film is lovely", "the film is dull")
    assert list(shown.dataframe[0].value.columns) == ["variant", "score", "time"]
    assert not shown.get("vega_lite_chart")
    try_it._desk(str(store.root.resolve())).close()
