"""Environment: the machine and the versions behind a number, and whether two machines' timings may stand together."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from workbench.cgroup import HERE, cpu_quota, memory_limit, text_of
from workbench.files import hash_of

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
TIMING_PACKAGES = ("torch", "onnxruntime", "openvino", "transformers")
INT8_FLAGS = ("avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm")
TELLING_FLAGS = (
    *("avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "amx_bf16"),
    *("avx512_bf16", "avx512_fp16", "f16c", "fma"),
    *("asimddp", "i8mm", "sve"),
)
ISA_LIMIT_VARIABLE = "ONEDNN_MAX_CPU_ISA"
GIB = 2**30

# Linux tells an ARM processor by numbers only. These are the ones that servers rent out and desks hold.
ARM_MAKERS = {
    "0x41": "Arm",
    "0x48": "HiSilicon",
    "0x4e": "NVIDIA",
    "0x51": "Qualcomm",
    "0x61": "Apple",
    "0xc0": "Ampere",
}
ARM_PARTS = {
    "0xd08": "Cortex-A72",
    "0xd0b": "Cortex-A76",
    "0xd0c": "Neoverse-N1",
    "0xd40": "Neoverse-V1",
    "0xd49": "Neoverse-N2",
    "0xd4f": "Neoverse-V2",
}
# Words in a virtual machine's vendor and product name. Some vendors make real machines too, so both are looked at.
VIRTUAL_MACHINES = {
    "qemu": "qemu",
    "kvm": "kvm",
    "vmware": "vmware",
    "virtualbox": "virtualbox",
    "hvm domu": "xen",
    "parallels": "parallels",
    "microsoft corporation virtual machine": "hyper-v",
    "google compute engine": "google compute engine",
    "amazon ec2": "amazon ec2",
    "openstack": "openstack",
    "digitalocean droplet": "digitalocean",
    "hetzner vserver": "hetzner",
}
CONTAINER_SIGNS = {".dockerenv": "docker", "run/.containerenv": "podman"}


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
    memory_limit_bytes: int | None = None
    numa_nodes: int | None = None
    governor: str | None = None
    boost: bool | None = None
    virtualisation: str | None = None
    load_at_start: float | None = None
    isa_limit: str | None = None
    versions: dict[str, str]

    @classmethod
    def observe(cls, root: Path = HERE) -> Self:
        """Look at this machine, importing nothing heavy; what files tell is read below a root."""
        cpu, flags = processor(root)
        return cls(
            system=f"{platform.system()} {platform.release()}",
            machine=platform.machine(),
            python=platform.python_version(),
            cores=usable_cores(root),
            cpu=cpu,
            flags=flags,
            memory_bytes=memory(root),
            memory_limit_bytes=memory_limit(root),
            numa_nodes=numa_nodes(root),
            governor=text_of(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            boost=boost(root),
            virtualisation=virtualisation(root),
            load_at_start=load(root),
            isa_limit=os.environ.get(ISA_LIMIT_VARIABLE) or None,
            versions=installed_versions(),
        )

    @property
    def has_int8_instructions(self) -> bool:
        """Whether the processor announces instructions that multiply int8 numbers and add them up in one go."""
        return not set(INT8_FLAGS).isdisjoint(self.flags)

    def int8_doubt(self) -> str | None:
        """What to think of int8 timings taken here; nothing where the processor has instructions for int8."""
        if self.has_int8_instructions:
            return None
        seen = f"the processor announces no int8 instructions (none of {', '.join(INT8_FLAGS)})"
        if not self.flags:
            seen = "it could not be seen whether the processor has int8 instructions"
        return f"{seen}: the speed-up by int8 will be different on a processor that has them, as a rule larger"

    def machine_key(self) -> str:
        """A short name for all machines whose timings may stand in one verdict."""
        return hash_of(self._deciding())[:12]

    def why_not_comparable(self, other: Environment) -> str | None:
        """Say in which respects two machines differ so that their timings must not meet; absent when they may."""
        mine, theirs = self._deciding(), other._deciding()
        differing = [f"{fact} ({_both(mine[fact], theirs[fact])})" for fact in mine if mine[fact] != theirs[fact]]
        if not differing:
            return None
        return f"the timings come from machines that cannot be compared: they differ in {', '.join(differing)}"

    def version_differences(self, other: Environment) -> tuple[str, ...]:
        """A sentence for each library that decides timings and is there in two versions."""
        pairs = ((name, self.versions.get(name), other.versions.get(name)) for name in TIMING_PACKAGES)
        return tuple(
            f"{name} was {mine} in one measurement and {theirs} in the other, which alone can change timings"
            for name, mine, theirs in pairs
            if mine and theirs and mine != theirs
        )

    def _deciding(self) -> dict[str, Any]:
        """What decides timings. A new release of the same system does not, or no machine would outlive an update."""
        memory = None if self.memory_bytes is None else f"{round(self.memory_bytes / GIB)} GiB"
        return {
            "processor": self.cpu,
            "instruction sets": sorted(self.flags),
            "architecture": self.machine,
            "cores": self.cores,
            "memory": memory,
            "system": self.system.partition(" ")[0],
        }


def installed_versions() -> dict[str, str]:
    """The versions of the packages that decide results, as far as they are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def usable_cores(root: Path = HERE) -> int:
    """How many whole cores this process may use: those it is bound to, or fewer where its time is rationed."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota(root)
    return bound if quota is None else max(1, min(bound, int(quota)))


def processor(root: Path = HERE) -> tuple[str | None, tuple[str, ...]]:
    """The first core's model and those of its flags that matter to an encoder."""
    facts = _first_core(root)
    if not facts:
        return (platform.processor() or None) if root == HERE else None, ()
    have = f"{facts.get('flags', '')} {facts.get('Features', '')}".split()
    model = facts.get("model name") or _arm_name(facts) or facts.get("cpu") or None
    return model, tuple(flag for flag in TELLING_FLAGS if flag in have)


def memory(root: Path = HERE) -> int | None:
    """The bytes of memory that the system manages, whether or not this process may have them."""
    told = memory_facts(root).get("MemTotal")
    if told is not None or root != HERE:
        return told
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def memory_facts(root: Path = HERE) -> dict[str, int]:
    """What Linux tells of its memory, in bytes."""
    pairs = (line.partition(":") for line in (text_of(root / "proc/meminfo") or "").splitlines())
    told = ((name, rest.split()) for name, _, rest in pairs)
    return {name: int(rest[0]) * 1024 for name, rest in told if rest[1:] == ["kB"] and rest[0].isdecimal()}


def numa_nodes(root: Path = HERE) -> int | None:
    """How many banks of memory the machine has, each near to some of its cores."""
    return sum(1 for _ in (root / "sys/devices/system/node").glob("node[0-9]*")) or None


def boost(root: Path = HERE) -> bool | None:
    """Whether the processor may run above its rated clock while it is cool enough."""
    folder = root / "sys/devices/system/cpu"
    switches = {"1": True, "0": False}
    off = switches.get(text_of(folder / "intel_pstate/no_turbo") or "")
    return switches.get(text_of(folder / "cpufreq/boost") or "") if off is None else not off


def load(root: Path = HERE) -> float | None:
    """The load average of the last minute."""
    told = text_of(root / "proc/loadavg")
    try:
        if told is None:
            return os.getloadavg()[0] if root == HERE else None
        return float(told.split()[0])
    except (AttributeError, OSError, ValueError):
        return None


def virtualisation(root: Path = HERE) -> str | None:
    """Words for what stands between this process and the machine: a container, a virtual machine or both."""
    layers = [layer for layer in (_container(root), _virtual_machine(root)) if layer]
    return ", ".join(layers) or None


def _container(root: Path) -> str | None:
    told = text_of(root / "run/systemd/container")
    if told:
        return told
    groups = text_of(root / "proc/self/cgroup") or ""
    signs = (word for sign, word in CONTAINER_SIGNS.items() if os.path.lexists(root / sign))
    return next(signs, "kubernetes" if "kubepods" in groups else None)


def _virtual_machine(root: Path) -> str | None:
    told = text_of(root / "sys/hypervisor/type")
    if told:
        return told
    names = [text_of(root / "sys/class/dmi/id" / fact) or "" for fact in ("sys_vendor", "product_name")]
    if ".metal" in names[1]:
        return None
    known = (word for sign, word in VIRTUAL_MACHINES.items() if sign in " ".join(names).lower())
    flagged = "hypervisor" in _first_core(root).get("flags", "").split()
    return next(known, "virtual machine" if flagged else None)


def _first_core(root: Path) -> dict[str, str]:
    lines = (text_of(root / "proc/cpuinfo") or "").splitlines()
    # From the end, so that what the first core says stands.
    pairs = (line.split(":", 1) for line in reversed(lines) if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _arm_name(facts: dict[str, str]) -> str | None:
    maker, part = facts.get("CPU implementer"), facts.get("CPU part")
    if not maker or not part:
        return None
    name = ARM_PARTS.get(part) if maker == "0x41" else None
    return f"{ARM_MAKERS.get(maker, f'maker {maker}')} {name or f'part {part}'}"


def _both(mine: Any, theirs: Any) -> str:
    if isinstance(mine, list):
        return f"only one has {', '.join(sorted(set(mine) ^ set(theirs)))}"
    return f"{mine or 'unknown'} and {theirs or 'unknown'}"
