"""The straight line: every run kept as soon as it is done, whatever happens to the process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml

from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.execute import Executor
from workbench.plan import make_plan
from workbench.predictions import read_predictions
from workbench.progress import Quiet
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.study import Study
from workbench.tasks.data import read_task
from workbench.tokens import tokenize

BRIEF = {"epochs": 1, "batch_size": 16, "evaluations": 1, "learning_rate": 1.0e-3}


def write_study(folder: Path, base: Path, task, recipes, **changes) -> Path:
    value = {
        "name": "tiny",
        "base": str(base),
        "tasks": [task.model_dump(mode="json", exclude_defaults=True)],
        "training": {"epochs": 2, "batch_size": 16, "evaluations": 4, "learning_rate": 1.0e-3},
        "max_length": 32,
        "measure": ["quality", "size"],
        "recipes": recipes,
        **changes,
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(json.loads(json.dumps(value)), sort_keys=False))
    return path


def execute(study: Path, store: Path, cache: Path, only=()):
    plan = make_plan(Study.load(study), tuple(only))
    return Executor(plan, RunStore(store), Cache(cache), Quiet(), "a test").run_all()


def facts(store: Path) -> dict[str, dict[str, object]]:
    """What of the records must not depend on how often the work was interrupted."""
    runs, damaged = RunStore(store).runs()
    assert damaged == []
    answers = {run.id: read_predictions(store / "runs" / run.id / PREDICTIONS) for run in runs if not run.failure}
    return {
        run.id: {
            "recipe": run.recipe,
            "artifact": run.artifact,
            "measurements": run.measurements,
            "steps": [(step.use, step.detail, step.measurements) for step in run.steps],
            "answers": [[row.tolist() for row in part.logits] for part in answers[run.id]],
        }
        for run in runs
    }


def start(study: Path, store: Path, cache: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "workbench.cli", "run", str(study), "--store", str(store)]
    environment = {**os.environ, "WORKBENCH_CACHE": str(cache)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def recipes():
    return [
        {
            "name": "short",
            "control": True,
            "steps": [{"use": "layer-drop", "layers": 2}, {"use": "distillation", **BRIEF}],
        },
        {
            "name": "short-int8",
            "steps": [{"use": "layer-drop", "layers": 2}, {"use": "distillation", **BRIEF}, "int8-dynamic"],
        },
    ]


@pytest.fixture(scope="module")
def story(tmp_path_factory, tiny_base, tiny_task, recipes):
    """A whole study, carried out once, by a process of its own, for the tests that look at it."""
    folder = tmp_path_factory.mktemp("story")
    study = write_study(folder, tiny_base("bert"), tiny_task, recipes)
    child = start(study, folder / "store", folder / "cache")
    _, err = child.communicate(timeout=300)
    assert child.returncode == 0, err.decode()
    return study, folder / "store", folder / "cache"


def test_every_recipe_and_control_is_made_and_kept(story):
    store = story[1]
    runs, damaged = RunStore(store).runs()
    assert damaged == []
    assert [run.recipe.name for run in runs] == ["baseline", "short", "short-control", "short-int8"]
    assert all(run.measured("accuracy") and run.measured("disk") and run.measured("parameters") for run in runs)
    assert all((run.measured("agreement") is None) == run.is_baseline for run in runs)


def test_a_second_call_does_nothing(story):
    study, store, cache = story
    before = facts(store)
    again = execute(study, store, cache)
    assert sorted(again.there) == sorted(before)
    assert not again.made
    assert facts(store) == before


def test_what_each_step_gave_is_kept(story):
    runs = {run.recipe.name: run for run in RunStore(story[1]).runs()[0]}
    steps = runs["short-int8"].steps
    assert [step.use for step in steps] == ["layer-drop", "distillation", "int8-dynamic"]
    sizes = [next(found.value for found in step.measurements if found.metric == "disk/weights") for step in steps]
    assert runs["baseline"].measured("disk/weights").value > sizes[0] == sizes[1] != sizes[2]
    assert steps[-1].measurements == runs["short-int8"].measurements


def test_recipes_with_the_same_beginning_share_what_was_trained(story):
    runs = {run.recipe.name: run for run in RunStore(story[1]).runs()[0]}
    first, second = (runs[name].steps[1] for name in ("short", "short-int8"))
    assert first.cost == second.cost
    assert first.detail == second.detail
    assert len(list((story[2] / "steps").iterdir())) == 2


def test_kept_answers_are_those_of_the_kept_artifact(story, tiny_task):
    store = RunStore(story[1])
    rows = read_task(tiny_task.declared(Path())).tests["test"]
    for run in store.runs()[0]:
        encoder = Encoder.load(store.folder(run.id) / ARTIFACT)
        (kept,) = read_predictions(store.folder(run.id) / PREDICTIONS)
        assert kept.ids == [row.id for row in rows]
        np.testing.assert_allclose(encoder.logits(tokenize(encoder.tokenizer, rows)), kept.logits, atol=1e-5)
        share = np.mean([a == b for a, b in zip(kept.predictions, kept.labels, strict=True)])
        assert run.measured("accuracy").value == pytest.approx(share)


def test_nothing_unfinished_remains(story):
    _, store, cache = story
    assert list((store / "partial").iterdir()) == []
    assert not (cache / "unfinished").exists() or list((cache / "unfinished").iterdir()) == []


def kill_when(child: subprocess.Popen, condition) -> None:
    deadline = time.monotonic() + 180
    while not condition():
        assert child.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()


@pytest.mark.slow
def test_a_study_killed_while_training_and_while_saving_ends_with_the_records_of_an_undisturbed_one(story, tmp_path):
    study, undisturbed, _ = story
    store, cache = tmp_path / "store", tmp_path / "cache"
    kill_when(start(study, store, cache), lambda: list(cache.glob("unfinished/*/checkpoint-*")))
    assert RunStore(store).ids() == []
    kill_when(start(study, store, cache), lambda: list(store.glob("partial/*/artifact/*")))
    kill_when(start(study, store, cache), lambda: list(store.glob("runs/*-short-s0-*")))
    assert any(name.startswith("reviews-baseline") for name in RunStore(store).ids())
    last = start(study, store, cache)
    _, err = last.communicate(timeout=300)
    assert last.returncode == 0, err.decode()
    ours, theirs = facts(store), facts(undisturbed)
    assert ours.keys() == theirs.keys()
    differing = [(name, part) for name in ours for part in ours[name] if ours[name][part] != theirs[name][part]]
    assert differing == []
    assert list((store / "partial").iterdir()) == []


@pytest.mark.slow
def test_two_processes_at_one_study_make_every_run_once(tiny_base, tiny_task, tmp_path):
    study = write_study(tmp_path, tiny_base("bert"), tiny_task, [{"name": "short", "steps": [{"use": "layer-drop"}]}])
    children = [start(study, tmp_path / "store", tmp_path / "cache") for _ in range(2)]
    ended = [child.communicate(timeout=300) for child in children]
    assert [child.returncode for child in children] == [0, 0], ended
    assert len(RunStore(tmp_path / "store").ids()) == 2


def test_a_failed_run_is_kept_with_its_stage_and_the_next_one_begins(tiny_base, tiny_task, tmp_path):
    recipes = [
        {"name": "bad-map", "steps": [{"use": "distillation", **BRIEF, "hidden": 1.0, "layer_map": [1, 2, 3, 99]}]},
        {"name": "short", "steps": [{"use": "layer-drop", "keep": [0]}]},
    ]
    study = write_study(tmp_path, tiny_base("bert"), tiny_task, recipes)
    tally = execute(study, tmp_path / "store", tmp_path / "cache")
    assert len(tally.failed) == 1
    runs = {run.recipe.name: run for run in RunStore(tmp_path / "store").runs()[0]}
    assert runs["bad-map"].failure.stage == "apply"
    assert "layer 99" in runs["bad-map"].failure.message
    assert runs["short"].status == "done"
    again = execute(study, tmp_path / "store", tmp_path / "cache")
    assert len(again.there) == 2
    assert len(again.failed) == 1
    assert len([name for name in RunStore(tmp_path / "store").ids() if "failed" in name]) == 2


def test_a_failed_baseline_leaves_out_what_would_be_compared_with_it(tiny_base, tiny_task, tmp_path):
    study = write_study(tmp_path, tiny_base("bert"), tiny_task, [{"name": "short", "steps": ["layer-drop"]}])
    plan = make_plan(Study.load(study))
    executor = Executor(plan, RunStore(tmp_path / "store"), Cache(tmp_path / "not-a-folder"), Quiet(), "a test")
    (tmp_path / "not-a-folder").write_text("in the way")
    tally = executor.run_all()
    assert len(tally.failed) == len(tally.skipped) == 1
    (failed,) = RunStore(tmp_path / "store").runs()[0]
    assert failed.failure.stage == "base"


def test_another_option_seed_or_limit_is_another_run(tiny_base, tiny_task, tmp_path):
    base = tiny_base("bert")

    def ids(keep, **changes):
        recipe = {"name": "short", "steps": [{"use": "layer-drop", "keep": keep}]}
        study = Study.load(write_study(tmp_path, base, tiny_task, [recipe], **changes))
        return {run.id for run in make_plan(study).runs if run.recipe.name == "short"}

    different = [ids([0]), ids([1]), ids([0], seeds=[1]), ids([0], limit=40), ids([0], name="other")]
    assert len(set().union(*different)) == len(different)
    assert ids([0]) == different[0]
