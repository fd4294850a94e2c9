"""What a process held in each phase of its life, seen from inside fresh processes that hold known amounts."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from workbench.process_memory import EXACT, SAMPLED, Phase

MIB = 1 << 20
SIZE = 64 * MIB
# What the interpreter itself may take or give back meanwhile.
SLACK = 4 * MIB
exactly = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux forgets a high-water mark on request"
)

WATCHED = """
import json, mmap, sys
from pathlib import Path
from workbench import process_memory
process_memory.SELF = Path(sys.argv[1])
watch, size = process_memory.Watch(), int(sys.argv[2])
phases = [watch.ended("start")]
held = b"x" * size
phases.append(watch.ended("holding"))
b"y" * size
phases.append(watch.ended("in passing"))
phases.append(watch.ended("nothing"))
reserved = mmap.mmap(-1, size)
phases.append(watch.ended("untouched"))
del held
phases.append(watch.ended("given back"))
print(json.dumps([watch.how, [phase.model_dump() for phase in phases]]))
"""


def phases_of_a_child(facts: str = "/proc/self") -> tuple[str, dict[str, Phase]]:
    """Watch a fresh process that reads its facts below a folder."""
    command = [sys.executable, "-c", WATCHED, facts, str(SIZE)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    how, phases = json.loads(told)
    return how, {phase["name"]: Phase.model_validate(phase) for phase in phases}


@pytest.fixture(scope="module")
def seen():
    return phases_of_a_child()[1]


@exactly
def test_memory_that_is_taken_and_touched_is_seen(seen):
    start, holding = seen["start"], seen["holding"]
    assert holding.end_bytes - start.end_bytes == pytest.approx(SIZE, abs=SLACK)
    assert holding.anonymous_bytes - start.anonymous_bytes == pytest.approx(SIZE, abs=SLACK)
    assert holding.peak_bytes == pytest.approx(holding.end_bytes, abs=SLACK)


@exactly
def test_memory_taken_in_passing_is_in_the_peak_of_its_phase_alone(seen):
    passing, nothing = seen["in passing"], seen["nothing"]
    assert passing.peak_bytes - passing.end_bytes == pytest.approx(SIZE, abs=SLACK)
    assert passing.end_bytes == pytest.approx(seen["holding"].end_bytes, abs=SLACK)
    assert nothing.peak_bytes == pytest.approx(nothing.end_bytes, abs=SLACK)


@exactly
def test_memory_that_is_only_reserved_is_not_held(seen):
    assert seen["untouched"].peak_bytes == pytest.approx(seen["nothing"].end_bytes, abs=SLACK)


@exactly
def test_what_is_given_back_is_gone_at_the_end_of_the_phase(seen):
    assert seen["given back"].end_bytes == pytest.approx(seen["start"].end_bytes, abs=SLACK)


@exactly
def test_private_and_file_backed_memory_make_up_what_is_held(seen):
    for phase in seen.values():
        assert phase.anonymous_bytes + phase.file_bytes == pytest.approx(phase.end_bytes, abs=SLACK)


@exactly
def test_a_child_of_a_fat_parent_shows_its_own_peak():
    fat = np.ones(400 * MIB, np.uint8)
    how, phases = phases_of_a_child()
    assert fat.nbytes > 2 * max(phase.peak_bytes for phase in phases.values())
    assert how == EXACT


def test_where_the_kernel_keeps_no_mark_the_limits_are_stated(tmp_path):
    how, phases = phases_of_a_child(str(tmp_path / "nothing"))
    assert how == SAMPLED
    assert "went unseen" in SAMPLED
    assert phases["holding"].end_bytes - phases["start"].end_bytes == pytest.approx(SIZE, abs=SLACK)
    assert phases["in passing"].peak_bytes == phases["in passing"].end_bytes
    assert all(phase.anonymous_bytes is None and phase.file_bytes is None for phase in phases.values())
