"""A real browser asks kept encoders and starts a study; what it sees is kept as pictures in screenshots/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from browser import Browser, dashboard_of, missing_browser
from kept_runs import make_store
from selenium.webdriver.common.keys import Keys

from workbench.store import RunStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_browser()), reason=f"no browser to look with: {missing_browser()}"),
]

PICTURES = Path(__file__).parents[1] / "screenshots"


@pytest.fixture(scope="module")
def store(tmp_path_factory, tiny_base, tiny_task) -> RunStore:
    """Kept encoders that can be asked, and the file of a study that takes a moment."""
    kept = make_store(tmp_path_factory.mktemp("kept"), tiny_task, ["drop", "int8"])
    study = {
        "name": "tiny",
        "base": str(tiny_base("bert")),
        "tasks": [tiny_task.model_dump(mode="json", exclude_defaults=True)],
        "training": {"epochs": 1, "learning_rate": 1e-3, "batch_size": 16, "evaluations": 1},
        "max_length": 32,
        "measure": ["quality", "size"],
    }
    kept.study_file("tiny").parent.mkdir(parents=True)
    kept.study_file("tiny").write_text(yaml.safe_dump(study), encoding="utf-8")
    return kept


@pytest.fixture(scope="module")
def window(store, tmp_path_factory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    with dashboard_of(store.root, tmp_path_factory.mktemp("log") / "log") as address:
        opened.open(address)
        yield opened
        opened.close()


def press(window: Browser, words: str) -> None:
    window.wait_for_text(words)
    next(button for button in window.all("[data-testid='stMain'] button") if words in button.text).click()
    window.settle()


def test_a_sentence_that_is_typed_is_answered_by_every_chosen_version(window):
    window.walk_to("Try it")
    (field,) = window.all("[data-testid='stMain'] textarea")
    field.send_keys("a warm and lovely film")
    press(window, "Ask")
    window.wait_for_text("The time is that of one call with this text alone")
    window.settle()
    # Tables are painted; what they say stands beside the picture for those who cannot see it.
    shown = window.driver.execute_script("return document.body.textContent")
    window.photograph(PICTURES / "try_it_answered.png")
    assert all(name in shown for name in ("baseline", "drop", "int8"))
    assert "good" in shown or "bad" in shown


def test_a_study_started_from_the_form_is_seen_to_finish(window, store):
    window.walk_to("New study")
    (choice, *_) = window.all("[data-testid='stMain'] input[role='combobox']")
    choice.send_keys("the study tiny", Keys.ENTER)
    window.settle()
    press(window, "Fill in the form")
    press(window, "Start the study")
    window.wait_for_text("Show all of it")
    window.photograph(PICTURES / "new_study_finished.png")
    assert [run.recipe.name for run in store.runs()[0] if run.study == "tiny"] == ["baseline"]
