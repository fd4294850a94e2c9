"""What a page's address names is shown again after a reload, and an address can do nothing but show a store."""

from __future__ import annotations

from pathlib import Path

import pytest
from records import keep_study
from streamlit.testing.v1 import AppTest

from workbench.store import RunStore

APP = str(Path(__file__).parents[1] / "app.py")
WAIT = 120


@pytest.fixture
def default(tmp_path, monkeypatch) -> RunStore:
    """The store of the command line."""
    monkeypatch.setenv("WORKBENCH_STORE", str(tmp_path / "default"))
    return kept(tmp_path / "default", "usual")


@pytest.fixture
def other(tmp_path) -> RunStore:
    """A store that has to be named."""
    return kept(tmp_path / "other", "old", "new")


def kept(root: Path, *studies: str) -> RunStore:
    store = RunStore(root)
    store.prepare()
    for number, study in enumerate(studies):
        keep_study(store, {"drop": (4, 20)}, study=study, created=f"2026-0{number + 1}-01T00:00:00.000+00:00")
    return store


def opened(**address: object) -> AppTest:
    """The dashboard as somebody sees it who comes by an address."""
    page = AppTest.from_file(APP, default_timeout=WAIT)
    page.query_params.update({name: str(value) for name, value in address.items()})
    return drawn(page)


def drawn(page: AppTest) -> AppTest:
    page.run()
    assert not page.exception, page.exception
    return page


def reloaded(page: AppTest) -> AppTest:
    """The same address in a new session, which is what reloading is."""
    return opened(**page.query_params)


def study_of(page: AppTest) -> str:
    return str(page.sidebar.selectbox(key="study").value)


def test_what_is_shown_anyway_is_not_in_the_address(default):
    page = opened()
    assert study_of(page) == "usual"
    assert page.query_params == {}


def test_a_store_that_is_typed_and_a_study_that_is_chosen_are_still_there_after_a_reload(default, other):
    page = opened()
    page.sidebar.text_input(key="store folder").set_value(str(other.root))
    assert study_of(drawn(page)) == "new"
    page.sidebar.selectbox(key="study").set_value("old")
    drawn(page)
    assert page.query_params == {"store": str(other.root), "study": "old"}
    again = reloaded(page)
    assert again.sidebar.text_input(key="store folder").value == str(other.root)
    assert study_of(again) == "old"


def test_what_was_chosen_can_be_taken_back(default, other):
    page = opened(store=other.root, study="old")
    page.sidebar.selectbox(key="study").set_value("new")
    assert drawn(page).query_params == {"store": str(other.root)}
    page.sidebar.text_input(key="store folder").set_value("")
    assert drawn(page).query_params == {}
    assert study_of(page) == "usual"
    assert page.sidebar.text_input(key="store folder").value == str(default.root)


def test_a_study_that_the_store_does_not_hold_is_forgotten(default, other):
    page = opened(store=other.root, study="usual")
    assert study_of(page) == "new"
    assert page.query_params == {"store": str(other.root)}


def test_the_rest_of_an_address_is_left_alone(default, other):
    page = opened(store=other.root, mark="1")
    assert page.query_params == {"store": str(other.root), "mark": "1"}


def faults(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "file").write_text("runs")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("private")
    return {
        str(tmp_path / "missing"): "there is no such folder",
        str(tmp_path / "file"): "it is a file",
        str(tmp_path / "folder"): "there is no folder of runs in it",
        str(tmp_path / "folder" / "notes.txt" / "deeper"): "there is no such folder",
        "~nobody-has-this-name/runs": "it would be in the home of nobody",
        "nul\0byte": "there is no such folder",
        "x" * 5000: "cannot be read (File name too long)",
        "": "",
    }


def test_a_folder_that_is_no_store_is_told_and_nothing_is_done_with_it(default, tmp_path):
    for folder, why in faults(tmp_path).items():
        before = sorted(tmp_path.rglob("*"))
        page = opened(store=folder)
        assert [why in told.value.replace("\\", "") for told in page.error] == [True] * bool(why), folder
        assert bool(page.dataframe) == (not why)
        assert [path for path in sorted(tmp_path.rglob("*")) if path not in before and "default" not in str(path)] == []


def test_an_address_that_would_be_markup_shows_as_text(default):
    (told,) = opened(store="<img src=x> [link](http://example.org) :red[x]").error
    for markup in ("<img", "[link](", " :red["):
        assert markup not in told.value


def test_a_new_study_is_not_offered_for_a_folder_that_is_no_store(default, tmp_path):
    page = AppTest.from_string("from reports.pages.new_study import show\nshow()", default_timeout=WAIT)
    page.query_params["store"] = str(tmp_path / "missing")
    assert "is no store" in drawn(page).error[0].value
    assert not page.button
