"""What is said of the machine and its packages is what the system itself says, on this machine and on others."""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from pydantic import ValidationError

from workbench.cgroup import cpu_quota, memory_left, memory_limit
from workbench.environment import (
    PACKAGES,
    TELLING_FLAGS,
    Environment,
    boost,
    installed_versions,
    load,
    memory,
    numa_nodes,
    processor,
    usable_cores,
    virtualisation,
)

GIB = 2**30

# A rented ARM server: no model name, features instead of flags.
GRAVITON = """\
processor\t: 0
BogoMIPS\t: 2100.00
Features\t: fp asimd evtstrm aes pmull sha2 crc32 atomics fphp asimdhp cpuid asimdrdm asimddp sve asimdfhm i8mm bf16
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd40
CPU revision\t: 1

processor\t: 1
BogoMIPS\t: 2100.00
Features\t: fp asimd evtstrm aes pmull sha2 crc32 atomics fphp asimdhp cpuid asimdrdm asimddp sve asimdfhm i8mm bf16
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd40
CPU revision\t: 1
"""
# A desk machine from before VNNI.
HASWELL = """\
processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model name\t: Intel(R) Core(TM) i7-4790 CPU @ 3.60GHz
cpu MHz\t\t: 3591.682
flags\t\t: fpu vme de pse tsc msr sse sse2 ht syscall nx lm pni ssse3 fma cx16 sse4_1 sse4_2 avx f16c rdrand avx2 bmi2
"""
# A container of Docker under version 1: groups are named as the host sees them, mounts begin at the container's own.
DOCKER_V1 = {
    "proc/self/cgroup": """\
12:memory:/docker/3f2a
4:cpu,cpuacct:/docker/3f2a
1:name=systemd:/docker/3f2a
""",
    "proc/self/mountinfo": """\
667 662 0:61 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755
676 667 0:31 /docker/3f2a /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - cgroup cgroup rw,cpu,cpuacct
680 667 0:39 /docker/3f2a /sys/fs/cgroup/memory ro,nosuid master:19 - cgroup cgroup rw,memory
""",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "1610612736\n",
    "sys/fs/cgroup/memory/memory.stat": "cache 900000000\ninactive_file 5\ntotal_inactive_file 536870912\n",
}
# A service under version 2 whose slice is limited more tightly in memory, and less in time, than itself.
SERVICE_V2 = {
    "proc/self/cgroup": "0::/system.slice/bench.service\n",
    "proc/self/mountinfo": "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu io memory pids\n",
    "sys/fs/cgroup/system.slice/cpu.max": "800000 100000\n",
    "sys/fs/cgroup/system.slice/memory.max": "4294967296\n",
    "sys/fs/cgroup/system.slice/memory.current": "1073741824\n",
    "sys/fs/cgroup/system.slice/memory.stat": "anon 536870912\ninactive_file 268435456\n",
    "sys/fs/cgroup/system.slice/bench.service/cpu.max": "350000 100000\n",
    "sys/fs/cgroup/system.slice/bench.service/memory.max": "max\n",
    "sys/fs/cgroup/system.slice/bench.service/memory.current": "1000\n",
}


def files(root: Path, told: dict[str, str]) -> Path:
    """The root of a machine that tells these things."""
    for name, text in told.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def machine(**facts) -> Environment:
    usual = {
        "system": "Linux 6.8.0-41-generic",
        "machine": "x86_64",
        "python": "3.11.7",
        "cores": 4,
        "cpu": "AMD EPYC 9R14",
        "flags": ("avx2", "avx512f", "avx512_vnni"),
        "memory_bytes": 16_400_000_000,
        "versions": {"torch": "2.13.0", "transformers": "4.57.6"},
    }
    return Environment.model_validate({**usual, **facts})


def test_the_machine_is_described_as_the_system_describes_it():
    here = Environment.observe()
    assert here.python == platform.python_version()
    assert here.machine == platform.machine()
    assert here.system.split()[0] == platform.system()
    assert here.versions["torch"] == version("torch")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors are not named in /proc/cpuinfo")
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
    assert Environment.observe().memory_bytes == int(line.split()[1]) * 1024
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert Environment.observe().memory_bytes == pytest.approx(pages, rel=0.01)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not bind processes to cores")
def test_cores_that_a_process_may_not_use_are_not_counted(tmp_path):
    code = (
        "import os; from workbench.environment import usable_cores;"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(usable_cores())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"
    assert usable_cores(tmp_path) == len(os.sched_getaffinity(0))


def test_an_arm_server_is_named_by_its_core_and_keeps_its_int8_features(tmp_path):
    root = files(tmp_path, {"proc/cpuinfo": GRAVITON})
    assert processor(root) == ("Arm Neoverse-V1", ("asimddp", "i8mm", "sve"))
    assert Environment.observe(root).has_int8_instructions


@pytest.mark.parametrize(
    ("implementer", "part", "name"),
    [
        ("0x41", "0xd0c", "Arm Neoverse-N1"),
        ("0xc0", "0xac3", "Ampere part 0xac3"),
        ("0x77", "0x1", "maker 0x77 part 0x1"),
    ],
)
def test_an_arm_processor_that_nobody_listed_is_told_by_its_numbers(tmp_path, implementer, part, name):
    told = GRAVITON.replace("0x41", implementer).replace("0xd40", part)
    assert processor(files(tmp_path, {"proc/cpuinfo": told}))[0] == name


def test_a_desk_machine_from_before_vnni_has_no_int8_instructions_and_says_what_follows(tmp_path):
    desk = Environment.observe(files(tmp_path, {"proc/cpuinfo": HASWELL}))
    assert (desk.cpu, desk.flags) == ("Intel(R) Core(TM) i7-4790 CPU @ 3.60GHz", ("avx2", "f16c", "fma"))
    assert not desk.has_int8_instructions
    assert "no int8 instructions (none of avx512_vnni," in desk.int8_doubt()
    assert "will be different on a processor that has them" in desk.int8_doubt()


@pytest.mark.parametrize("flag", ["avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"])
def test_each_int8_instruction_set_alone_dispels_the_doubt(flag):
    assert machine(flags=("avx2", flag)).int8_doubt() is None


def test_where_no_flag_could_be_read_the_doubt_does_not_claim_that_there_are_none():
    assert machine(flags=()).int8_doubt().startswith("it could not be seen whether")


def test_a_container_of_version_1_is_held_to_its_quota_rounded_down(tmp_path):
    root = files(tmp_path, DOCKER_V1)
    assert cpu_quota(root) == 1.5
    assert usable_cores(root) == 1
    assert memory_limit(root) == 2 * GIB
    assert memory_left(root) == 1 * GIB


def test_without_a_limit_version_1_writes_minus_one_and_a_huge_number_and_both_are_absent(tmp_path):
    free = {"cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"}
    root = files(tmp_path, DOCKER_V1 | {f"sys/fs/cgroup/{name}": text for name, text in free.items()})
    assert (cpu_quota(root), memory_limit(root), memory_left(root)) == (None, None, None)


def test_in_version_2_the_tightest_group_above_decides(tmp_path):
    root = files(tmp_path, SERVICE_V2)
    assert cpu_quota(root) == 3.5
    assert usable_cores(root) == min(3, usable_cores(tmp_path / "elsewhere"))
    assert memory_limit(root) == 4 * GIB
    assert memory_left(root) == 4 * GIB - 1 * GIB + GIB // 4


def test_half_a_core_counts_as_one(tmp_path):
    half = {"sys/fs/cgroup/system.slice/bench.service/cpu.max": "50000 100000\n"}
    assert usable_cores(files(tmp_path, SERVICE_V2 | half)) == 1


def test_a_quota_above_the_cores_there_are_adds_none(tmp_path):
    much = {"sys/fs/cgroup/system.slice/bench.service/cpu.max": "max 100000\n"}
    large = {"sys/fs/cgroup/system.slice/cpu.max": "409600000 100000\n"}
    assert usable_cores(files(tmp_path, SERVICE_V2 | much | large)) == usable_cores(tmp_path / "elsewhere")


def test_a_container_that_cannot_see_its_own_group_reads_the_limits_where_they_are_mounted(tmp_path):
    outside = {"proc/self/cgroup": "0::/../../kubepods/pod7\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}
    assert cpu_quota(files(tmp_path, SERVICE_V2 | outside)) == 2.0


@pytest.mark.parametrize("words", ["", "nonsense", "a b c", "\x00"])
def test_files_that_say_nothing_sensible_give_no_facts(tmp_path, words):
    names = [*DOCKER_V1, *SERVICE_V2, "proc/meminfo", "proc/loadavg", "sys/devices/system/cpu/cpufreq/boost"]
    root = files(tmp_path, dict.fromkeys(names, words) | {"proc/cpuinfo": words})
    there = Environment.observe(root)
    assert there.flags == ()
    assert (there.cpu, there.memory_bytes, there.memory_limit_bytes, there.load_at_start) == (None, None, None, None)
    assert (there.boost, there.numa_nodes, there.virtualisation) == (None, None, None)


def test_a_root_without_files_gives_no_facts_instead_of_this_machine_s(tmp_path):
    assert (processor(tmp_path), memory(tmp_path), load(tmp_path)) == ((None, ()), None, None)
    assert (numa_nodes(tmp_path), boost(tmp_path), virtualisation(tmp_path)) == (None, None, None)


def test_clock_memory_and_load_are_read_where_the_system_keeps_them(tmp_path, monkeypatch):
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    told = {
        "proc/meminfo": "MemTotal:       16384000 kB\nMemFree:          200 kB\nHugePages_Total:       0\n",
        "proc/loadavg": "1.25 0.80 0.40 2/300 4711\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
        "sys/devices/system/node/node0/cpulist": "0-7\n",
        "sys/devices/system/node/node1/cpulist": "8-15\n",
        "sys/devices/system/node/online": "0-1\n",
    }
    there = Environment.observe(files(tmp_path, told | SERVICE_V2))
    assert (there.memory_bytes, there.memory_limit_bytes) == (16_384_000 * 1024, 4 * GIB)
    assert (there.load_at_start, there.governor, there.boost, there.numa_nodes) == (1.25, "powersave", True, 2)
    assert there.isa_limit == "AVX2"


@pytest.mark.parametrize(
    ("file", "text", "on"),
    [
        ("intel_pstate/no_turbo", "1", False),
        ("intel_pstate/no_turbo", "0", True),
        ("cpufreq/boost", "1", True),
        ("cpufreq/boost", "0", False),
    ],
)
def test_intel_tells_that_boost_is_off_and_others_that_it_is_on(tmp_path, file, text, on):
    assert boost(files(tmp_path, {f"sys/devices/system/cpu/{file}": text})) is on


@pytest.mark.parametrize(
    ("told", "word"),
    [
        ({"proc/cpuinfo": HASWELL}, None),
        ({"proc/cpuinfo": HASWELL.replace("fpu vme", "fpu hypervisor vme")}, "virtual machine"),
        ({"sys/hypervisor/type": "xen\n"}, "xen"),
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": 'engine="podman-4.9.3"\n'}, "podman"),
        ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
        ({"proc/self/cgroup": "0::/kubepods.slice/kubepods-burstable.slice/pod7\n"}, "kubernetes"),
    ],
)
def test_what_stands_between_us_and_the_machine_leaves_signs(tmp_path, told, word):
    assert virtualisation(files(tmp_path, told)) == word


@pytest.mark.parametrize(
    ("vendor", "product", "word"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "qemu"),
        ("Microsoft Corporation", "Virtual Machine", "hyper-v"),
        ("Microsoft Corporation", "Surface Laptop 5", None),
        ("Amazon EC2", "c7g.xlarge", "amazon ec2"),
        ("Amazon EC2", "c7g.metal", None),
        ("Google", "Google Compute Engine", "google compute engine"),
        ("LENOVO", "20XWCTO1WW", None),
    ],
)
def test_a_virtual_machine_is_told_from_a_real_one_of_the_same_vendor(tmp_path, vendor, product, word):
    dmi = {"sys/class/dmi/id/sys_vendor": f"{vendor}\n", "sys/class/dmi/id/product_name": f"{product}\n"}
    root = files(tmp_path, dmi)
    assert virtualisation(root) == word
    assert virtualisation(files(root, {".dockerenv": ""})) == (f"docker, {word}" if word else "docker")


def test_timings_of_one_machine_may_meet_after_an_update_of_the_system_and_a_reboot():
    before = machine(load_at_start=0.1, memory_bytes=16_400_000_000)
    after = machine(load_at_start=2.0, memory_bytes=16_390_000_000, system="Linux 6.8.0-45-generic", python="3.12.1")
    assert before.why_not_comparable(after) is None
    assert before.machine_key() == after.machine_key()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"cpu": "AMD EPYC 7R13"}, "processor (AMD EPYC 9R14 and AMD EPYC 7R13)"),
        ({"cpu": None}, "processor (AMD EPYC 9R14 and unknown)"),
        ({"flags": ("avx2", "avx512f")}, "instruction sets (only one has avx512_vnni)"),
        ({"machine": "aarch64"}, "architecture (x86_64 and aarch64)"),
        ({"cores": 2}, "cores (4 and 2)"),
        ({"memory_bytes": 8_200_000_000}, "memory (15 GiB and 8 GiB)"),
        ({"system": "Darwin 23.1"}, "system (Linux and Darwin)"),
    ],
)
def test_whatever_decides_timings_keeps_two_machines_apart_and_is_named(change, told):
    one, other = machine(), machine(**change)
    assert one.machine_key() != other.machine_key()
    assert (
        one.why_not_comparable(other)
        == f"the timings come from machines that cannot be compared: they differ in {told}"
    )


def test_all_differences_are_named_in_one_sentence():
    told = machine().why_not_comparable(machine(cores=2, machine="aarch64"))
    assert told.endswith("they differ in architecture (x86_64 and aarch64), cores (4 and 2)")


def test_versions_that_decide_timings_are_told_where_both_are_known_and_differ():
    newer = {"torch": "2.14.0", "transformers": "4.57.6", "openvino": "2026.4.1", "numpy": "9"}
    assert machine().version_differences(machine(versions=newer)) == (
        "torch was 2.13.0 in one measurement and 2.14.0 in the other, which alone can change timings",
    )
    assert machine().version_differences(machine()) == ()


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


def test_a_record_from_before_a_fact_was_kept_loads_and_the_fact_is_absent():
    kept = '{"system": "Linux 6.1", "machine": "x86_64", "python": "3.11", "cores": 2, "versions": {"torch": "2"}}'
    old = Environment.model_validate_json(kept)
    assert (old.cpu, old.flags, old.memory_bytes, old.memory_limit_bytes) == (None, (), None, None)
    assert (old.governor, old.boost, old.numa_nodes, old.virtualisation) == (None, None, None, None)
    assert (old.load_at_start, old.isa_limit) == (None, None)
