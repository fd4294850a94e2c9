"""The doctor says in plain words what would spoil a measurement, and stays calm whatever it meets."""

import math
import os
import socket
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from workbench.doctor import (
    EXTRAS,
    Finding,
    a_a_finding,
    cores_finding,
    disk_finding,
    examine,
    extras_finding,
    fit,
    governor_finding,
    hub_finding,
    listen,
    load_finding,
    memory_finding,
    processor_finding,
    steal_finding,
    virtualisation_finding,
    writing_finding,
)
from workbench.environment import Environment
from workbench.noise import Noise

ROOT = Path(__file__).parents[2]
QUIET = Noise(wall_seconds=1.0, load=0.1, steal_share=0.0, busy_cores=0.02)
DUMB = Noise(wall_seconds=1.0, load=None, steal_share=None, busy_cores=None)


def noise(**facts) -> Noise:
    return Noise(**{**vars(QUIET), **facts})


def machine(**facts) -> Environment:
    usual = {"system": "Linux 6.8", "machine": "x86_64", "python": "3.11", "cores": 4, "versions": {}}
    return Environment.model_validate({**usual, "cpu": "Xeon", "flags": ("avx2", "avx512_vnni"), **facts})


@contextmanager
def hub_that_answers(status: int, delay: float = 0.0) -> Iterator[tuple[str, list[str]]]:
    """A real server on a free port, and the requests it got."""
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_HEAD(self):
            asked.append(self.command)
            time.sleep(delay)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def _no_proxy_to_ourselves(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def test_a_whole_examination_of_this_machine_has_a_word_on_everything_and_leaves_nothing_behind(tmp_path):
    found = examine(tmp_path / "store", tmp_path / "deep" / "cache")
    assert [finding.topic for finding in found] == [
        *("load", "stolen time", "processor", "cores", "governor", "virtualisation", "memory"),
        *("room for the store", "store", "room for the cache", "cache", "hub", "extras"),
    ]
    assert all(finding.saw for finding in found)
    assert all((finding.advice == "") == (finding.level == "good") for finding in found)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_that_tells_nothing_is_examined_too(tmp_path):
    found = {finding.topic: finding for finding in examine(tmp_path, tmp_path, root=tmp_path / "nothing")}
    assert found["memory"] == Finding(
        "memory", "doubtful", "the system does not tell its free memory", "see to it that 2.0 GB are free"
    )
    assert found["processor"].level == "doubtful"
    assert found["governor"] == Finding("governor", "good", "the system does not show how it sets the clock")
    assert found["virtualisation"].saw == "no sign of a container or a virtual machine"


@pytest.mark.skipif(not Path("/proc/stat").is_file(), reason="only Linux counts busy time in /proc/stat")
def test_a_neighbour_at_work_is_heard():
    stop = threading.Event()
    worker = threading.Thread(target=lambda: all(not stop.is_set() for _ in iter(int, 1)))
    worker.start()
    heard = listen(0.4)
    stop.set()
    worker.join()
    assert heard.busy_cores > 0.5
    assert load_finding(heard, 1).level in {"doubtful", "bad"}


@pytest.mark.parametrize(
    ("busy", "cores", "level"),
    [
        (0.02, 2, "good"),
        (0.25, 2, "good"),
        (0.3, 2, "doubtful"),
        (1.6, 2, "bad"),
        (1.0, 1, "bad"),
        (2, 64, "good"),
        (4, 64, "doubtful"),
    ],
)
def test_others_may_do_their_housework_but_no_more(busy, cores, level):
    found = load_finding(noise(busy_cores=busy), cores)
    assert (found.level, found.saw) == (level, f"other programs keep {busy:.2f} of {cores} cores busy")


def test_load_that_cannot_be_seen_is_a_doubt_that_says_so():
    assert load_finding(DUMB, 2).level == "doubtful"
    assert load_finding(DUMB, 2).saw == "it cannot be seen how busy other programs are"
    assert load_finding(noise(busy_cores=None, load=1.5), 2).saw.endswith("(load average 1.50)")


@pytest.mark.parametrize(("share", "level"), [(0.0, "good"), (0.01, "good"), (0.03, "doubtful"), (0.25, "bad")])
def test_stolen_time_is_told_by_its_share(share, level):
    found = steal_finding(noise(steal_share=share))
    assert (found.level, found.saw) == (level, f"other virtual machines took {share:.1%} of this one's time")


def test_a_virtual_machine_is_told_and_doubted_only_when_time_is_stolen():
    guest = machine(virtualisation="docker, kvm")
    assert virtualisation_finding(guest, QUIET) == Finding(
        "virtualisation", "good", "this process runs inside: docker, kvm"
    )
    assert virtualisation_finding(guest, DUMB).level == "good"
    assert virtualisation_finding(guest, noise(steal_share=0.05)).level == "doubtful"
    assert virtualisation_finding(machine(), noise(steal_share=0.05)).level == "good"


def test_a_processor_without_int8_instructions_is_doubtful_in_a_sentence():
    found = processor_finding(machine(cpu="Core i7-4790", flags=("avx2",)))
    assert found.level == "doubtful"
    assert found.saw.startswith("Core i7-4790 (avx2); the processor announces no int8 instructions")
    assert found.advice == "measure int8 on the processor that will serve it"


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (None, "AMX is announced but OpenVINO is held below it"),
        ("AVX512_CORE_FP16", "ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16 holds PyTorch and OpenVINO below it"),
    ],
)
def test_amx_that_is_announced_but_not_used_is_said(limit, told):
    found = processor_finding(machine(flags=("avx512_vnni", "amx_int8"), isa_limit=limit))
    assert found.level == "good"
    assert told in found.saw


@pytest.mark.parametrize("limit", ["ALL", "all", "AVX512_CORE_AMX"])
def test_amx_that_is_used_is_not_remarked_on(limit):
    found = processor_finding(machine(flags=("avx512_vnni", "amx_int8"), isa_limit=limit))
    assert found == Finding("processor", "good", "Xeon (avx512_vnni amx_int8)")


@pytest.mark.parametrize(("limit", "level"), [("AVX2", "doubtful"), ("avx512_core", "doubtful"), ("AVX2_VNNI", "good")])
def test_a_limit_below_the_int8_instructions_is_doubtful(limit, level):
    found = processor_finding(machine(isa_limit=limit))
    assert found.level == level
    assert f"ONEDNN_MAX_CPU_ISA={limit}".lower() in found.saw.lower()


def test_one_core_is_doubtful_and_two_are_good():
    assert cores_finding(1, 8).level == "doubtful"
    assert cores_finding(2, 8) == Finding("cores", "good", "2 of 8 cores can be used")


def test_a_governor_that_saves_power_is_doubtful():
    saving = governor_finding(machine(governor="powersave", boost=False))
    assert (saving.level, saving.saw) == ("doubtful", "the clock is set by the governor powersave, boost off")
    assert "performance" in saving.advice
    assert governor_finding(machine(governor="performance", boost=True)).level == "good"


@pytest.mark.parametrize(
    ("kilobytes", "level", "saw"),
    [
        (8_000_000, "good", "8.2 GB of memory is free"),
        (1_500_000, "doubtful", "only 1.5 GB of memory is free"),
        (100_000, "bad", "only 102 MB of memory is free"),
    ],
)
def test_free_memory_is_what_the_system_can_give(tmp_path, kilobytes, level, saw):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(f"MemTotal: 16000000 kB\nMemFree: 5 kB\nMemAvailable: {kilobytes} kB\n")
    found = memory_finding(tmp_path)
    assert (found.level, found.saw) == (level, saw)


def test_free_memory_is_no_more_than_the_container_may_still_take(tmp_path):
    group = tmp_path / "sys/fs/cgroup"
    own = tmp_path / "proc/self"
    group.mkdir(parents=True)
    own.mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemAvailable: 16000000 kB\n")
    (own / "cgroup").write_text("0::/\n")
    (own / "mountinfo").write_text("30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    (group / "memory.max").write_text("3000000000\n")
    (group / "memory.current").write_text("2900000000\n")
    assert memory_finding(tmp_path).saw == "only 100 MB of memory is free"
    assert memory_finding(tmp_path).level == "bad"


def test_the_room_of_a_folder_that_is_not_made_yet_is_that_of_its_parent(tmp_path):
    stat = os.statvfs(tmp_path)
    free = stat.f_bavail * stat.f_frsize
    found = disk_finding("room for the store", tmp_path / "a" / "b")
    assert found.level == ("good" if free >= 2e9 else "doubtful" if free >= 2e8 else "bad")
    assert f" of disk is free at {tmp_path / 'a' / 'b'}" in found.saw


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="only Linux has a folder without room everywhere")
def test_a_folder_without_room_is_bad():
    assert disk_finding("room for the store", Path("/proc/store")) == Finding(
        *("room for the store", "bad", "only 0 MB of disk is free at /proc/store"),
        "make room or choose another folder",
    )


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="only Linux has a folder that nobody can write")
def test_a_folder_that_cannot_be_written_is_bad_and_the_advice_names_the_setting():
    found = writing_finding("store", Path("/proc/store"), "--store")
    assert found.level == "bad"
    assert found.saw.startswith("the store /proc/store cannot be written (")
    assert found.advice == "choose another with --store"


def test_a_store_below_a_file_or_behind_a_link_to_nowhere_is_bad(tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    below = writing_finding("store", tmp_path / "file" / "store", "--store")
    assert (below.level, "Not a directory" in below.saw) == ("bad", True)
    assert writing_finding("cache", tmp_path / "link", "WORKBENCH_CACHE").level == "bad"
    assert disk_finding("room for the cache", tmp_path / "link").level == "doubtful"


@pytest.mark.parametrize("status", [200, 401, 404, 405])
def test_a_hub_that_answers_is_good(status):
    with hub_that_answers(status) as (address, asked):
        assert hub_finding({"HF_ENDPOINT": address}) == Finding("hub", "good", f"the hub {address} answers")
    assert asked == ["HEAD"]


def test_a_hub_that_is_out_of_order_is_doubtful():
    with hub_that_answers(503) as (address, _):
        found = hub_finding({"HF_ENDPOINT": address})
    assert (found.level, "503 Service Unavailable" in found.saw) == ("doubtful", True)


def test_a_hub_that_does_not_answer_in_time_is_not_waited_for():
    with hub_that_answers(200, delay=2) as (address, _):
        before = time.monotonic()
        found = hub_finding({"HF_ENDPOINT": address}, patience=0.1)
        waited = time.monotonic() - before
    assert (found.level, found.saw) == ("doubtful", f"the hub {address} cannot be reached (no answer in 0.1 s)")
    assert waited < 1


def test_a_hub_behind_a_closed_port_is_doubtful_and_the_advice_comforts():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        found = hub_finding({"HF_ENDPOINT": address})
    assert found == Finding(
        *("hub", "doubtful", f"the hub {address} cannot be reached (Connection refused)"),
        "local folders and installed packages work without it",
    )


@pytest.mark.parametrize("address", ["huggingface.co", "file:///etc/hostname", "http://", "http://[", "http://a b"])
def test_an_endpoint_that_is_no_web_address_is_doubtful(address):
    assert hub_finding({"HF_ENDPOINT": address}).level == "doubtful"


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"])
def test_in_offline_mode_the_hub_is_not_asked(variable):
    with hub_that_answers(200) as (address, asked):
        found = hub_finding({variable: "true", "HF_ENDPOINT": address})
        assert hub_finding({variable: "0", "HF_ENDPOINT": address}).level == "good"
    assert asked == ["HEAD"]
    assert found.saw == f"offline mode is set ({variable}=true), so the hub is not asked"
    assert found.level == "doubtful" and f"unset {variable}" in found.advice


def test_missing_extras_are_named_with_the_command_that_gets_them():
    lacking = {"openvino": ("numpy", "no-such-runtime"), "demo": ("numpy",), "more": ("no-such-thing",)}
    assert extras_finding(lacking) == Finding(
        *("extras", "doubtful", "no-such-runtime, no-such-thing are not installed"),
        "pip install 'encoder-workbench[openvino,more]'",
    )
    assert extras_finding({"demo": ("numpy",)}).level == "good"


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_extras_asked_for_are_those_the_project_declares(extra):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert [line.partition("=")[0].rstrip("<>") for line in declared[extra]] == list(EXTRAS[extra])


@pytest.mark.parametrize(("ratio", "low", "high"), [(1.0, 0.97, 1.04), (1.01, 1.005, 1.02), (0.99, 0.96, 1.001)])
def test_a_baseline_that_comes_out_as_itself_is_good(ratio, low, high):
    found = a_a_finding(ratio, low, high)
    assert found.level == "good"
    assert found.saw == f"the baseline beside itself came out as {ratio:.3f}× ({low:.3f} to {high:.3f})"


@pytest.mark.parametrize(
    ("ratio", "low", "high", "why"),
    [
        (1.0, 0.9, 1.1, "less sure than ±5%"),
        (1.0, 0.97, 1.06, "less sure than ±5%"),
        (1.04, 1.01, 1.045, "a difference where there is none"),
        (0.9, 0.88, 0.92, "a difference where there is none"),
        (math.nan, math.nan, math.nan, "less sure than ±5%"),
    ],
)
def test_a_baseline_that_differs_from_itself_or_is_unsure_is_doubtful(ratio, low, high, why):
    found = a_a_finding(ratio, low, high)
    assert (found.level, found.advice) == ("doubtful", "close other programs and try again")
    assert found.saw.endswith(why)


def test_the_verdict_names_the_worst_and_is_one_sentence():
    good = Finding("cores", "good", "2 of 2 cores can be used")
    hub = Finding("hub", "doubtful", "the hub cannot be reached", "wait")
    load = Finding("load", "doubtful", "others are busy", "close them")
    store = Finding("store", "bad", "the store cannot be written", "choose another")
    assert fit([good]) == "fit to measure"
    assert fit([load, good, hub]) == "measurements will work, but others are busy; the hub cannot be reached"
    assert fit([load, store]) == "not fit to measure: the store cannot be written"
