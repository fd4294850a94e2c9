"""What is said of the machine and its packages is what the system itself says."""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from pydantic import ValidationError

from workbench.environment import PACKAGES, TELLING_FLAGS, Environment, installed_versions, usable_cores


def test_the_machine_is_described_as_the_system_describes_it():
    here = Environment.observe()
    assert here.python == platform.python_version()
    assert here.machine == platform.machine()
    assert here.system.split()[0] == platform.system()
    assert here.versions["torch"] == version("torch")


@pytest.mark.skipif(not Path("/proc/cpuinfo").is_file(), reason="only Linux describes its processor in /proc/cpuinfo")
def test_the_processor_and_its_flags_are_the_first_core_s():
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    first = dict(line.split(":", 1) for line in text.partition("\n\n")[0].splitlines() if ":" in line)
    facts = {key.strip(): value.strip() for key, value in first.items()}
    here = Environment.observe()
    assert here.cpu == facts.get("model name")
    assert here.flags == tuple(flag for flag in TELLING_FLAGS if flag in facts.get("flags", "").split())


@pytest.mark.skipif(not Path("/proc/meminfo").is_file(), reason="only Linux tells its memory in /proc/meminfo")
def test_the_memory_is_what_the_kernel_says():
    line = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()[0]
    assert Environment.observe().memory_bytes == pytest.approx(int(line.split()[1]) * 1024, rel=0.01)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not bind processes to cores")
def test_cores_that_a_process_may_not_use_are_not_counted():
    code = (
        "import os; from workbench.environment import usable_cores;"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(usable_cores())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"
    assert usable_cores() == len(os.sched_getaffinity(0))


def test_versions_are_those_of_installed_packages_and_absent_for_others():
    found = installed_versions()
    assert set(found) <= set(PACKAGES)
    assert all(found[name] == version(name) for name in found)
    assert {"encoder-workbench", "torch", "transformers", "numpy"} <= set(found)


def test_looking_at_the_machine_imports_nothing_heavy():
    code = (
        "import sys; from workbench.environment import Environment; Environment.observe();"
        "print(sorted({'torch', 'transformers', 'numpy', 'onnxruntime'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_an_environment_reads_back_what_it_wrote_and_is_frozen():
    here = Environment.observe()
    assert Environment.model_validate_json(here.model_dump_json()) == here
    assert json.loads(here.model_dump_json())["cores"] == usable_cores()
    with pytest.raises(ValidationError, match="frozen"):
        here.cores = 64  # type: ignore[misc]


def test_a_fact_that_could_not_be_read_is_absent():
    bare = Environment(system="x", machine="y", python="3", cores=1, versions={})
    assert (bare.cpu, bare.flags, bare.memory_bytes) == (None, (), None)
