"""Walls: what each room may import, read from the sources themselves, and what a cold start really loads.

Imports inside functions count like any other; those under ``if TYPE_CHECKING`` never happen and do not.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("workbench", "strategies", "reports")

# What needs torch and its kin. Everything else in workbench/ is cold, so that listings and the dashboard start at once.
WARM = {
    "workbench.bases",
    "workbench.bench",
    "workbench.encoder",
    "workbench.execute",
    "workbench.export_formats",
    "workbench.exporting",
    "workbench.families",
    "workbench.fewer_rows",
    "workbench.finetuned",
    "workbench.importance",
    "workbench.metrics",
    "workbench.narrowing",
    "workbench.onnx_export",
    "workbench.onnx_int8",
    "workbench.openvino_export",
    "workbench.plan",
    "workbench.predicting",
    "workbench.prediction_worker",
    "workbench.probes",
    "workbench.pruning",
    "workbench.quantized_table",
    "workbench.refit",
    "workbench.silence",
    "workbench.runtimes",
    "workbench.sensitivity",
    "workbench.steps",
    "workbench.student",
    "workbench.teacher",
    "workbench.training",
}
# Cold modules that open a door to the warm side inside a function, because only some of their callers go through.
DOORS = {
    "workbench.cli": "the commands that make or run encoders",
    "workbench.worker": "the measuring process; whoever starts it stays cold",
    "workbench.tasks.sources": "a task's rows from the hub",
    "workbench.using_commands": "the commands that export and ask encoders",
}

HEAVY = {
    "accelerate",
    "datasets",
    "evaluate",
    "huggingface_hub",
    "nncf",
    "onnx",
    "onnxruntime",
    "openvino",
    "optimum",
    "safetensors",
    "sklearn",
    "tokenizers",
    "torch",
    "transformers",
}
PLAIN = {"filelock", "numpy", "pandas", "psutil", "pyarrow", "pydantic", "rich", "scipy", "typer", "yaml"}
SHOWING = {"altair", "jinja2", "numpy", "pandas", "rich", "vl_convert"}
FRONT = {"altair", "pandas", "pydantic", "streamlit"}
# The dashboard's pages are the only reports that know Streamlit, and only app.py opens them.
PAGES = "reports.pages"
NOWHERE_NAMES = {"base", "common", "helper", "helpers", "misc", "util", "utils"}


@dataclass(frozen=True)
class Import:
    """One import as written: what it reaches, on which line, and whether it waits inside a function."""

    target: str
    line: int
    waits: bool

    @property
    def top(self) -> str:
        return self.target.partition(".")[0]


@cache
def modules() -> dict[str, Path]:
    """Every module of the repository by its import name."""
    found = {"app": ROOT / "app.py"}
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_in(source: str) -> list[Import]:
    """The imports of a source that reach beyond the standard library, whatever they hide in."""
    return [found for found in _below(ast.parse(source)) if found.top not in sys.stdlib_module_names]


def _below(node: ast.AST, waits: bool = False) -> Iterator[Import]:
    for target in _reached(node):
        yield Import(target, node.lineno, waits)
    inside = waits or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in _children(node):
        yield from _below(child, inside)


def _reached(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: imports are written in full"
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        return [path if path in modules() else str(node.module) for path in inner]
    if isinstance(node, ast.Call) and _name(node.func) in {"import_module", "__import__"}:
        return [item.value for item in node.args[:1] if isinstance(item, ast.Constant)]
    return []


def _children(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING":
        return list(node.orelse)
    return list(ast.iter_child_nodes(node))


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def imports_of(module: str) -> list[Import]:
    return imports_in(modules()[module].read_text(encoding="utf-8"))


def is_warm(module: str) -> bool:
    return any(module == warm or module.startswith(f"{warm}.") for warm in WARM)


def is_cold(module: str) -> bool:
    return module.partition(".")[0] == "workbench" and not is_warm(module)


def faults(module: str, found: list[Import]) -> Iterator[str]:
    """Say which imports a module's room forbids."""
    for item in found:
        if not allowed(module, item):
            yield f"{module} imports {item.target} on line {item.line}"


def allowed(module: str, item: Import) -> bool:
    if module == "app":
        return item.top in {*FRONT, "reports"} or is_cold(item.target)
    if module.startswith(PAGES):
        return item.top in {*FRONT, "reports"} or is_cold(item.target)
    if module.startswith("reports"):
        return (item.top in {*SHOWING, "reports"} or is_cold(item.target)) and not item.target.startswith(PAGES)
    if module.startswith("strategies"):
        return item.top in {*HEAVY, *PLAIN, "workbench"}
    if is_warm(module) or (module in DOORS and item.waits):
        return item.top in {*HEAVY, *PLAIN, "workbench"}
    return item.top in PLAIN or is_cold(item.target)


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_what_its_room_allows(module):
    assert list(faults(module, imports_of(module))) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("workbench.store", "import torch"),
        ("workbench.store", "def load():\n    from transformers import AutoModel"),
        ("workbench.store", "from workbench.encoder import Encoder"),
        ("workbench.store", "from workbench import encoder"),
        ("workbench.store", "import importlib\nimportlib.import_module('torch.nn')"),
        ("workbench.store", "try:\n    import onnxruntime\nexcept ImportError:\n    pass"),
        ("workbench.store", "if TYPE_CHECKING:\n    pass\nelse:\n    import torch"),
        ("workbench.cli", "from workbench.plan import make_plan"),
        ("workbench.cli", "def dashboard():\n    import streamlit"),
        ("workbench.cli", "def table():\n    from reports.terminal import comparison_table"),
        ("workbench.encoder", "from strategies.layer_drop import LayerDrop"),
        ("workbench.encoder", "import reports.terminal"),
        ("strategies.layer_drop", "from strategies.int8_dynamic import Int8Dynamic"),
        ("strategies.layer_drop", "import strategies"),
        ("strategies.layer_drop", "from reports.wording import percent"),
        ("strategies.layer_drop", "import streamlit"),
        ("reports.terminal", "import torch"),
        ("reports.terminal", "from workbench.encoder import Encoder"),
        ("reports.terminal", "def page():\n    import streamlit"),
        ("reports.terminal", "from strategies.layer_drop import LayerDrop"),
        ("reports.terminal", "from reports.pages.overview import show"),
        ("reports.pages.overview", "import torch"),
        ("reports.pages.overview", "from workbench.execute import Executor"),
        ("reports.pages.overview", "from strategies.layer_drop import LayerDrop"),
        ("app", "import torch"),
        ("app", "from strategies.layer_drop import LayerDrop"),
        ("app", "from workbench.execute import Executor"),
    ],
)
def test_what_the_walls_forbid_is_noticed(module, source):
    assert len(list(faults(module, imports_in(source)))) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("workbench.store", "import json\nimport numpy as np\nfrom workbench.run import Run"),
        ("workbench.strategy", "if TYPE_CHECKING:\n    from workbench.encoder import Encoder"),
        ("workbench.cli", "def run():\n    from workbench.plan import make_plan"),
        ("workbench.encoder", "import torch\nfrom workbench.store import RunStore"),
        ("strategies.layer_drop", "import torch\nfrom workbench.encoder import Encoder"),
        ("reports.terminal", "from rich.table import Table\nfrom reports.wording import percent"),
        ("reports.pages.overview", "import streamlit as st\nfrom reports.wording import percent"),
        ("app", "import streamlit as st\nfrom reports.columns import COLUMNS\nfrom workbench.store import RunStore"),
    ],
)
def test_what_the_walls_allow_passes(module, source):
    assert list(faults(module, imports_in(source))) == []


@pytest.mark.parametrize("module", sorted({*WARM, *DOORS}))
def test_the_lists_of_this_file_name_modules_that_exist(module):
    assert module in modules()


@pytest.mark.parametrize("module", DOORS)
def test_a_door_is_listed_only_where_it_is_used(module):
    assert [item for item in imports_of(module) if item.waits and (item.top in HEAVY or is_warm(item.target))]


COLD_START = """
import importlib, json, sys

class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in barred:
            raise ImportError(f"{name} must not be needed here")

barred, modules = json.loads(sys.argv[1])
sys.meta_path.insert(0, Bar())
failed = {}
for module in modules:
    try:
        importlib.import_module(module)
    except ImportError as error:
        failed[module] = str(error)
print(json.dumps([failed, sorted(set(barred) & set(sys.modules))]))
"""


def test_cold_modules_and_reports_start_without_any_heavy_library():
    shown = [module for module in modules() if module.startswith("reports") and not module.startswith(PAGES)]
    cold = [*shown, *filter(is_cold, modules())]
    asked = json.dumps([sorted({*HEAVY, "streamlit"}), cold])
    command = [sys.executable, "-c", COLD_START, asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert json.loads(done.stdout) == [{}, []]
    assert {"workbench.cli", "workbench.compare", "workbench.recipe", "reports.terminal"} <= set(cold)


def test_no_file_is_named_for_nothing():
    everywhere = [*modules().values(), *(ROOT / "tests").rglob("*.py")]
    assert [str(path) for path in everywhere if path.stem in NOWHERE_NAMES] == []


@pytest.mark.parametrize("room", ["strategies", "reports"])
def test_a_room_that_plugins_live_in_holds_a_docstring_only(room):
    body = ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8")).body
    assert len(body) == 1
    assert isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def test_no_folder_at_the_top_hides_a_library():
    assert [path.name for path in ROOT.iterdir() if path.name in {*HEAVY, *PLAIN, *SHOWING, *FRONT}] == []
