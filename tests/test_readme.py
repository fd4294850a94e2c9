"""The README says what the code does: its commands exist, its study is valid, its tables are whole."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from workbench.plugins import STRATEGIES, names
from workbench.study import Study

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def help_of(command: str) -> str:
    call = [sys.executable, "-m", "workbench.cli", command, "--help"]
    shown = subprocess.run(call, capture_output=True, text=True, check=True, env={"COLUMNS": "200", "PATH": "/usr/bin"})
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.stdout)


def test_every_make_command_is_a_target():
    wanted = set(re.findall(r"\bmake ([a-z]+)\b", README))
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", rules, re.MULTILINE))
    assert {"demo", "test", "check"} <= wanted <= targets


def test_it_opens_with_the_two_commands():
    first = blocks("bash")[0]
    assert re.findall(r"^make (\w+)", first, re.MULTILINE) == ["demo", "test"]


def commands() -> list[str]:
    typer_app = importlib.import_module("workbench.cli").app
    return [command.name or command.callback.__name__ for command in typer_app.registered_commands]


@pytest.mark.parametrize("command", commands())
def test_every_option_in_the_table_of_commands_exists(command):
    (row,) = re.findall(rf"^\| `workbench {command} (.*?)` \|", README, re.MULTILINE)
    shown = help_of(command)
    for option in re.findall(r"--[a-z-]+", row):
        assert option in shown, f"{command} has no {option}"
    for option in set(re.findall(r"(--[a-z-]+)", shown)) - {"--help"}:
        assert option in row, f"the README does not tell of {command} {option}"


def test_the_study_of_the_readme_is_valid(tmp_path):
    (text,) = blocks("yaml")
    (tmp_path / "study.yaml").write_text(text)
    study = Study.load(tmp_path / "study.yaml")
    assert set(yaml.safe_load(text)) == set(Study.model_fields) - {"about", "max_length"}
    assert [recipe.name for recipe in study.chosen_recipes()] == ["baseline", "int8", "four-layers-int8"]


def test_every_strategy_stands_in_the_table():
    table = README.partition("## Strategies")[2].partition("\n\nBases")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row)}
    ours = {name for name in names(STRATEGIES) if name in told or provided_by_us(name)}
    assert told == ours


def provided_by_us(name: str) -> bool:
    from workbench.plugins import provider_of

    return provider_of(STRATEGIES, name).distribution == "encoder-workbench"


def test_the_example_strategy_works_as_printed():
    (code, *_) = blocks("python")
    space: dict[str, object] = {}
    imports = (
        "from collections.abc import Mapping\nfrom typing import Any\nfrom pydantic import Field\n"
        "from workbench.bench import Bench\nfrom workbench.encoder import Encoder\n"
        "from workbench.families import with_layers\nfrom workbench.strategy import Strategy\n"
    )
    exec(compile(imports + code, "README.md", "exec"), space)
    strategy = space["KeepBottom"]()
    assert strategy.count == 2
    assert strategy.name == "keep-bottom"


def test_no_placeholder_is_left():
    assert not re.search(
        r"\b[A-Z]+_[A-Z]+\b(?<!WORKBENCH_CACHE)(?<!WORKBENCH_STORE)", README.replace("WORKBENCH_GLUE_DIR", "")
    )
