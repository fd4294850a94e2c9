"""Heads tell what records say, only what changed is read again, and an index in any state never makes them wrong."""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from large_store import make_store
from records import a_run
from sent_stores import empty_store, keep_record

from workbench.errors import StoreError
from workbench.run import SCHEMA
from workbench.run_index import INDEX, RunHead, RunIndex
from workbench.store import RECORD, RunStore


def heads_of(store: RunStore) -> list[RunHead]:
    heads, damaged = RunIndex(store).heads()
    assert damaged == []
    return heads


def swap_behind_its_back(store: RunStore, run_id: str) -> None:
    """Make a record worthless without a trace: whoever reads it again will notice, nobody else can."""
    path = store.folder(run_id) / RECORD
    was = path.stat()
    path.write_bytes(b"x" * was.st_size)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


@pytest.fixture
def store(tmp_path):
    made = empty_store(tmp_path / "store")
    for number, name in enumerate(("b", "c", "a")):
        keep_record(made, a_run(name, created=f"2026-01-0{number + 1}T00:00:00.000+00:00"))
    return made


def test_heads_say_what_the_records_say_oldest_first(tmp_path):
    store = make_store(tmp_path / "store", studies=2, tasks=5, recipes=10, seeds=1)
    runs, _ = store.runs()
    for heads in (heads_of(store), heads_of(store)):
        assert [head.id for head in heads] == [run.id for run in runs]
        for head, run in zip(heads, runs, strict=True):
            assert (head.study, head.task, head.recipe, head.seed) == (run.study, run.task, run.recipe.name, run.seed)
            assert (head.status, head.created, head.is_baseline) == (run.status, run.created, run.is_baseline)
            assert head.failure == (run.failure.message if run.failure else None)
            assert head.data_fingerprint == run.data.fingerprint
            assert head.machine == run.environment.machine_key()
            for fact, metric in (("quality", "accuracy"), ("agreement",) * 2, ("disk_bytes", "disk")):
                measured = run.measured(metric)
                assert getattr(head, fact) == (measured.value if measured else None)
    assert {head.status for head in heads} == {"done", "failed"}
    assert {head.control_of for head in heads} == {"", "distilbert"}


def test_the_headline_is_averaged_over_test_parts_and_absent_without_one(store):
    parts = [
        {"metric": f"accuracy/{part}", "unit": "score", "better": "higher", "values": [value]}
        for part, value in (("matched", 0.5), ("mismatched", 0.75))
    ]
    keep_record(store, a_run("mnli", measurements=parts, created="2027"))
    keep_record(store, a_run("nothing", metrics=[], created="2028"))
    heads = heads_of(store)
    assert (heads[-2].metric, heads[-2].quality) == ("accuracy", 0.625)
    assert (heads[-1].metric, heads[-1].quality, heads[-1].disk_bytes) == (None, None, None)


def test_what_was_read_before_is_not_read_again(store):
    before = heads_of(store)
    assert [head.id for head in before] == ["b", "c", "a"]
    for run_id in store.ids():
        swap_behind_its_back(store, run_id)
    assert heads_of(store) == before


def test_what_is_new_changed_or_gone_is_noticed(store):
    before = {head.id: head for head in heads_of(store)}
    swap_behind_its_back(store, "b")
    keep_record(store, a_run("new", seed=7))
    (store.folder("c") / RECORD).write_text(a_run("c", study="renamed").model_dump_json())
    (store.folder("a") / RECORD).unlink()
    store.folder("a").rmdir()
    after = {head.id: head for head in heads_of(store)}
    assert set(after) == {"b", "c", "new"}
    assert after["b"] == before["b"]
    assert (after["c"].study, after["new"].seed) == ("renamed", 7)
    assert set(json.loads((store.root / INDEX).read_text())["runs"]) == {"b", "c", "new"}


@pytest.mark.parametrize("is_listed_before", [False, True])
def test_what_cannot_be_read_is_told_in_the_words_of_the_store_and_hides_no_other(is_listed_before, store):
    if is_listed_before:
        heads_of(store)
    facts = json.loads(a_run("newer").model_dump_json())
    texts = {
        "cut": a_run("cut").model_dump_json()[:200],
        "empty": "",
        "unknown": json.dumps({**facts, "mood": "good"}),
        "newer": json.dumps({**facts, "schema_number": SCHEMA + 1, "mood": "good"}),
    }
    for name, text in texts.items():
        store.folder(name).mkdir()
        (store.folder(name) / RECORD).write_text(text)
    store.folder("hollow").mkdir()
    store.folder("no-text").mkdir()
    (store.folder("no-text") / RECORD).write_bytes(b"\xff\xfe\x00")
    for _ in range(2):
        heads, damaged = RunIndex(store).heads()
        assert [head.id for head in heads] == ["b", "c", "a"]
        said = {}
        for name in (*texts, "hollow", "no-text"):
            with pytest.raises(StoreError) as error:
                store.read(name)
            said[name] = str(error.value)
        assert sorted(damaged) == sorted(said.values())
    assert "newer workbench" in said["newer"]
    assert re.search("damaged .*mood", said["unknown"])


def test_a_mended_record_is_listed_again(store):
    keep_record(store, a_run("x"))
    path = store.folder("x") / RECORD
    whole = path.read_text()
    path.write_text(whole[:100])
    assert len(RunIndex(store).heads()[1]) == 1
    path.write_text(whole)
    assert "x" in {head.id for head in heads_of(store)}


def lying(store: RunStore, **changes: object) -> str:
    """The index with heads that nobody should believe."""
    kept = json.loads((store.root / INDEX).read_text())
    for entry in kept["runs"].values():
        entry["head"]["study"] = "a lie"
    return json.dumps({**kept, **changes})


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda store: "",
        lambda store: "not JSON",
        lambda store: "[]",
        lambda store: (store.root / INDEX).read_text()[:-100],
        lambda store: lying(store, schemas=[999, SCHEMA]),
        lambda store: lying(store, schemas=[1, SCHEMA + 1]),
        lambda store: lying(store, later="a key from the future"),
    ],
    ids=["empty", "text", "list", "cut", "other schema", "other records", "unknown key"],
)
def test_an_index_that_is_damaged_or_of_another_schema_is_made_anew_without_a_word(spoilt, store):
    before = heads_of(store)
    (store.root / INDEX).write_text(spoilt(store))
    assert heads_of(store) == before
    (store.root / INDEX).write_text(lying(store))
    assert {head.study for head in heads_of(store)} == {"a lie"}, "the index was not made anew"


def test_an_absent_store_has_no_heads_and_stays_absent(tmp_path):
    assert RunIndex(RunStore(tmp_path / "never")).heads() == ([], [])
    assert not (tmp_path / "never").exists()


def test_a_store_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be read"):
        RunIndex(RunStore(tmp_path / "file" / "store")).heads()


def test_an_index_that_can_be_neither_read_nor_written_changes_nothing(store):
    before = heads_of(store)
    (store.root / INDEX).unlink()
    (store.root / INDEX).mkdir()
    assert heads_of(store) == before
    assert [path.name for path in store.root.glob(".*")] == []


LISTER = """
import sys
from pathlib import Path
from workbench.run_index import RunIndex
from workbench.store import RunStore
for _ in range(int(sys.argv[2])):
    heads, damaged = RunIndex(RunStore(Path(sys.argv[1]))).heads()
    assert not damaged, damaged
print(*(head.id for head in heads))
"""


def test_a_store_that_cannot_be_written_is_listed_all_the_same(store):
    def forbid_writing() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    command = [sys.executable, "-c", LISTER, str(store.root), "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, preexec_fn=forbid_writing)
    assert done.stdout.split() == ["b", "c", "a"]
    assert not (store.root / INDEX).exists()
    assert [path.name for path in store.root.glob(".*")] == []


CHANGER = """
import sys
from pathlib import Path
from workbench.files import discard_folder
from workbench.run import Run
from workbench.store import RunStore
store = RunStore(Path(sys.argv[1]))
run = Run.model_validate_json(sys.argv[2])
for number in range(30):
    one = run.model_copy(update={"id": f"{sys.argv[3]}-{number}"})
    with store.writing(one.id) as folder:
        store.keep(one, folder)
    if number % 3 == 0:
        discard_folder(store.folder(one.id), store.partials)
"""


def test_runs_come_and_go_while_several_processes_list_and_none_sees_anything_damaged(store):
    record = a_run("x", created="2027").model_dump_json()
    changers = [
        subprocess.Popen([sys.executable, "-c", CHANGER, str(store.root), record, f"child{number}"])
        for number in range(2)
    ]
    listers = [subprocess.Popen([sys.executable, "-c", LISTER, str(store.root), "40"]) for _ in range(2)]
    assert [child.wait(timeout=120) for child in (*changers, *listers)] == [0, 0, 0, 0]
    expected = {"a", "b", "c", *(f"child{n}-{k}" for n in range(2) for k in range(30) if k % 3)}
    assert {head.id for head in heads_of(store)} == expected
    assert set(json.loads((store.root / INDEX).read_text())["runs"]) == expected
    assert [path.name for path in store.root.glob(".*")] == []


def test_only_the_chosen_runs_are_read_whole(store):
    swap_behind_its_back(store, "c")
    runs, damaged = store.runs_of(["a", "b", "a"])
    assert ([run.id for run in runs], damaged) == (["b", "a"], [])
    runs, damaged = store.runs_of(["c", "gone"])
    assert (runs, len(damaged)) == ([], 2)


def test_a_head_cannot_be_changed(store):
    with pytest.raises(ValueError, match="frozen"):
        heads_of(store)[0].study = "other"


def test_an_index_is_found_where_the_store_was_moved(store, tmp_path):
    before = heads_of(store)
    moved = RunStore(Path(store.root).rename(tmp_path / "moved"))
    for run_id in moved.ids():
        swap_behind_its_back(moved, run_id)
    assert heads_of(moved) == before
