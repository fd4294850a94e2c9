"""Weighing: stand-ins of known weight, each in a fresh process; what goes wrong with one is told and harms no other."""

import sys
from pathlib import Path

import numpy as np
import pytest
from stand_ins import MEMORY, SCRIPT, write_stand_in

from workbench.campaign import TWIN
from workbench.coordinator import Field
from workbench.measuring import Measuring
from workbench.process_memory import SAMPLED, Phase
from workbench.progress import Quiet
from workbench.weighing import Weighing, memory_of, weigh_all

MIB = 1 << 20
SIZE = 64 * MIB
SLACK = 4 * MIB
TEXTS = (("one word",), ("or two",), ("and some more of them",))
# Stand-ins as they are weighed on a system without high-water marks to reset.
WITHOUT_MARKS = (
    *(sys.executable, "-P", "-c"),
    "import sys; from pathlib import Path; from workbench import process_memory;"
    "process_memory.SELF = Path('/nowhere');"
    f"sys.path.append({str(Path(SCRIPT).parent)!r}); import stand_ins;"
    "stand_ins.memory.serve(sys.argv[1], stand_ins.open_stand_in, lambda artifact: None)",
)


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stand-ins")
    return {
        "baseline": write_stand_in(folder / "light"),
        TWIN: folder / "light",
        "crasher": write_stand_in(folder / "crasher", crash_at=2),
        "holding": write_stand_in(folder / "holding", allocate=SIZE),
        "refuser": write_stand_in(folder / "refuser", refuse_at=1),
        "passing": write_stand_in(folder / "passing", passing=SIZE),
        "gone": folder / "not there",
    }


def weigh(artifacts, scratch, command=MEMORY, **settings) -> Weighing:
    return weigh_all(Field(artifacts, TEXTS), Measuring(**settings), scratch, Quiet(), command)


@pytest.fixture(scope="module")
def weighing(artifacts, tmp_path_factory):
    return weigh(artifacts, tmp_path_factory.mktemp("scratch"))


def size(weighing: Weighing, name: str, metric: str) -> float:
    (found,) = [found for found in weighing.found[name] if found.metric == metric]
    assert (found.unit, found.better) == ("bytes", "lower")
    return found.value


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell private from file-backed memory")
def test_a_stand_in_that_holds_64_mib_weighs_64_mib(weighing):
    for metric in ("memory", "memory/load", "memory/steady", "memory/anonymous"):
        assert size(weighing, "holding", metric) == pytest.approx(SIZE, abs=SLACK), metric
    assert size(weighing, "baseline", "memory") < SLACK


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux sees what is taken in passing")
def test_what_is_taken_only_while_opening_is_the_peak_of_that_phase_and_not_held(weighing):
    for metric in ("memory", "memory/load"):
        assert size(weighing, "passing", metric) == pytest.approx(SIZE, abs=SLACK), metric
    for metric in ("memory/first call", "memory/steady", "memory/anonymous"):
        assert size(weighing, "passing", metric) < SLACK, metric


def test_the_whole_process_is_the_imports_and_the_model(weighing):
    parts = size(weighing, "holding", "memory/imports") + size(weighing, "holding", "memory")
    assert size(weighing, "holding", "memory/process") == pytest.approx(parts)


def test_whoever_fails_is_told_of_and_the_others_go_on(weighing):
    assert set(weighing.found) == {"baseline", "holding", "passing"}
    crasher, refuser, gone = weighing.remarks
    assert crasher.startswith("crasher: its memory could not be measured: the measuring process died (signal 11)")
    assert refuser == "refuser: its memory could not be measured: its weights are gone"
    assert gone.startswith("gone: its memory could not be measured: the measuring process died (exit code 1)")


def test_the_twin_is_the_same_artifact_and_not_weighed_again(weighing):
    assert TWIN not in weighing.found


def test_a_fat_coordinator_does_not_make_its_processes_heavier(artifacts, weighing, tmp_path):
    fat = np.ones(400 * MIB, np.uint8)
    again = weigh({"baseline": artifacts["baseline"]}, tmp_path)
    usual = size(weighing, "baseline", "memory/process")
    assert size(again, "baseline", "memory/process") == pytest.approx(usual, abs=2 * SLACK)
    assert fat.nbytes > 2 * usual


def test_a_system_without_marks_is_remarked_on_once_whatever_went_wrong_before(artifacts, tmp_path):
    chosen = {name: artifacts[name] for name in ("refuser", "holding", "baseline")}
    found = weigh(chosen, tmp_path, WITHOUT_MARKS)
    assert found.remarks == [
        "refuser: its memory could not be measured: its weights are gone",
        f"memory on this system is {SAMPLED}",
    ]
    assert size(found, "holding", "memory") == pytest.approx(SIZE, abs=SLACK)
    assert "memory/anonymous" not in {measured.metric for measured in found.found["holding"]}


def test_a_process_that_hangs_is_given_up(tmp_path):
    artifacts = {"hanger": write_stand_in(tmp_path / "hanger", hang_at=1)}
    (remark,) = weigh(artifacts, tmp_path, patience=2.0).remarks
    assert remark.endswith("the measuring process did not answer within 2 s and was stopped")


def phase(name: str, peak: int, end: int, anonymous: int | None = None, file: int | None = None) -> Phase:
    return Phase(name=name, peak_bytes=peak, end_bytes=end, anonymous_bytes=anonymous, file_bytes=file)


def test_the_model_s_own_memory_is_what_each_phase_held_beyond_the_end_of_the_imports():
    found = memory_of(
        [
            phase("imports", peak=150, end=100, anonymous=60, file=40),
            phase("load", peak=400, end=200, anonymous=140, file=60),
            phase("first call", peak=230, end=210, anonymous=145, file=65),
            phase("steady", peak=90, end=90, anonymous=55, file=70),
        ]
    )
    assert {measured.metric: measured.value for measured in found} == {
        **{"memory": 300, "memory/imports": 100, "memory/load": 300, "memory/first call": 130, "memory/steady": 0},
        **{"memory/process": 400, "memory/anonymous": -5, "memory/file-backed": 30},
    }


def test_what_a_system_does_not_tell_is_absent():
    metrics = {found.metric for found in memory_of([phase("imports", 10, 10), phase("load", 20, 20)])}
    assert metrics == {"memory", "memory/imports", "memory/load", "memory/process"}
