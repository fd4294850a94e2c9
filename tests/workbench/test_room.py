"""One more encoder is opened only where there is memory for it."""

import re
from pathlib import Path

import pytest

from workbench.errors import WorkerError
from workbench.room import available_memory, check_room


def machine(root: Path, free_bytes: int, limit: int | None = None, used: int = 0) -> Path:
    """A root with what Linux tells of its memory, inside a container with a limit if there is one."""
    for folder in ("proc/self", "sys/fs/cgroup"):
        (root / folder).mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal: 64000000 kB\nMemFree: 1 kB\nMemAvailable: {free_bytes // 1024} kB\n")
    if limit is not None:
        (root / "proc/self/cgroup").write_text("0::/\n")
        (root / "proc/self/mountinfo").write_text("30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        (root / "sys/fs/cgroup/memory.max").write_text(f"{limit}\n")
        (root / "sys/fs/cgroup/memory.current").write_text(f"{used}\n")
    return root


@pytest.fixture
def artifact(tmp_path):
    """An artifact of 300 MB that takes no room itself."""
    folder = tmp_path / "artifact"
    (folder / "tokenizer").mkdir(parents=True)
    for name, size in (("model.safetensors", 290_000_000), ("tokenizer/words.json", 10_000_000)):
        with (folder / name).open("wb") as stream:
            stream.truncate(size)
    return folder


def test_available_memory_is_what_can_be_had_without_swapping(tmp_path):
    assert available_memory(machine(tmp_path, 2048 * 1024)) == 2048 * 1024


def test_a_container_s_limit_counts_where_it_is_the_lower_one(tmp_path):
    assert available_memory(machine(tmp_path / "a", 8 * 10**9, limit=3 * 10**9, used=10**9)) == 2 * 10**9
    assert available_memory(machine(tmp_path / "b", 1024**3, limit=3 * 10**9)) == 1024**3


def test_a_system_that_does_not_tell_is_trusted(tmp_path, artifact):
    assert available_memory(tmp_path / "nothing") is None
    check_room(artifact, tmp_path / "nothing")


def test_an_artifact_is_refused_where_its_libraries_and_copies_of_it_do_not_fit(tmp_path, artifact):
    check_room(artifact, machine(tmp_path / "enough", 1_600_000_000))
    told = "about 1.5 GB are needed to open it beside the others, 1.4 GB are free; measure fewer runs at a time"
    with pytest.raises(WorkerError, match=f"^{re.escape(told)}$"):
        check_room(artifact, machine(tmp_path / "little", 1_400_000_000))


def test_a_container_that_would_be_killed_is_refused(tmp_path, artifact):
    with pytest.raises(WorkerError, match=r"0\.5 GB are free"):
        check_room(artifact, machine(tmp_path / "limited", 64 * 10**9, limit=2 * 10**9, used=15 * 10**8))


def test_this_machine_tells_what_it_has():
    assert available_memory() is None or available_memory() > 0
