"""Third-party packages for tests: really built and installed by pip, into a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PIP = ("-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "--no-compile")
HUSH = ("--quiet", "--disable-pip-version-check", "--root-user-action", "ignore")


def installed(plugin: str, places: Path) -> Path:
    """Install one of the packages beside this file below ``places``, once, and give the folder for the path."""
    target = places / "third-party" / plugin
    if not target.is_dir():
        # Building writes beside the sources, and the repository must stay as it is.
        sources = shutil.copytree(HERE / plugin, places / "sources" / plugin)
        subprocess.run([sys.executable, *PIP, *HUSH, "--target", str(target), str(sources)], check=True)
    return target


def laid_out(folder: Path, name: str, source: str) -> Path:
    """Lay out a package of one module as an installer would, and give the folder for its metadata."""
    module = name.replace("-", "_")
    facts = folder / f"{module}-0.1.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (folder / f"{module}.py").write_text(source)
    return facts


def advertised(folder: Path, name: str, source: str) -> Path:
    """Lay out a package that advertises its ``Only`` as a strategy under its own name, and give the whole folder."""
    facts = laid_out(folder, name, source)
    (facts / "entry_points.txt").write_text(f"[workbench.strategies]\n{name} = {name.replace('-', '_')}:Only\n")
    return folder


def with_packages(*folders: Path, **changes: str) -> dict[str, str]:
    """The environment of a process that finds the packages in these folders, and whatever this process finds."""
    path = [*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), **changes}


def run_workbench(*words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the workbench in a process of its own."""
    command = [sys.executable, "-m", "workbench.cli", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, check=False)
