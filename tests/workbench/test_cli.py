"""The command does what it says, tells what went wrong in a sentence, and writes nothing when it was misunderstood."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from said import Said, command, only_complaint, speaker
from tiny import write_base, write_task_files

from workbench import __version__
from workbench.listing import LISTINGS
from workbench.measurement import Measurement
from workbench.store import RunStore

HEAVY = ("torch", "transformers", "datasets", "onnxruntime", "sklearn")


@pytest.fixture
def here(monkeypatch, capsys) -> Callable[..., Said]:
    """Runs the command in this process, which has the heavy libraries open already."""
    return speaker(monkeypatch, capsys)


class Place(NamedTuple):
    """A folder with a tiny base, a tiny task, a study over them, and a store that is not there yet."""

    root: Path
    study: Path
    store: Path

    def write(self, **changes: object) -> None:
        task = {"name": "reviews", "train": "train.csv", "test": "test.csv", "text": "text", "label": "label"}
        plain: dict[str, object] = {
            "name": "tiny",
            "base": "./base",
            "tasks": [task],
            "training": {"epochs": 1, "learning_rate": "1e-3", "batch_size": 16, "evaluations": 1},
            "recipes": [dropping("drop", 0, 2)],
            "max_length": 32,
            "measuring": {"processes": 2, "most_processes": 2, "rounds": 2, "texts": 4, "seconds": 0.1},
        }
        self.study.write_text(yaml.safe_dump({**plain, **changes}, sort_keys=False))


def dropping(name: str, *keep: int) -> dict[str, object]:
    return {"name": name, "steps": [{"use": "layer-drop", "keep": list(keep)}]}


def make_place(root: Path) -> Place:
    write_base("bert", root / "base")
    write_task_files(root)
    place = Place(root, root / "study.yaml", root / "store")
    place.write()
    return place


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


def test_help_tells_every_command():
    said = command("--help")
    assert said.code == 0
    for word in ("run", "list", "show", "--debug", "--version"):
        assert word in said.out


def test_without_a_command_help_is_shown():
    assert "Usage" in "".join(command()[1:])


def test_the_version_is_printed():
    said = command("--version")
    assert (said.code, said.out.strip()) == (0, __version__), said


@pytest.mark.parametrize(
    "arguments", [["--help"], *(["list", what] for what in ("runs", "tasks", "recipes", "studies"))]
)
def test_what_only_looks_starts_without_the_heavy_libraries(arguments, tmp_path):
    code = (
        "import atexit, sys; from workbench.cli import main; sys.argv = ['workbench', *sys.argv[1:]];"
        f"atexit.register(lambda: print('heavy:', [name for name in {HEAVY} if name in sys.modules])); main()"
    )
    line = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.endswith("heavy: []\n")


@pytest.mark.parametrize("what", LISTINGS)
def test_every_listing_is_a_table_and_json(what, tmp_path):
    table = command("list", what, cwd=tmp_path)
    assert table.code == 0, table.err
    said = command("list", what, "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    told = json.loads(said.out)
    assert set(told) == {"rows", "remarks"}
    if what == "runs":
        assert told["rows"] == []
        assert "no runs" in table.out
    else:
        assert told["rows"]
        assert what in table.out
        name = next(iter(told["rows"][0].values()))
        assert str(name)[:4] in table.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("what", "name"),
    [("tasks", "stsb"), ("recipes", "int8"), ("studies", "demo"), ("strategies", "layer-drop")],
)
def test_listings_hold_what_comes_with_the_workbench(what, name):
    rows = json.loads(command("list", what, "--json").out)["rows"]
    assert name in {row["name"] for row in rows}


def test_listing_something_unknown_is_a_usage_error():
    said = command("list", "wishes")
    assert said.code == 2
    assert "wishes" in said.err
    assert "strategies" in said.err
    assert "Traceback" not in said.err


def test_an_unknown_run_is_a_usage_error_with_a_suggestion(tmp_path):
    (tmp_path / "runs" / "runs" / "reviews-drop-s0-1234567890").mkdir(parents=True)
    said = only_complaint(command("show", "reviews-dorp-s0-1234567890", cwd=tmp_path), 2)
    assert said.startswith("no run in runs 'reviews-dorp-s0-1234567890'; did you mean 'reviews-drop-s0-1234567890'?")


def test_a_store_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "file").touch()
    said = only_complaint(command("list", "runs", "--store", tmp_path / "file" / "store"), 1)
    assert said == f"store {tmp_path / 'file' / 'store'} cannot be read (Not a directory)"


def test_a_missing_study_file_is_told(tmp_path):
    said = only_complaint(command("run", "nowhere.yaml", cwd=tmp_path), 2)
    assert said == "nowhere.yaml: no such file"
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_traceback_as_well(tmp_path):
    said = command("--debug", "run", "nowhere.yaml", cwd=tmp_path)
    assert said.code == 2
    assert "Traceback (most recent call last)" in said.err
    assert said.err.rstrip().endswith("error: nowhere.yaml: no such file")


def test_an_unknown_key_is_told_before_anything_heavy_is_opened(place):
    place.write(seed=3)
    said = only_complaint(command("run", place.study, "--store", place.store), 2)
    assert said.startswith(f"{place.study}:")
    assert "unknown key 'seed'; did you mean 'seeds'?" in said
    assert not place.store.exists()


USAGE_ERRORS = {
    "an unknown strategy": (
        {"recipes": [{"name": "r", "steps": ["layer-dorp"]}]},
        [],
        "step 1: no strategy 'layer-dorp'; did you mean 'layer-drop'?",
    ),
    "an unknown option": (
        {"recipes": [{"name": "r", "steps": [{"use": "layer-drop", "keeps": [0]}]}]},
        [],
        "unknown option 'keeps'; did you mean 'keep'?",
    ),
    "an option with a wrong value": (
        {"recipes": [{"name": "r", "steps": [{"use": "layer-drop", "keep": ["top"]}]}]},
        [],
        "keep.0: Input should be a valid integer",
    ),
    "a layer that is not there": ({"recipes": [dropping("r", 0, 9)]}, [], "keep: layer 9 does not exist"),
    "a senseless order": (
        {"recipes": [{"name": "r", "steps": ["int8-dynamic", {"use": "layer-drop", "keep": [0]}]}]},
        [],
        "step 2: layer-drop: cannot work on an encoder that is already turned into a runtime graph",
    ),
    "an unknown task": ({"tasks": ["sst22"]}, [], "no task 'sst22'; did you mean 'sst2'?"),
    "an unknown recipe": ({"recipes": ["int88"]}, [], "no recipe 'int88'; did you mean 'int8'?"),
    "only what is not there": ({}, ["--only", "dorp"], "study 'tiny': no recipe 'dorp'; did you mean 'drop'?"),
    "a task that is not there": ({}, ["--task", "reviws"], "study 'tiny': no task 'reviws'; did you mean 'reviews'?"),
    "a seed below zero": ({}, ["--seed", "-1"], "seeds: a seed is a whole number from 0"),
    "a seed twice": ({}, ["--seed", "1", "--seed", "1"], "seeds: listed twice: 1"),
    "a metric for another kind": (
        {
            "tasks": [
                {
                    "name": "own",
                    "kind": "regression",
                    "train": "train.csv",
                    "test": "test.csv",
                    "text": "text",
                    "label": "label",
                    "metrics": ["accuracy"],
                }
            ]
        },
        [],
        "accuracy",
    ),
}


@pytest.mark.parametrize("fault", USAGE_ERRORS)
def test_a_request_that_cannot_be_served_costs_nothing(fault, place, here):
    changes, more, words = USAGE_ERRORS[fault]
    place.write(**changes)
    said = only_complaint(here("run", place.study, "--store", place.store, *more), 2)
    assert words in said
    assert not place.store.exists()


@pytest.mark.parametrize("fault", [name for name, (changes, *_) in USAGE_ERRORS.items() if "recipes" in changes])
def test_what_is_wrong_in_a_recipe_is_told_with_file_and_line(fault, place, here):
    place.write(**USAGE_ERRORS[fault][0])
    said = only_complaint(here("run", place.study, "--store", place.store), 2)
    number = said.removeprefix(f"{place.study}:").partition(":")[0]
    line = place.study.read_text().splitlines()[int(number) - 1]
    assert any(word in line for word in ("layer-d", "keep", "int88", "int8-dynamic", "- 9", "- top")), line


def remove(*names: str) -> Callable[[Path], None]:
    return lambda base: [path.unlink() for path in base.iterdir() if path.name in names] and None


BROKEN_BASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "without weights": (remove("model.safetensors"), "holds no weights"),
    "without a configuration": (remove("config.json"), "holds no config.json"),
    "without a tokenizer": (
        remove("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"),
        "its tokenizer cannot be opened",
    ),
    "of another architecture": (
        lambda base: (base / "config.json").write_text('{"model_type": "gpt2"}'),
        "architecture 'gpt2' is not supported; supported: bert",
    ),
    "not there at all": (shutil.rmtree, "no folder"),
}


@pytest.mark.parametrize("fault", BROKEN_BASES)
def test_a_base_that_cannot_be_used_is_told_by_name(fault, place, here):
    spoil, words = BROKEN_BASES[fault]
    spoil(place.root / "base")
    said = only_complaint(here("run", place.study, "--store", place.store), 1)
    assert said.startswith("base './base': ")
    assert words in said
    assert not place.store.exists()


def test_data_that_cannot_be_read_is_told_with_its_line(place, here):
    (place.root / "test.csv").write_text("text,label\nfine,good\nodd,ugly\n")
    said = only_complaint(here("run", place.study, "--store", place.store), 1)
    assert said == f"{place.root / 'test.csv'}:3: label 'ugly' is not one of bad, good"
    assert not place.store.exists()


def test_a_store_that_cannot_be_written_is_told(place, here):
    said = only_complaint(here("run", place.study, "--store", place.study / "store"), 1)
    assert said == f"store {place.study / 'store'} cannot be written (Not a directory); choose another with --store"


def test_what_is_served_but_perhaps_not_meant_is_said_before_any_work_once_for_all_tasks(place, here):
    odd = {"name": "odd", "steps": [{"use": "layer-drop", "keep": [0, 2]}, {"use": "ffn-pruning", "width": 40}]}
    columns = {"train": "train.csv", "test": "test.csv", "text": "text", "label": "label"}
    place.write(recipes=[odd], tasks=[{"name": name, **columns} for name in ("reviews", "letters")])
    said = here("run", place.study, "--store", place.store, "--check")
    assert said.code == 0
    assert said.out.count("no multiple of 32") == 1
    assert said.out.startswith("recipe 'odd', step 2: ffn-pruning: no multiple of 32: 40;")
    assert not place.store.exists()


def test_a_base_whose_weights_cannot_be_opened_fails_its_runs_and_the_failure_is_kept(place, here):
    weights = place.root / "base" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    said = here("run", place.study, "--store", place.store)
    assert said.code == 1
    (run,) = RunStore(place.store).runs()[0]
    assert (run.status, run.failure.stage, run.recipe.name) == ("failed", "base", "baseline")
    assert run.failure.message.startswith("base './base': ")
    assert "drop: left out, because its baseline failed" in said.out
    assert "Traceback" not in said.out + said.err


def heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupted_run_says_that_it_can_go_on(place):
    place.write(training={"epochs": 400, "learning_rate": 1e-3, "batch_size": 4, "evaluations": 2})
    line = [sys.executable, "-m", "workbench.cli", "run", str(place.study), "--store", str(place.store)]
    # Whoever runs the tests in the background has them ignore the signal, and their children with them.
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heed_interrupts}
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(line, env=environment, **settings) as child:
        assert any("fine-tuning" in told for told in iter(child.stdout.readline, ""))
        child.send_signal(signal.SIGINT)
        _, complaint = child.communicate(timeout=120)
    assert child.returncode == 130
    assert complaint.strip() == "error: stopped; what was finished is kept, run the same command to go on"
    assert RunStore(place.store).ids() == []


class Story(NamedTuple):
    """What was said in two calls over one study, the second with more recipes and no room, and where it happened."""

    first: Said
    second: Said
    place: Place
    cache: Path


def forbid_large_files(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def statuses(store: Path) -> list[tuple[str, str]]:
    return [(run.recipe.name, run.status) for run in RunStore(store).runs()[0]]


def steps_told(said: Said) -> list[str]:
    return [line for line in said.out.splitlines() if line.startswith("[")]


@pytest.fixture(scope="module")
def story(tmp_path_factory) -> Story:
    root = tmp_path_factory.mktemp("story")
    place, cache = make_place(root), root / "cache"
    environment = {**os.environ, "WORKBENCH_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    # Scratch folders often lie on another file system than the store.
    other = Path("/dev/shm")
    if other.is_dir() and os.access(other, os.W_OK) and other.stat().st_dev != root.stat().st_dev:
        environment["TMPDIR"] = str(other)
    call = ("run", place.study, "--store", place.store)
    first = command(*call, env=environment)
    # One call that times is enough: starting the processes for it takes longer than all the rest.
    recipes = [dropping("drop", 0, 2), dropping("too-big", 0, 1, 2), dropping("small", 3)]
    place.write(recipes=recipes)
    (kept,) = (place.store / "runs").glob("*drop*/artifact/model.safetensors")
    second = command(*call, "--no-timing", env=environment, preexec_fn=forbid_large_files(kept.stat().st_size + 2000))
    return Story(first, second, place, cache)


def test_a_study_is_carried_out_to_records(story):
    assert story.first.code == 0, story.first
    assert story.first.err == ""
    assert steps_told(story.first) == ["[1/2] reviews seed 0: baseline", "[2/2] reviews seed 0: drop"]
    runs = {run.recipe.name: run for run in RunStore(story.place.store).runs()[0]}
    base, drop = runs["baseline"], runs["drop"]
    assert base.status == drop.status == "done"
    assert drop.recipe.steps[0].options == {"keep": [0, 2]}
    assert [step.use for step in drop.steps] == ["layer-drop"]
    assert base.base.finetuned
    assert base.data.rows == {"train": 192, "calibrate": 24, "select": 24, "test": 60}
    for run in (base, drop):
        folder = RunStore(story.place.store).folder(run.id)
        assert (folder / "predictions.parquet").is_file()
        assert (folder / "artifact" / "model.safetensors").is_file()


def test_every_run_is_measured(story):
    runs = {run.recipe.name: run for run in RunStore(story.place.store).runs()[0]}
    base, drop = runs["baseline"], runs["drop"]
    assert 0 <= drop.measured("accuracy").value <= 1
    assert 0 <= drop.measured("agreement").value <= 1
    assert base.measured("agreement") is None
    for metric in ("parameters", "disk"):
        assert 0 < drop.measured(metric).value < base.measured(metric).value


def test_the_report_is_written_where_the_command_says_and_anew_each_time(story):
    folder = story.place.store / "reports" / "tiny"
    assert f"report: {folder / 'report.html'}\n" in story.first.out
    assert f"workbench list runs --store {story.place.store}" in story.first.out
    page = (folder / "report.md").read_text(encoding="utf-8")
    for name in ("baseline", "drop", "small"):
        assert name in page
    assert list((story.place.store / "reports").iterdir()) == [folder]


def test_the_table_is_printed_with_its_timings_and_a_recommendation_below(story):
    lines = story.first.out.splitlines()
    table = next(number for number, line in enumerate(lines) if line.startswith("study tiny, task reviews"))
    answer = next(number for number, line in enumerate(lines) if line.startswith(("ship ", "nothing qualifies")))
    assert table < answer
    assert max(map(len, lines[table:answer])) <= 100
    told = "\n".join(lines[answer:])
    assert "asked: best latency, at least 97 % of the baseline's quality (taken for granted" in told
    assert "latency was not measured" not in told


def test_what_was_timed_before_is_told_though_it_was_not_asked_for_again(story):
    lines = story.second.out.splitlines()
    drop, small = (next(line for line in lines if line.startswith(name)) for name in ("drop ", "small "))
    assert drop.count("–") < small.count("–")


def test_the_file_of_a_study_is_kept_beside_its_runs(story):
    assert RunStore(story.place.store).study_file("tiny").read_text() == story.place.study.read_text()


def test_a_recipe_that_fails_is_kept_as_a_failure_and_the_others_go_on(story):
    assert story.second.code == 1, story.second
    assert "Traceback" not in story.second.out + story.second.err
    expected = [("baseline", "done"), ("drop", "done"), ("too-big", "failed"), ("small", "done")]
    assert statuses(story.place.store) == expected
    (failed,) = [run for run in RunStore(story.place.store).runs()[0] if run.failure]
    assert failed.failure.stage == "save"
    assert failed.failure.message.startswith("no space left while writing")
    assert "make room" in failed.failure.message
    assert failed.id in story.second.out
    assert list((story.place.store / "partial").iterdir()) == []


def test_only_what_is_new_is_made(story):
    assert [line.endswith("already done") for line in steps_told(story.second)] == [True, True, False, False]
    assert "fine-tuning" not in story.second.out


def test_a_failed_run_is_tried_again_and_then_there_is_nothing_left_to_do(story, here, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(story.cache))
    store = shutil.copytree(story.place.store, tmp_path / "copy")
    mended = here("run", story.place.study, "--store", store, "--no-timing")
    assert mended.code == 0, mended
    assert [line.endswith("already done") for line in steps_told(mended)] == [True, True, False, True]
    assert ("too-big", "done") in statuses(store)
    again = here("run", story.place.study, "--store", store, "--no-timing")
    assert (again.code, again.err) == (0, "")
    assert f"nothing to do: all 4 runs of study tiny are in {store}" in again.out
    assert "fine-tuning" not in again.out


def test_the_table_after_a_call_is_about_the_rows_of_that_call(story, here, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(story.cache))
    store = RunStore(shutil.copytree(story.place.store, tmp_path / "copy"))
    base = next(run for run in store.runs()[0] if run.is_baseline)
    few = base.data.model_copy(update={"fingerprint": "few", "limit": 5})
    low = Measurement.single("accuracy", "score", "higher", 0.0123)
    changes = {"id": "later-on-fewer-rows", "created": "2999-01-01", "data": few, "measurements": (low,)}
    with store.writing("later-on-fewer-rows") as folder:
        store.keep(base.model_copy(update=changes), folder)
    said = here("run", story.place.study, "--store", store.root, "--only", "drop", "--no-timing")
    assert said.code == 0, said
    line = next(line for line in said.out.splitlines() if line.startswith("baseline "))
    assert f"{100 * base.measured('accuracy').value:.2f}" in line
    assert "100.0 %" in line


def test_kept_runs_are_listed_and_shown(story, here):
    store = ("--store", story.place.store)
    rows = json.loads(here("list", "runs", *store, "--json").out)["rows"]
    assert [(row["recipe"], row["status"]) for row in rows] == statuses(story.place.store)
    assert [row["quality"] is None for row in rows] == [False, False, True, False]
    drop = next(row["run"] for row in rows if row["recipe"] == "drop")
    shown = here("show", drop[:-3], *store)
    assert shown.code == 0
    for fact in ("layer-drop", "accuracy", "agreement", "disk", "artifact", "versions"):
        assert fact in shown.out
    assert json.loads(here("show", drop, *store, "--json").out)["id"] == drop


def test_a_damaged_record_is_told_beside_the_others(story, here, tmp_path):
    store = shutil.copytree(story.place.store, tmp_path / "copy")
    victim = next((store / "runs").glob("*small*")) / "run.json"
    victim.write_text(victim.read_text()[:300])
    said = here("list", "runs", "--store", store, "--json")
    assert said.code == 0
    told = json.loads(said.out)
    assert [row["recipe"] for row in told["rows"]] == ["baseline", "drop", "too-big"]
    assert [str(victim) in remark for remark in told["remarks"]] == [True]


def test_a_command_whose_reader_goes_away_ends_quietly(story):
    line = f"{sys.executable} -m workbench.cli list runs --json --store {story.place.store} | head -c 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stdout == "{"
    assert "Traceback" not in done.stderr
