"""A study file is read with every key known, and refused with file, line and the nearest name otherwise."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from workbench.errors import StudyError, UnknownNameError, UsageError
from workbench.study import Base, Study, Training, embedded_studies, find_study

PLAIN = "name: plain\ntasks: [sst2]\n"
OWN = "{name: own, steps: [int8-dynamic]}"


def study_from(folder: Path, text: str) -> Study:
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return Study.load(path)


def complaint(folder: Path, text: str) -> list[str]:
    with pytest.raises(StudyError) as caught:
        study_from(folder, text)
    return str(caught.value).replace(f"{folder}{os.sep}", "").splitlines()


def test_a_study_needs_only_a_name_and_a_task(tmp_path):
    study = study_from(tmp_path, PLAIN)
    assert (study.name, study.tasks, study.seeds, study.recipes) == ("plain", ("sst2",), (0,), ())
    assert study.file == tmp_path / "study.yaml"
    assert study.folder == tmp_path


UNKNOWN_KEYS = {
    "at the top": (PLAIN + "trainings: {}\n", 3, "trainings", "training"),
    "in training": (PLAIN + "training:\n  epochs: 1\n  learn_rate: 1\n", 5, "learn_rate", "learning_rate"),
    "in the base": (PLAIN + "base:\n  name: x\n  revison: y\n", 5, "revison", "revision"),
    "in a recipe": (PLAIN + "recipes:\n  - name: r\n    steps: [a]\n    wen: x\n", 6, "wen", "when"),
    "in a step": (PLAIN + "recipes:\n  - name: r\n    steps:\n      - use: a\n      - usee: b\n", 7, "usee", "use"),
    "in a task": (
        "name: x\ntasks:\n  - name: own\n    train: a.csv\n    test: a.csv\n    text: t\n    lable: l\n    label: l\n",
        7,
        "lable",
        "label",
    ),
}


@pytest.mark.parametrize("where", UNKNOWN_KEYS)
def test_an_unknown_key_anywhere_names_file_line_key_and_the_nearest_known_one(where, tmp_path):
    text, line, key, meant = UNKNOWN_KEYS[where]
    said = complaint(tmp_path, text)
    assert any(
        one.startswith(f"study.yaml:{line}: unknown key {key!r}; did you mean {meant!r}? known: ") for one in said
    )


@pytest.mark.parametrize("where", UNKNOWN_KEYS)
def test_nothing_is_complained_of_but_what_is_wrong(where, tmp_path):
    text, line, *_ = UNKNOWN_KEYS[where]
    said = complaint(tmp_path, text)
    assert all(one.startswith(f"study.yaml:{line}: ") for one in said), said
    assert not any("valid string" in one or "at least 1 item" in one for one in said), said


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name: 3\ntasks: [sst2]\n", 1, "name: "),
        ("name: x\ntasks: sst2\n", 2, "tasks: "),
        ("name: x\ntasks: []\n", 2, "tasks: "),
        (PLAIN + "seeds: []\n", 3, "seeds: "),
        (PLAIN + "seeds: [one]\n", 3, "seeds.0: "),
        (PLAIN + "seeds: [0, 1, 0]\n", 3, "seeds: listed twice: 0"),
        (PLAIN + "seeds: [-1]\n", 3, "seeds: a seed is a whole number from 0"),
        (PLAIN + "seeds: [2147483648]\n", 3, "seeds: a seed is a whole number from 0"),
        ("name: x\ntasks: [sst2, sst2]\n", 2, "tasks: listed twice: sst2"),
        (PLAIN + "task_seeds: {sst2: []}\n", 3, "task_seeds: sst2: name at least one seed"),
        (PLAIN + "task_seeds: {sst2: [1, 1]}\n", 3, "task_seeds: sst2: name at least one seed, and each once"),
        (PLAIN + "task_seeds: {sst2: [-1]}\n", 3, "task_seeds: a seed is a whole number from 0"),
        (PLAIN + "task_seeds: {rte: [0]}\n", 1, "task_seeds: 'rte' is not among the tasks (sst2)"),
        (PLAIN + "recipes: [int8, int8]\n", 3, "recipes: listed twice: int8"),
        (PLAIN + "limit: 0\n", 3, "limit: "),
        (PLAIN + "limit: few\n", 3, "limit: "),
        (PLAIN + "max_length: 7\n", 3, "max_length: "),
        (PLAIN + "finetune: sometimes\n", 3, "finetune: "),
        (PLAIN + "measure: [quality, beauty]\n", 3, "measure.1: "),
        (PLAIN + "base: [x]\n", 3, "base: "),
        (PLAIN + "training: fast\n", 3, "training: "),
        (PLAIN + "training:\n  epochs: 0\n", 4, "training.epochs: "),
        (PLAIN + "training:\n  epochs: .inf\n", 4, "training.epochs: "),
        (PLAIN + "training:\n  learning_rate: .nan\n", 4, "training.learning_rate: "),
        (PLAIN + "training:\n  learning_rate: .inf\n", 4, "training.learning_rate: "),
        (PLAIN + "training:\n  least_steps: -1\n", 4, "training.least_steps: "),
        (PLAIN + "training: {least_steps: 9, most_steps: 8}\n", 3, "training: least_steps (9) is above most_steps (8)"),
        (PLAIN + "task_training: {rte: {epochs: 2}}\n", 1, "task_training: 'rte' is not among the tasks (sst2)"),
        (PLAIN + "task_training:\n  sst2:\n    epochs: 0\n", 5, "task_training.sst2.epochs: "),
        (PLAIN + "task_training:\n  sst2:\n    epoch: 2\n", 5, "unknown key 'epoch'; did you mean 'epochs'"),
        (
            PLAIN + "training: {least_steps: 9}\ntask_training: {sst2: {most_steps: 8}}\n",
            *(1, "task_training: sst2: least_steps (9) is above most_steps (8)"),
        ),
        (PLAIN + "training:\n  precision: half\n", 4, "training.precision: "),
        (PLAIN + "goals: [{recipe: int8, faster: 0}]\n", 3, "goals.0.faster: "),
        (PLAIN + "goals: [{recipe: int8, faster_than: {onnx: 0}}]\n", 3, "goals.0.faster_than.onnx: "),
        (PLAIN + "goals: [{recipe: int8, faster: 2}]\n", 1, "goals[0]: 'int8' is not among the recipes"),
        (
            PLAIN + "recipes: [int8]\ngoals: [{recipe: int8, tasks: [rte], faster: 2}]\n",
            *(1, "goals[0]: 'rte' is not among the tasks (sst2)"),
        ),
        (PLAIN + "training:\n  warmup: 1\n", 4, "training.warmup: "),
        (PLAIN + "training:\n  batch_size: 1.5\n", 4, "training.batch_size: "),
        ("tasks: [sst2]\n", 1, "name is missing"),
        ("name: ../x\ntasks: [sst2]\n", 1, "name: a name is lower-case letters"),
        ("name: x\nname: y\ntasks: [sst2]\n", 2, "key 'name' stands twice"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(text, line, words, tmp_path):
    (said,) = complaint(tmp_path, text)
    assert said.startswith(f"study.yaml:{line}: {words}")


def test_a_recipe_that_takes_the_baseline_s_name_is_refused(tmp_path):
    said = complaint(tmp_path, PLAIN + "recipes:\n  - name: baseline\n    steps: [int8-dynamic]\n")
    assert "study.yaml:4: recipes.0: 'baseline' names the recipe without steps; choose another name" in said


def test_names_that_would_leave_the_folder_are_refused_in_recipes_and_tasks(tmp_path):
    said = complaint(tmp_path, PLAIN + "recipes:\n  - name: ../../r\n    steps: [a]\n")
    assert any(one.startswith("study.yaml:4: recipes.0.name: a name is lower-case") for one in said)
    own = "name: x\ntasks:\n  - {name: ../t, train: a.csv, test: a.csv, text: t, label: l}\n"
    assert any(one.startswith("study.yaml:3: tasks.0.name: a name is lower-case") for one in complaint(tmp_path, own))


@pytest.mark.parametrize("written", ["5e-5", "5.0e-5", "0.00005", "'5e-5'"])
def test_small_numbers_are_read_however_they_are_written(written, tmp_path):
    study = study_from(tmp_path, PLAIN + f"training: {{learning_rate: {written}}}\n")
    assert study.training.learning_rate == 5e-5


def test_a_base_may_be_a_name_or_a_mapping(tmp_path):
    assert study_from(tmp_path, PLAIN + "base: ./folder\n").base == Base(name="./folder")
    text = PLAIN + "base: {name: owner/model, revision: v1, allow_pickle: true}\n"
    assert study_from(tmp_path, text).base == Base(name="owner/model", revision="v1", allow_pickle=True)


@pytest.mark.parametrize(
    ("name", "folder"), [("./x", True), ("../x", True), ("/x", True), ("~/x", True), ("x/y", False)]
)
def test_a_base_is_a_folder_when_its_name_looks_like_a_path(name, folder):
    assert Base(name=name).is_folder is folder


def test_a_study_is_frozen(tmp_path):
    study = study_from(tmp_path, PLAIN)
    with pytest.raises(ValidationError, match="frozen"):
        study.name = "other"  # type: ignore[misc]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"nowhere\.yaml: no such file"):
        find_study(str(tmp_path / "nowhere.yaml"))


def test_an_empty_file_is_refused(tmp_path):
    assert complaint(tmp_path, "") == ["study.yaml: a study must be a mapping of keys to values, not NoneType"]


def test_an_embedded_study_is_found_by_its_name():
    assert "demo" in embedded_studies()
    assert find_study("demo").name == "demo"


def test_every_embedded_study_has_known_tasks_and_recipes():
    for name, path in embedded_studies().items():
        study = Study.load(path)
        assert study.name == name
        assert study.chosen_tasks()
        assert study.chosen_recipes()[0].name == "baseline"


def test_an_embedded_study_is_found_although_a_folder_has_its_name(tmp_path, monkeypatch):
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_study("demo").name == "demo"


def test_an_unknown_study_suggests_the_nearest_embedded_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError, match="'demmo'; did you mean 'demo'"):
        find_study("demmo")


def test_an_unknown_task_names_its_line_and_the_nearest_task(tmp_path):
    study = study_from(tmp_path, "name: x\ntasks:\n  - sst2\n  - sst3\n")
    with pytest.raises(UnknownNameError) as caught:
        study.chosen_tasks()
    assert str(caught.value).startswith(
        f"{tmp_path / 'study.yaml'}:4: no task 'sst3'; did you mean 'sst2'? known: cola"
    )


def test_an_unknown_recipe_names_its_line_and_the_nearest_recipe(tmp_path):
    study = study_from(tmp_path, PLAIN + "recipes:\n  - int8\n  - int9\n")
    with pytest.raises(UnknownNameError) as caught:
        study.chosen_recipes()
    assert str(caught.value).startswith(f"{tmp_path / 'study.yaml'}:5: no recipe 'int9'; did you mean 'int8'?")


def test_the_baseline_comes_first_and_once(tmp_path):
    study = study_from(tmp_path, PLAIN + f"recipes: [{OWN}, baseline, int8]\n")
    assert [recipe.name for recipe in study.chosen_recipes()] == ["baseline", "own", "int8"]


def test_only_narrows_the_recipes_down_and_keeps_the_baseline(tmp_path):
    study = study_from(tmp_path, PLAIN + f"recipes: [int8, {OWN}]\n")
    assert [recipe.name for recipe in study.chosen_recipes(("own",))] == ["baseline", "own"]
    assert [recipe.name for recipe in study.chosen_recipes(("baseline",))] == ["baseline"]


def test_only_refuses_a_recipe_the_study_does_not_have(tmp_path):
    study = study_from(tmp_path, PLAIN + "recipes: [int8]\n")
    with pytest.raises(UnknownNameError, match="study 'plain': no recipe 'own'; known: baseline, int8"):
        study.chosen_recipes(("own",))


SEVERAL = "name: several\ntasks: [sst2, rte]\nseeds: [0, 1, 2]\ntask_seeds: {sst2: [0]}\n"


def test_a_task_may_have_seeds_of_its_own(tmp_path):
    study = study_from(tmp_path, SEVERAL)
    assert (study.seeds_of("sst2"), study.seeds_of("rte")) == ((0,), (0, 1, 2))


def test_a_task_may_be_trained_otherwise_than_the_rest_in_what_is_said_of_it(tmp_path):
    trained = "training: {epochs: 4, learning_rate: 1e-4}\ntask_training: {sst2: {learning_rate: 5e-5}}\n"
    study = study_from(tmp_path, SEVERAL + trained)
    assert study.training_of("rte") == study.training
    assert study.training_of("sst2") == Training(epochs=4, learning_rate=5e-5)
    assert not study.narrowed(("rte",), ()).task_training
    assert study.narrowed(("sst2",), (3,)).training_of("sst2") == study.training_of("sst2")


@pytest.mark.parametrize(
    ("tasks", "seeds", "expected"),
    [
        ((), (), {"sst2": (0,), "rte": (0, 1, 2)}),
        (("rte",), (), {"rte": (0, 1, 2)}),
        (("rte", "sst2"), (), {"sst2": (0,), "rte": (0, 1, 2)}),
        ((), (5, 6), {"sst2": (5, 6), "rte": (5, 6)}),
        (("sst2",), (7,), {"sst2": (7,)}),
    ],
)
def test_a_study_is_narrowed_to_tasks_and_to_seeds(tasks, seeds, expected, tmp_path):
    narrowed = study_from(tmp_path, SEVERAL).narrowed(tasks, seeds)
    assert {task: narrowed.seeds_of(task) for task in narrowed.tasks} == expected


def test_a_study_is_not_narrowed_to_a_task_it_does_not_have(tmp_path):
    with pytest.raises(UnknownNameError, match=r"study 'several': no task 'rt'; did you mean 'rte'\?"):
        study_from(tmp_path, SEVERAL).narrowed(("rt",), ())


def test_changed_replaces_what_is_given_and_leaves_the_rest(tmp_path):
    study = study_from(tmp_path, PLAIN + "seeds: [1, 2]\nlimit: 9\n")
    changed = study.changed(seeds=(5,), limit=None)
    assert (changed.seeds, changed.limit, changed.tasks) == ((5,), 9, ("sst2",))
    assert study.seeds == (1, 2)


def test_a_changed_study_still_knows_its_file_and_its_recipes_their_lines(tmp_path):
    study = study_from(tmp_path, PLAIN + "recipes:\n  - name: r\n    steps:\n      - use: layer-drop\n")
    changed = study.changed(seeds=(5,))
    assert changed.file == tmp_path / "study.yaml"
    (_, recipe) = changed.chosen_recipes()
    assert recipe.at("steps", 0) == f"{tmp_path / 'study.yaml'}:6: recipe 'r': "


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": (3, 3)}, "seeds: listed twice: 3"),
        ({"seeds": (-1,)}, "seeds: a seed is a whole number"),
        ({"limit": 0}, "limit: "),
        ({"limits": 3}, "unknown key 'limits'; did you mean 'limit'?"),
    ],
)
def test_a_change_that_cannot_be_is_a_usage_error(changes, words, tmp_path):
    with pytest.raises(UsageError) as caught:
        study_from(tmp_path, PLAIN).changed(**changes)
    assert str(caught.value).startswith(words)


def test_goals_follow_a_study_to_its_tasks(tmp_path):
    goals = "goals:\n  - {recipe: int8, faster: 2}\n  - {recipe: int8, tasks: [sst2, rte], keeps: 0.9}\n"
    goals += "  - {recipe: int8, tasks: [rte], smaller: 2}\n"
    study = study_from(tmp_path, "name: x\ntasks: [sst2, rte]\nrecipes: [int8]\n" + goals)
    assert [goal.tasks for goal in study.narrowed(("sst2",), ()).goals] == [(), ("sst2",)]
    assert study.narrowed((), ()).goals == study.goals
