"""Listing with filters, removing, clearing up, packing and importing: what is asked, printed, refused and done."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from large_store import make_store
from leftover_things import aged
from records import a_run
from said import Said, speaker
from sent_stores import BASELINE, CAMPAIGN, DROP, a_sent_store, contents, keep_record

from workbench.cache import Cache
from workbench.store import ARTIFACT, RECORD, RunStore


@pytest.fixture
def say(monkeypatch, capsys) -> Callable[..., Said]:
    return speaker(monkeypatch, capsys)


def complaint(said: Said, code: int) -> str:
    assert said.code == code, said
    assert "Traceback" not in said.out + said.err
    assert said.err.startswith("error: ")
    return said.err.removeprefix("error: ").strip()


def on_a_terminal(answer: str, *arguments: object) -> Said:
    """Run the command in a process of its own whose input is a real terminal, and answer its question."""
    ours, theirs = os.openpty()
    line = [sys.executable, "-m", "workbench.cli", *map(str, arguments)]
    os.write(ours, f"{answer}\n".encode())
    try:
        done = subprocess.run(line, stdin=theirs, capture_output=True, text=True, check=False)
    finally:
        os.close(ours)
        os.close(theirs)
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def store(tmp_path) -> RunStore:
    return a_sent_store(tmp_path / "store")


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Cache:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    return Cache.default()


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> RunStore:
    return make_store(tmp_path_factory.mktemp("many") / "store", studies=2, tasks=2, recipes=10, seeds=10)


def listed(say: Callable[..., Said], store: RunStore, *filters: object) -> list[dict[str, object]]:
    said = say("list", "runs", "--store", store.root, "--json", *filters)
    assert said.code == 0, said
    return json.loads(said.out)["rows"]


def test_runs_are_listed_by_what_they_are(say, many):
    assert len(listed(say, many)) == 400
    rows = listed(say, many, "--study", "study-1", "--task", "reviews", "--seed", 1, "--seed", 2, "--recipe", "int8")
    assert [(row["study"], row["task"], row["seed"], row["recipe"]) for row in rows] == [
        ("study-1", "reviews", 1, "int8"),
        ("study-1", "reviews", 2, "int8"),
    ]
    both = listed(say, many, "--recipe", "int8", "--recipe", "albert", "--status", "done")
    assert {row["recipe"] for row in both} == {"int8", "albert"}
    failed = listed(say, many, "--status", "failed")
    assert 0 < len(failed) < 10
    assert {row["status"] for row in failed} == {"failed"}


def test_a_long_listing_has_a_line_for_each_run_and_a_short_one_is_a_table(say, many):
    said = say("list", "runs", "--store", many.root)
    lines = said.out.splitlines()
    assert lines[0] == f"runs in {many.root}"
    assert lines[1].split() == ["run", "study", "status", "quality", "metric", "made"]
    assert [line.split()[0] for line in lines[2:]] == [row["run"] for row in listed(say, many)]
    short = say("list", "runs", "--store", many.root, "--study", "study-0", "--seed", 3)
    assert "with study study-0 and seed 3" in " ".join(short.out.split())
    assert "│" in short.out


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        (["--study", "study-2"], "no run with study 'study-2'; did you mean 'study-1'? known: study-0, study-1"),
        (["--task", "x"], "no run with task 'x'; known: reviews, tickets"),
        (["--seed", "77"], "no run with seed '77'; "),
    ],
)
def test_what_no_run_has_is_answered_with_what_is_there(filters, words, say, many):
    assert complaint(say("list", "runs", "--store", many.root, *filters), 2).startswith(words)


def test_a_status_that_there_is_not_is_refused(say, many):
    said = say("list", "runs", "--store", many.root, "--status", "odd")
    assert said.code == 2
    assert "done" in said.err and "failed" in said.err


@pytest.mark.parametrize("what", ["strategies", "tasks", "recipes", "studies", "plugins"])
def test_filters_are_for_runs_alone(what, say):
    assert f"workbench list {what}" in complaint(say("list", what, "--task", "sst2"), 2)


def test_wishes_that_no_run_meets_together_give_an_empty_list(say, many):
    said = say("list", "runs", "--store", many.root, "--recipe", "baseline", "--status", "failed")
    assert said.code == 0
    assert said.out.startswith("no runs in ")


def test_damaged_records_are_counted_and_named(say, store):
    (store.folder(DROP) / RECORD).write_text("")
    said = say("list", "runs", "--store", store.root)
    assert "(1 cannot be read, see below)" in " ".join(said.out.split())
    assert str(store.folder(DROP) / RECORD) in said.err.replace("\n", "")


def test_listing_runs_opens_neither_heavy_libraries_nor_scipy(store):
    code = (
        "import atexit, sys; from workbench.cli import main; sys.argv = ['workbench', *sys.argv[1:]];"
        "atexit.register(lambda: print([n for n in ('torch', 'scipy', 'pandas', 'pyarrow') if n in sys.modules]));"
        "main()"
    )
    line = [sys.executable, "-c", code, "list", "runs", "--store", str(store.root)]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout.endswith("[]\n")


def test_a_run_is_removed_when_told_so(say, store):
    said = say("remove", DROP, "--yes", "--store", store.root)
    assert said.code == 0, said
    assert DROP in said.out
    assert "campaigns that timed them stay" in said.out
    assert f"removed 1 run from {store.root}" in said.out.replace("\n", "")
    assert store.ids() == [BASELINE]
    assert (store.root / "campaigns" / CAMPAIGN).is_dir()


def test_nothing_is_removed_without_a_terminal_or_a_yes(say, store):
    assert "--yes" in complaint(say("remove", DROP, "--store", store.root), 2)
    assert store.ids() == [BASELINE, DROP]


@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, [BASELINE, DROP]), ("y", 0, [BASELINE])])
def test_a_person_is_asked(answer, code, left, store):
    said = on_a_terminal(answer, "remove", DROP, "--store", store.root)
    assert said.code == code, said
    assert "Remove 1 run?" in said.out
    assert store.ids() == left


def test_a_baseline_goes_only_with_its_variants(say, store):
    said = complaint(say("remove", BASELINE, "--yes", "--store", store.root), 2)
    assert said.startswith(f"{DROP} would have no baseline")
    assert store.ids() == [BASELINE, DROP]
    assert say("remove", BASELINE, "--with-variants", "--yes", "--store", store.root).code == 0
    assert store.ids() == []


def test_an_unknown_run_is_not_removed(say, store):
    assert "did you mean" in complaint(say("remove", "reviews-dorp-s0", "--yes", "--store", store.root), 2)


def test_a_claimed_run_stays_and_that_is_told(say, store):
    with store.claim(DROP):
        said = say("remove", DROP, "--yes", "--store", store.root)
    assert said.code == 1
    assert "another process is at work on it" in said.err
    assert DROP in store.ids()


def spare_base(cache: Cache) -> Path:
    made = cache.make("bases", "b" * 64, lambda folder: (folder / "weights").write_bytes(b"x" * 4000) and None)
    return aged(made, 30)


def test_clearing_up_only_shows_without_a_terminal_or_a_yes(say, store, cache):
    base = spare_base(cache)
    said = say("gc", "--store", store.root)
    assert said.code == 0, said
    assert "4.0 kB" in said.out
    assert "fine-tuned" in said.out
    assert "say --yes to remove what can go" in said.out
    assert base.is_dir()


def test_clearing_up_removes_what_can_go_when_told_so(say, store, cache):
    base = spare_base(cache)
    kept = contents(store.root / "runs")
    said = say("gc", "--yes", "--store", store.root)
    assert said.code == 0, said
    assert "removed 2 things, 4.0 kB" in said.out
    assert not base.exists()
    assert contents(store.root / "runs") == kept
    assert "nothing can go" in say("gc", "--yes", "--store", store.root).out


@pytest.mark.parametrize(("answer", "stays"), [("n", True), ("y", False)])
def test_a_person_is_asked_before_clearing_up(answer, stays, store, cache):
    base = spare_base(cache)
    said = on_a_terminal(answer, "gc", "--store", store.root)
    assert said.code == 0, said
    assert "Remove what can go?" in said.out
    assert base.exists() == stays


def test_how_long_something_must_be_unused_can_be_chosen(say, store, cache):
    base = aged(spare_base(cache), 3)
    assert "fine-tuned" in say("gc", "--yes", "--store", store.root).out
    assert base.is_dir()
    say("gc", "--yes", "--unused", 2, "--store", store.root)
    assert not base.exists()


def test_clearing_up_where_there_is_nothing(say, tmp_path, cache):
    said = say("gc", "--yes", "--store", tmp_path / "never")
    assert (said.code, said.err) == (0, "")
    assert "nothing can go" in said.out
    assert list(tmp_path.iterdir()) == []


def test_runs_are_packed_here_and_imported_there(say, store, tmp_path):
    parcel, other = tmp_path / "both.tar.gz", RunStore(tmp_path / "other")
    packed = say("pack", BASELINE, DROP[:-1], "-o", parcel, "--store", store.root)
    assert packed.code == 0, packed
    assert "packed 2 runs and 1 campaign into " in packed.out
    imported = say("import", parcel, "--store", other.root)
    assert imported.code == 0, imported
    assert "imported: 2 runs, 1 campaign, test rows of 1 task, 1 study" in imported.out
    assert other.ids() == store.ids()
    again = say("import", parcel, store.folder(DROP), "--store", other.root)
    assert again.code == 0, again
    assert "already there: 3 runs" in again.out
    assert "from both.tar.gz" in say("show", DROP, "--store", other.root).out


def test_a_light_parcel_is_told_to_lack_artifacts(say, store, tmp_path):
    parcel, other = tmp_path / "light.tgz", RunStore(tmp_path / "other")
    said = say("pack", DROP, "-o", parcel, "--without-artifacts", "--store", store.root)
    assert f"{DROP}: its baseline is not packed" in said.err
    say("import", parcel, "--store", other.root)
    assert not (other.folder(DROP) / ARTIFACT).exists()
    assert "without its artifact" in " ".join(say("show", DROP, "--store", other.root).out.replace("│", "").split())
    whole = say("import", store.folder(DROP), "--store", other.root)
    assert "there without its artifact: 1 run" in whole.out
    assert "remove the run and import it again" in whole.out


def test_an_existing_archive_is_not_overwritten(say, store, tmp_path):
    (tmp_path / "x.tar.gz").write_text("dear")
    said = complaint(say("pack", DROP, "-o", tmp_path / "x.tar.gz", "--store", store.root), 2)
    assert "there already" in said
    assert (tmp_path / "x.tar.gz").read_text() == "dear"


def test_a_damaged_run_is_not_packed(say, store, tmp_path):
    (store.folder(DROP) / RECORD).write_text("")
    complaint(say("pack", BASELINE, DROP, "-o", tmp_path / "x.tar.gz", "--store", store.root), 1)
    assert not (tmp_path / "x.tar.gz").exists()


def test_one_bad_run_is_told_and_the_others_come(say, store, tmp_path):
    (store.folder(DROP) / ARTIFACT / "config.json").write_text("altered")
    keep_record(store, a_run("reviews-other", "other"))
    (tmp_path / "bad.tar.gz").write_bytes(b"no archive")
    said = say("import", tmp_path / "bad.tar.gz", store.root, "--store", tmp_path / "other")
    assert said.code == 1
    assert "Traceback" not in said.err
    assert RunStore(tmp_path / "other").ids() == [BASELINE, "reviews-other"]
    assert "refused: 1 file, 1 run" in said.out
    told = said.err.replace("\n", "")
    assert f"refused: {tmp_path / 'bad.tar.gz'} cannot be unpacked" in told
    assert "artifact/config.json is not what was saved" in told


def test_a_file_that_is_not_there_stops_importing_before_it_begins(say, store, tmp_path):
    complaint(say("import", store.root, tmp_path / "nowhere", "--store", tmp_path / "other"), 2)
    assert not (tmp_path / "other").exists()


def test_a_store_that_cannot_be_written_is_told(say, store, tmp_path):
    (tmp_path / "file").touch()
    said = complaint(say("import", store.root, "--store", tmp_path / "file" / "other"), 1)
    assert "choose another with --store" in said
