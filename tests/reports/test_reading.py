"""A store is read once for all who look, again as soon as it changed, and ahead of whoever looks first."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from records import keep_run, keep_study

from reports.pages.reading import are_listed, heads_of, is_read, newest_first, read_ahead, study_of
from workbench.errors import StoreError
from workbench.store import RECORD, RunStore


@pytest.fixture
def store(tmp_path) -> RunStore:
    made = RunStore(tmp_path / "store")
    made.prepare()
    keep_study(made, {"drop": (4, 20)}, study="old")
    keep_study(made, {"graph": (0, 0)}, study="new", created="2026-03-01T00:00:00.000+00:00")
    return made


def test_the_study_that_was_run_last_comes_first(store):
    assert newest_first(heads_of(store)[0]) == ["new", "old"]


def test_nothing_is_read_twice(store):
    assert not are_listed(store) and not is_read(store, ("new",))
    assert heads_of(store) is heads_of(store)
    assert study_of(store, ("new",)) is study_of(store, ("new",))
    assert are_listed(store) and is_read(store, ("new",))
    assert not is_read(store, ("old",))


def test_a_run_that_came_or_went_is_noticed_at_once(store):
    before, _ = heads_of(store)
    study_of(store, ("new",))
    graph = next(store.read(head.id) for head in before if head.recipe == "graph")
    late = graph.model_copy(update={"id": "late", "recipe": graph.recipe.model_copy(update={"name": "late"})})
    keep_run(store, late)
    assert not are_listed(store) and not is_read(store, ("new",))
    assert {head.id for head in heads_of(store)[0]} - {head.id for head in before} == {"late"}
    assert "late" in [line.recipe for line in study_of(store, ("new",))[1].lines]


def test_what_is_seen_first_is_read_ahead(store):
    read_ahead(store)
    assert are_listed(store)
    assert is_read(store, ("new",)) and not is_read(store, ("old",))


def test_reading_ahead_leaves_it_to_whoever_looks_to_be_told_of_faults(tmp_path):
    read_ahead(RunStore(tmp_path / "missing"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "runs").write_text("not a folder")
    broken = RunStore(tmp_path / "broken")
    read_ahead(broken)
    with pytest.raises(StoreError, match="cannot be read"):
        heads_of(broken)


def test_what_was_read_ahead_names_damaged_records(store):
    damaged = heads_of(store)[0][0].id
    (store.folder(damaged) / RECORD).write_text("{")
    again = RunStore(store.root.rename(store.root.with_name("moved")))
    read_ahead(again)
    assert [damaged in told for told in heads_of(again)[1]] == [True]


# What takes long to load, and is of no use to whoever sees a first table.
LATER = ("altair", "vl_convert", "scipy.stats", "workbench.judging")
APP = Path(__file__).parents[2] / "app.py"


def told_by(code: str) -> list[str]:
    """The names that a process of its own prints as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


def test_the_first_view_is_loaded_without_what_it_does_not_need():
    loaded = told_by("import json, sys, reports.pages.overview; print(json.dumps(list(sys.modules)))")
    assert "reports.pages.overview" in loaded
    assert set(LATER) & set(loaded) == set()


def test_the_server_loads_every_page_before_it_is_opened():
    imports = [node for node in ast.walk(ast.parse(APP.read_text())) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports if node.module == "reports.pages" for alias in node.names}
    pages = {f"reports.pages.{name}" for name in names}
    assert len(pages) == 7
    loaded = "[module.__name__ for module in (*s.FIRST, *s.load_later())]"
    assert pages <= set(told_by(f"import json, reports.pages.serving as s; print(json.dumps({loaded}))"))
