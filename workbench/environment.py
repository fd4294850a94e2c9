"""Environment: the machine and the versions behind a number."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

PACKAGES = (
    "encoder-workbench",
    "torch",
    "transformers",
    "optimum",
    "optimum-onnx",
    "onnxruntime",
    "onnx",
    "openvino",
    "nncf",
    "accelerate",
    "datasets",
    "evaluate",
    "tokenizers",
    "numpy",
)
TELLING_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "amx_bf16")


class Environment(BaseModel):
    """A machine and what is installed on it; a fact that could not be read is absent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    machine: str
    python: str
    cores: int
    cpu: str | None = None
    flags: tuple[str, ...] = ()
    memory_bytes: int | None = None
    versions: dict[str, str]

    @classmethod
    def observe(cls) -> Self:
        """Look at this machine, importing nothing heavy."""
        cpu, flags = _processor()
        return cls(
            system=f"{platform.system()} {platform.release()}",
            machine=platform.machine(),
            python=platform.python_version(),
            cores=usable_cores(),
            cpu=cpu,
            flags=flags,
            memory_bytes=_memory(),
            versions=installed_versions(),
        )


def installed_versions() -> dict[str, str]:
    """The versions of the packages that decide results, as far as they are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> tuple[str | None, tuple[str, ...]]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None, ()
    facts = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    have = set(facts.get("flags", "").split())
    return facts.get("model name"), tuple(flag for flag in TELLING_FLAGS if flag in have)


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
