"""A recipe file becomes frozen steps under a safe name, or a complaint that names its place."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from workbench.errors import StudyError
from workbench.recipe import BASELINE, Recipe, Step, cookbook


def recipe_from(folder: Path, text: str) -> Recipe:
    path = folder / "dish.yaml"
    path.write_text(text, encoding="utf-8")
    return Recipe.load(path)


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(StudyError) as caught:
        recipe_from(folder, text)
    return str(caught.value).replace(f"{folder}{os.sep}", "")


def test_a_step_may_be_just_a_name(tmp_path):
    dish = recipe_from(tmp_path, "name: dish\nsteps: [int8-dynamic]\n")
    assert dish.steps == (Step(use="int8-dynamic", options={}),)


def test_options_stand_beside_the_name(tmp_path):
    dish = recipe_from(tmp_path, "name: dish\nsteps:\n  - use: layer-drop\n    keep: [0, 2]\n  - use: int8-dynamic\n")
    assert [step.model_dump() for step in dish.steps] == [
        {"use": "layer-drop", "options": {"keep": [0, 2]}},
        {"use": "int8-dynamic", "options": {}},
    ]


def test_options_may_stand_under_their_own_key_as_records_write_them(tmp_path):
    dish = recipe_from(tmp_path, "name: dish\nsteps:\n  - use: layer-drop\n    options: {keep: [1]}\n")
    assert dish.steps[0].options == {"keep": [1]}


def test_a_step_reads_back_what_it_wrote():
    step = Step.model_validate({"use": "layer-drop", "keep": [0, 1]})
    assert Step.model_validate_json(step.model_dump_json()) == step


def test_the_same_step_may_come_twice_and_order_is_kept(tmp_path):
    dish = recipe_from(tmp_path, "name: dish\nsteps: [b, a, b]\n")
    assert [step.use for step in dish.steps] == ["b", "a", "b"]


def test_an_unknown_key_of_a_recipe_names_its_line_and_the_nearest_key(tmp_path):
    said = complaint(tmp_path, "name: dish\nsteps: [int8-dynamic]\nwhe: never\n")
    assert said.startswith("dish.yaml:3: unknown key 'whe'; did you mean 'when'? known: name, steps, when")


def test_a_step_without_use_names_its_line_and_the_nearest_key(tmp_path):
    said = complaint(tmp_path, "name: dish\nsteps:\n  - int8-dynamic\n  - uses: layer-drop\n")
    assert "dish.yaml:4: steps.1.use is missing" in said
    assert "dish.yaml:4: unknown key 'uses'; did you mean 'use'?" in said


def test_a_step_that_is_a_list_is_refused_with_its_line(tmp_path):
    assert complaint(tmp_path, "name: dish\nsteps:\n  - [layer-drop]\n").startswith("dish.yaml:3: steps.0: ")


@pytest.mark.parametrize("name", ["../dish", "/dish", ".dish", "Dish", "a b", "", "dish\n", "-dish", "a/b"])
def test_a_name_that_could_leave_its_folder_is_refused(name):
    with pytest.raises(ValidationError, match="a name is lower-case letters"):
        Recipe(name=name, steps=(Step(use="x"),))


@pytest.mark.parametrize("name", ["a", "half-depth", "4.layers_x"])
def test_plain_names_are_accepted(name):
    assert Recipe(name=name, steps=(Step(use="x"),)).name == name


def test_the_name_of_the_baseline_is_reserved_for_the_recipe_without_steps(tmp_path):
    assert "'baseline' names the recipe without steps" in complaint(tmp_path, "name: baseline\nsteps: [int8-dynamic]\n")
    assert Recipe(name=BASELINE).steps == ()


def test_any_other_recipe_needs_a_step(tmp_path):
    assert "needs at least one step" in complaint(tmp_path, "name: dish\n")


def test_a_recipe_is_frozen():
    dish = Recipe(name="dish", steps=(Step(use="x"),))
    with pytest.raises(ValidationError, match="frozen"):
        dish.name = "other"  # type: ignore[misc]


def test_a_recipe_knows_the_line_of_each_step(tmp_path):
    dish = recipe_from(tmp_path, "name: dish\nsteps:\n  - a\n  - use: b\n    x: 1\n")
    assert dish.at("steps", 1) == f"{tmp_path / 'dish.yaml'}:4: recipe 'dish': "
    assert dish.at("steps", 1, "x") == f"{tmp_path / 'dish.yaml'}:5: recipe 'dish': "


def test_a_recipe_made_in_code_has_no_place():
    assert Recipe(name="dish", steps=(Step(use="x"),)).at("steps", 0) == "recipe 'dish': "


def test_the_cookbook_holds_the_embedded_recipes_with_their_place():
    known = cookbook()
    assert "int8" in known
    assert known["int8"].steps[0].use == "int8-dynamic"
    assert re.search(r"int8\.yaml:\d+: recipe 'int8': $", known["int8"].at("steps", 0))
    assert all(name == recipe.name and recipe.steps for name, recipe in known.items())


def stranger(folder: Path, package: str, files: dict[str, str]) -> Path:
    """A package as pip would have laid it out, advertising recipes."""
    site = folder / f"site-{package}"
    (site / package).mkdir(parents=True)
    for name, text in files.items():
        (site / package / name).write_text(text, encoding="utf-8")
    facts = site / f"{package}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[workbench.recipes]\n{package} = {package}\n")
    return site


def listed(*sites: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench.cli", "list", "recipes", "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sites))}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_another_package_s_recipes_join_the_cookbook(tmp_path):
    recipe = "name: theirs\nsteps: [int8-dynamic]\n"
    told = listed(stranger(tmp_path, "their_kitchen", {"__init__.py": "", "theirs.yaml": recipe}))
    assert told.returncode == 0, told.stderr
    assert '"theirs"' in told.stdout
    assert '"int8"' in told.stdout


@pytest.mark.parametrize(
    "files",
    [
        {"__init__.py": "raise RuntimeError('the stove is cold')"},
        {"__init__.py": "import no_such_module_at_all"},
        {"__init__.py": "", "bad.yaml": "name: bad\nstps: []\n"},
        {"__init__.py": "", "int8.yaml": "name: int8\nsteps: [layer-drop]\n"},
    ],
    ids=["raises on import", "lacks a dependency", "has an unreadable recipe", "claims a name that is taken"],
)
def test_a_package_whose_recipes_are_broken_breaks_no_one_else_s(files, tmp_path):
    told = listed(stranger(tmp_path, "their_kitchen", files))
    assert "Traceback" not in told.stderr
    assert told.returncode == 0, told.stderr
    for name in set(cookbook()) - {"int8"}:
        assert f'"{name}"' in told.stdout
    assert "their_kitchen" in told.stdout + told.stderr
