"""Runs are kept whole, found again, never overwritten, and one damaged record hides no other."""

import json
import math
import re
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError
from records import a_run as a_record
from records import observed

from workbench.errors import StoreError, UnknownNameError
from workbench.measurement import Measurement
from workbench.run import SCHEMA, Run
from workbench.store import RECORD, RunStore, default_store


def a_run(run_id: str, **changes: Any) -> Run:
    return a_record(run_id, "drop", **{"seed": 3, "measurements": observed(accuracy=0.8125), **changes})


def keep(store: RunStore, run: Run) -> None:
    with store.writing(run.id) as folder:
        store.keep(run, folder)


@pytest.fixture
def store(tmp_path):
    made = RunStore(tmp_path / "store")
    made.prepare()
    return made


def test_a_kept_run_is_read_back_as_it_was(store):
    run = a_run("reviews-drop-s3-abc")
    keep(store, run)
    again = store.read(run.id)
    assert again.model_dump() == run.model_dump()
    assert again.measured("accuracy").value == 0.8125
    assert again.measured("beauty") is None
    assert again.recipe.steps[0].options == {"keep": [0]}


def test_a_failed_run_is_a_run(store):
    run = a_run("x", failure={"stage": "apply", "message": "no [red] room"}, measurements=[])
    keep(store, run)
    assert store.read("x").status == "failed"
    assert store.read("x").failure == run.failure


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_a_measurement_accepts_can_be_read_back(value, store):
    try:
        odd = Measurement.single("pearson", "score", "higher", value)
    except ValidationError:
        return
    run = a_run("x", measurements=[odd])
    keep(store, run)
    assert repr(store.read("x").measurements) == repr(run.measurements)


def test_a_run_that_was_not_finished_is_not_there(store):
    assert store.finished("x") is None
    with pytest.raises(KeyboardInterrupt), store.writing("x") as folder:
        (folder / "artifact").mkdir()
        raise KeyboardInterrupt
    assert store.finished("x") is None
    assert store.ids() == []
    keep(store, a_run("x"))
    assert store.finished("x").id == "x"


def test_runs_come_oldest_first(store):
    keep(store, a_run("a", created="2026-01-02T00:00:00.000+00:00"))
    keep(store, a_run("c", created="2026-01-01T00:00:00.000+00:00"))
    keep(store, a_run("b", created="2026-01-01T00:00:00.000+00:00"))
    runs, damaged = store.runs()
    assert [run.id for run in runs] == ["b", "c", "a"]
    assert damaged == []
    assert store.ids() == ["a", "b", "c"]


def test_an_empty_or_absent_store_has_no_runs(tmp_path):
    store = RunStore(tmp_path / "never")
    assert store.runs() == ([], [])
    assert not (tmp_path / "never").exists()


def damage(store: RunStore, run_id: str, text: str) -> str:
    keep(store, a_run(run_id))
    keep(store, a_run("whole"))
    (store.folder(run_id) / RECORD).write_text(text, encoding="utf-8")
    runs, damaged = store.runs()
    assert [run.id for run in runs] == ["whole"]
    (said,) = damaged
    assert said.startswith(f"run {run_id}: {store.folder(run_id) / RECORD} ")
    return said


@pytest.mark.parametrize(
    "text",
    ["", "not JSON at all", "[]", a_run("x").model_dump_json(indent=1)[:200], a_run("x").model_dump_json()[:-30]],
    ids=["empty", "other text", "a list", "cut early", "cut late"],
)
def test_a_damaged_record_is_named_and_hides_no_other(text, store):
    said = damage(store, "x", text)
    assert "is damaged" in said
    assert "newer" not in said


def test_a_record_with_an_unknown_or_missing_fact_is_damaged_and_the_fact_is_named(store):
    facts = json.loads(a_run("x").model_dump_json())
    assert re.search("is damaged .*mood", damage(store, "x", json.dumps({**facts, "mood": "good"})))
    del facts["task"]
    (store.folder("x") / RECORD).write_text(json.dumps(facts))
    with pytest.raises(StoreError, match=r"is damaged .*task"):
        store.read("x")


def test_a_folder_without_a_record_is_named(store):
    store.folder("hollow").mkdir()
    (said,) = store.runs()[1]
    assert said.startswith("run hollow: ")
    assert "cannot be read" in said


def test_a_record_that_is_no_text_is_named(store):
    keep(store, a_run("x"))
    (store.folder("x") / RECORD).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoreError, match=r"run x: .* cannot be read"):
        store.read("x")


@pytest.mark.parametrize("number", [SCHEMA + 1, 10 * SCHEMA, 100])
@pytest.mark.parametrize("indent", [1, None])
def test_a_record_of_a_newer_schema_is_refused_and_said_to_be_newer(number, indent, store):
    facts = json.loads(a_run("x").model_dump_json())
    said = damage(store, "x", json.dumps({**facts, "schema_number": number, "invented_later": 1}, indent=indent))
    assert "newer workbench" in said


def test_a_newer_record_is_refused_even_when_its_keys_look_familiar(store):
    facts = json.loads(a_run("x").model_dump_json())
    assert "newer workbench" in damage(store, "x", json.dumps({**facts, "schema_number": SCHEMA + 1}))


def test_a_run_is_found_by_an_unambiguous_beginning(store):
    keep(store, a_run("sst2-drop-s0-aaaa"))
    keep(store, a_run("sst2-drop-s0-abbb"))
    assert store.find("sst2-drop-s0-ab").id == "sst2-drop-s0-abbb"
    assert store.find("sst2-drop-s0-aaaa").id == "sst2-drop-s0-aaaa"


def test_a_whole_id_is_found_although_another_begins_with_it(store):
    keep(store, a_run("sst2"))
    keep(store, a_run("sst2-failed"))
    assert store.find("sst2").id == "sst2"


def test_an_ambiguous_beginning_lists_what_it_could_mean(store):
    keep(store, a_run("sst2-a"))
    keep(store, a_run("sst2-b"))
    keep(store, a_run("rte-a"))
    with pytest.raises(UnknownNameError, match=r"no single run in .* 'sst2'; .*known: sst2-a, sst2-b$"):
        store.find("sst2")


def test_an_unknown_run_suggests_the_nearest(store):
    keep(store, a_run("sst2-drop-s0"))
    with pytest.raises(UnknownNameError, match=r"no run in .* 'sst2-dorp-s0'; did you mean 'sst2-drop-s0'"):
        store.find("sst2-dorp-s0")


@pytest.mark.parametrize("name", ["../store", "/", "."])
def test_a_path_is_no_run(name, store):
    keep(store, a_run("x"))
    with pytest.raises(UnknownNameError):
        store.find(name)


def test_a_kept_run_is_never_overwritten(store):
    keep(store, a_run("x", seed=1))
    keep(store, a_run("x", seed=2))
    assert store.read("x").seed == 1


def test_a_store_below_a_regular_file_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "file").touch()
    store = RunStore(tmp_path / "file" / "store")
    with pytest.raises(StoreError, match=r"cannot be written .*; choose another with --store"):
        store.prepare()
    with pytest.raises(StoreError, match="cannot be read"):
        store.ids()


def test_preparing_clears_away_what_killed_writers_left(store):
    dead = store.root / "partial" / "x.1.dead"
    dead.mkdir()
    store.prepare()
    assert not dead.exists()
    assert list((store.root / "partial").iterdir()) == []


KEEPER = """
import sys
from pathlib import Path
from workbench.run import Run
from workbench.store import RunStore
store = RunStore(Path(sys.argv[1]))
run = Run.model_validate_json(sys.argv[2])
sys.stdin.readline()
store.prepare()
for number in range(6):
    one = run.model_copy(update={"id": f"{sys.argv[3]}-{number}", "seed": number})
    for this in (one, run):
        with store.writing(this.id) as folder:
            (folder / "artifact").mkdir()
            (folder / "artifact" / "weights").write_bytes(b"w" * 10_000)
            store.keep(this, folder)
"""


def test_several_processes_write_at_once_and_every_run_is_there_and_whole(tmp_path):
    command = [sys.executable, "-c", KEEPER, str(tmp_path / "store"), a_run("shared").model_dump_json()]
    children = [subprocess.Popen([*command, f"child{n}"], stdin=subprocess.PIPE, text=True) for n in range(4)]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0, 0, 0, 0]
    store = RunStore(tmp_path / "store")
    runs, damaged = store.runs()
    assert damaged == []
    assert sorted(run.id for run in runs) == sorted([*(f"child{n}-{k}" for n in range(4) for k in range(6)), "shared"])
    assert all((store.folder(run.id) / "artifact" / "weights").stat().st_size == 10_000 for run in runs)
    assert list((store.root / "partial").iterdir()) == []


CLAIMANT = """
import sys
from pathlib import Path
from workbench.store import RunStore
with RunStore(Path(sys.argv[1])).claim("x"):
    print("mine", flush=True)
    sys.stdin.readline()
"""


def test_a_claim_excludes_others_until_its_holder_ends_however_it_ends(store):
    command = [sys.executable, "-c", CLAIMANT, str(store.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "mine\n"
        with pytest.raises(TimeoutError):
            store.claim("x").acquire(timeout=0.1)
        with store.claim("y").acquire(timeout=0.1):
            pass
        child.kill()
        child.wait()
    freed = store.claim("x")
    with freed.acquire(timeout=5):
        assert freed.is_locked


def test_the_default_store_is_the_variable_s_or_a_folder_here(monkeypatch):
    assert str(default_store()) == "runs"
    monkeypatch.setenv("WORKBENCH_STORE", "~/kept")
    assert default_store().is_absolute()
    assert default_store().name == "kept"
