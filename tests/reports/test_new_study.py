"""The page for new studies: composed from what strategies say of themselves, checked in words, started and watched."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, Field
from streamlit.testing.v1 import AppTest
from tiny import write_base, write_task_files

from reports.pages.plain_words import plain
from workbench.catalogue import Entry
from workbench.process_mark import is_alive
from workbench.store import RunStore
from workbench.study import Study, embedded_studies
from workbench.study_draft import StudyDraft
from workbench.study_process import StudyProcesses

SECONDS = 180
# Stands in for the workbench where only the process matters.
WAITS = "import time; print('<b>hello</b>', flush=True); time.sleep(600)"


def page() -> None:
    from reports.pages import new_study

    new_study.show()


@pytest.fixture
def store(tmp_path, monkeypatch) -> Iterator[RunStore]:
    """An empty store; no study that was started from it outlives the test."""
    made = RunStore(tmp_path / "store")
    monkeypatch.setenv("WORKBENCH_STORE", str(made.root))
    yield made
    for started in StudyProcesses(made).running():
        for pid, mark in ((started.supervisor, started.supervisor_mark), (started.pid, started.mark)):
            if is_alive(pid, mark):
                os.kill(pid, signal.SIGKILL)


def opened() -> AppTest:
    shown = AppTest.from_function(page, default_timeout=SECONDS).run()
    assert not shown.exception
    return shown


def pressed(shown: AppTest, label: str) -> AppTest:
    """Press the last button of a name; those of the newest recipe come last."""
    button = [one for one in shown.button if one.label == label][-1]
    assert not button.disabled
    shown = button.click().run()
    assert not shown.exception
    return shown


def is_open(shown: AppTest, label: str) -> bool:
    return any(one.label == label and not one.disabled for one in shown.button)


def filled_in(shown: AppTest, name: str = "mine", task: str = "sst2") -> AppTest:
    field(shown.text_input, "Name of the study").set_value(name)
    shown.multiselect[0].set_value([task])
    return shown.run()


def field(found: Any, label: str) -> Any:
    return next(one for one in found if one.label == label)


def option(found: Any, name: str) -> Any:
    return next(one for one in found if one.key.endswith(f" {name}"))


def with_step(shown: AppTest, strategy: str) -> AppTest:
    choice = [one for one in shown.selectbox if one.label == "Strategy of the next step"][-1]
    choice.set_value(next(option for option in choice.options if option.startswith(f"{strategy}: ")))
    return pressed(shown, "Add step")


def text_of(shown: AppTest) -> str:
    return next(code.value for code in shown.code if code.language == "yaml")


def until(wanted: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = wanted()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it never came")


def test_an_empty_store_offers_the_embedded_study_and_writes_nothing(store):
    shown = opened()
    assert is_open(shown, "Start the embedded study")
    assert not is_open(shown, "Start the study")
    shown = pressed(shown, "Open it in the form")
    assert field(shown.text_input, "Name of the study").value == "demo"
    demo = StudyDraft.of(Study.load(embedded_studies()["demo"]))
    assert text_of(shown) == demo.text().rstrip()
    assert is_open(shown, "Start the study")
    assert not store.root.exists()


def test_what_is_chosen_becomes_a_file(store, tmp_path):
    shown = filled_in(opened(), "my-study")
    option(shown.text_input, "seeds").set_value("0, 1")
    option(shown.text_input, "learning_rate").set_value("1e-3")
    option(shown.number_input, "limit").set_value(500)
    shown.multiselect[1].set_value(["int8"]).run()
    shown = with_step(pressed(shown, "Add recipe"), "layer-drop")
    option(shown.text_input, "keep").set_value("0, 2")
    shown = with_step(shown, "int8-dynamic")
    assert yaml.safe_load(text_of(shown)) == {
        "name": "my-study",
        "tasks": ["sst2"],
        "seeds": [0, 1],
        "training": {"learning_rate": 1e-3},
        "limit": 500,
        "recipes": [
            "int8",
            {"name": "recipe-1", "steps": [{"use": "layer-drop", "keep": [0, 2]}, "int8-dynamic"]},
        ],
    }
    path = tmp_path / "study.yaml"
    path.write_text(text_of(shown))
    assert Study.load(path).name == "my-study"
    (download,) = shown.get("download_button")
    assert download.proto.label == "Download this file"
    assert is_open(shown, "Start the study")


def test_order_and_fit_are_checked_as_one_composes(store):
    shown = with_step(with_step(pressed(filled_in(opened()), "Add recipe"), "onnx"), "layer-drop")
    said = "Step 2: layer-drop: cannot work on an encoder that is already turned into a runtime graph"
    assert shown.error[0].value.startswith(said)
    assert not is_open(shown, "Start the study")
    shown = [one for one in shown.button if f"{one.key}".endswith(" up")][-1].click().run()
    assert not shown.exception and not shown.error
    assert [step if isinstance(step, str) else step["use"] for step in _steps(shown)] == ["layer-drop", "onnx"]
    assert is_open(shown, "Start the study")
    shown = next(one for one in shown.button if f"{one.key}".endswith(" away")).click().run()
    assert _steps(shown) == ["onnx"]
    assert "recipes" not in yaml.safe_load(text_of(pressed(shown, "Remove recipe")))


def _steps(shown: AppTest) -> list[Any]:
    return yaml.safe_load(text_of(shown))["recipes"][0]["steps"]


def test_what_cannot_be_read_is_said_beside_its_field_and_stops_the_start(store):
    shown = with_step(pressed(filled_in(opened()), "Add recipe"), "layer-drop")
    option(shown.text_input, "keep").set_value("0, two").run()
    assert any("'two' is not a whole number" in markdown.value for markdown in shown.markdown)
    assert "keep: item 2: 'two' is not a whole number" in shown.warning[0].value
    assert not is_open(shown, "Start the study")
    option(shown.text_input, "keep").set_value("0, 2").run()
    assert not shown.warning
    assert is_open(shown, "Start the study")


@pytest.mark.parametrize("name", ["../up", "/etc/x", "a b", "$(id)", "<b>x</b>", "-rf"])
def test_no_name_leads_out_of_the_store_or_becomes_markup(store, name):
    shown = filled_in(opened(), name)
    assert not shown.exception
    assert not is_open(shown, "Start the study")
    assert "lower-case letters" in shown.warning[0].value
    assert "<b>" not in shown.warning[0].value
    assert not store.root.exists()


def two_pages() -> None:
    import streamlit as st

    from reports.pages import new_study

    if not st.toggle("elsewhere"):
        new_study.show()


def test_a_filled_in_form_is_there_again_after_another_page(store):
    shown = AppTest.from_function(two_pages, default_timeout=SECONDS).run()
    shown = with_step(pressed(filled_in(shown, "kept"), "Add recipe"), "layer-drop")
    option(shown.text_input, "keep").set_value("1").run()
    before = text_of(shown)
    shown.toggle[0].set_value(True).run()
    assert not shown.code
    shown.toggle[0].set_value(False).run()
    assert text_of(shown) == before
    assert option(shown.text_input, "keep").value == "1"


class Shape(Enum):
    ROUND = "round"
    SQUARE = "square"


class Inner(BaseModel):
    depth: int = 1


class Strange(BaseModel):
    """Options of every sort, as somebody else may declare them."""

    size: int = Field(default=3, ge=1, description="<b>how large</b> :smile:")
    share: float | None = Field(default=None, description="a share")
    shape: Shape = Field(default=Shape.ROUND, description="which shape")
    odd: bool = Field(default=False, description="whether odd")
    maybe: bool | None = None
    layers: list[int] = Field(default_factory=list, description="some layers")
    words: tuple[str, ...] = Field(default=("a", "b"), description="some words")
    needed: str = Field(description="has no default")
    inner: Inner = Inner()


def editor(entries) -> None:
    import streamlit as st

    from reports.pages.recipe_editor import Larder, edit_recipes
    from reports.study_form import StudyForm
    from workbench.recipe import Step

    larder = Larder(entries=entries, book={})
    if "form" not in st.session_state:
        st.session_state["form"] = form = StudyForm(name="s", tasks=["sst2"])
        form.add_step(form.add_recipe(), Step(use="strange"))
    edit_recipes(st.session_state["form"], "key", larder)
    draft, faults = st.session_state["form"].draft(larder.options)
    st.session_state["result"] = (draft.recipes[0].steps[0].options, faults)


def test_a_strategy_of_somebody_else_has_a_form_of_its_own_options():
    entry = Entry(name="strange", provider="x", summary="**bold** $x$", options=Strange.model_json_schema())
    shown = AppTest.from_function(editor, args=([entry],), default_timeout=SECONDS).run()
    assert not shown.exception
    options, faults = shown.session_state["result"]
    assert (options, faults) == ({}, ["recipe 'recipe-1': step 1: strange: needed: is missing"])
    assert any(plain("**bold** $x$") in markdown.value for markdown in shown.markdown)
    assert plain("<b>how large</b> :smile:") in option(shown.number_input, "size").label
    option(shown.number_input, "size").set_value(0)
    option(shown.text_input, "share").set_value("0.5")
    option(shown.selectbox, "shape").set_value("square")
    option(shown.checkbox, "odd").set_value(True)
    option(shown.selectbox, "maybe").set_value(False)
    option(shown.text_input, "layers").set_value("1 2")
    option(shown.text_area, "words").set_value("one\ntwo three")
    option(shown.text_input, "needed").set_value("x")
    option(shown.text_area, "inner").set_value("depth: 4")
    shown.run()
    assert not shown.exception
    options, faults = shown.session_state["result"]
    assert faults == ["recipe 'recipe-1': step 1: strange: size: must be 1 or more, not 0"]
    assert options == {
        **{"share": 0.5, "shape": "square", "odd": True, "maybe": False, "layers": [1, 2]},
        **{"words": ["one", "two three"], "needed": "x", "inner": {"depth": 4}},
    }


@pytest.fixture
def waiting(store) -> StudyProcesses:
    """Processes whose studies do nothing but wait."""
    return StudyProcesses(store, (sys.executable, "-c", WAITS), grace=10.0)


def test_a_running_study_is_shown_to_whoever_opens_the_page_and_can_be_stopped(waiting):
    started = waiting.start(StudyDraft(name="mine", tasks=("sst2",)))
    until(lambda: waiting.tail(started))
    for _ in range(2):
        shown = opened()
        assert any(markdown.value.startswith("**mine** runs") for markdown in shown.markdown)
        assert [code.value for code in shown.code if code.language != "yaml"] == ["<b>hello</b>"]
        assert not is_open(shown, "Start the embedded study")
    shown = pressed(shown, "Stop")
    until(lambda: waiting.status(started).state != "running")
    assert waiting.status(started).state == "stopped"
    shown = opened()
    assert "was stopped; what was finished is kept" in shown.warning[0].value
    shown = pressed(shown, "Open it in the form")
    assert field(shown.text_input, "Name of the study").value == "mine"


def test_a_second_start_is_refused_with_a_pointer_to_the_running_one(waiting):
    started = waiting.start(StudyDraft(name="mine", tasks=("sst2",)))
    shown = pressed(filled_in(opened(), "mine"), "Start the study")
    (error,) = shown.error
    assert f"is running already ({started.id})" in error.value.replace("\\", "")
    assert error.value.endswith("What runs is shown at the top of this page.")
    assert waiting.all() == [started]


def test_how_an_earlier_study_failed_is_shown_with_its_last_words(store):
    processes = StudyProcesses(store, (sys.executable, "-c", "raise SystemExit('[no](x) such base')"))
    for _ in range(2):
        started = processes.start(StudyDraft(name="mine", tasks=("sst2",)))
        until(lambda one=started: processes.status(one).state != "running")
    shown = opened()
    assert "ended with exit code 1; its log says why" in shown.error[0].value
    assert "[no](x) such base" in [code.value for code in shown.code]
    assert len(shown.dataframe[0].value) == 1


@pytest.fixture
def tiny_study(store, tmp_path) -> Path:
    """A study file in the store, as one that was run before leaves it, that takes a moment."""
    write_base("bert", tmp_path / "base")
    task = write_task_files(tmp_path / "data").model_dump(mode="json", exclude_defaults=True)
    study = {
        **{"name": "tiny", "base": str(tmp_path / "base"), "tasks": [{**task, "text": "text"}], "max_length": 32},
        "training": {"epochs": 1, "learning_rate": 1e-3, "batch_size": 16, "evaluations": 1},
        "measure": ["quality", "size"],
    }
    path = store.study_file("tiny")
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(study))
    return path


def begun_with(shown: AppTest, words: str) -> AppTest:
    choice = field(shown.selectbox, "Begin with")
    choice.set_value(next(option for option in choice.options if words in option))
    return pressed(shown.run(), "Fill in the form")


@pytest.mark.slow
def test_a_full_check_says_what_would_be_made(tiny_study):
    shown = begun_with(opened(), "the study tiny")
    shown = with_step(pressed(shown, "Add recipe"), "layer-drop")
    option(shown.text_input, "keep").set_value("0, 9").run()
    shown = pressed(shown, "Check it with base and data")
    assert "layer 9 does not exist" in shown.error[0].value
    option(shown.text_input, "keep").set_value("0, 2").run()
    assert not shown.error
    shown = pressed(shown, "Check it with base and data")
    assert "2 to be made" in next(code.value for code in shown.code if code.language != "yaml")


@pytest.mark.slow
def test_a_study_started_from_the_form_is_watched_to_its_end_and_its_result_is_there(store, tiny_study):
    shown = begun_with(opened(), "the study tiny")
    shown = with_step(pressed(shown, "Add recipe"), "layer-drop")
    option(shown.text_input, "keep").set_value("0, 2").run()
    # Started right out of a field: what was typed last counts.
    field(shown.text_input, "Name of the recipe").set_value("short")
    pressed(shown, "Start the study")
    processes = StudyProcesses(store)
    (started,) = processes.all()
    seen = []

    def ended() -> AppTest | None:
        again = opened()
        seen.extend(markdown.value for markdown in again.markdown if markdown.value.startswith("**tiny** runs"))
        return again if again.success else None

    shown = until(ended, 600)
    assert seen
    assert shown.success[0].value.startswith("**tiny** is done")
    assert processes.status(started).exit_code == 0
    assert list(shown.dataframe[0].value["recipe"]) == ["baseline", "short"]
    assert {path.parent for path in store.root.rglob("run.json")} == {store.folder(run_id) for run_id in store.ids()}
