"""What else a machine did, from its own counters; what they do not tell is absent."""

import os
import time
from pathlib import Path

import pytest

from workbench import noise
from workbench.noise import FIELDS, Noise, Reading

HERTZ = os.sysconf("SC_CLK_TCK")


def reading(at: float, load: float | None = 0.5, **seconds: float) -> Reading:
    """A reading of counters that stand at so many seconds of processor time."""
    return Reading(at, load, {name: round(seconds.get(name, 0.0) * HERTZ) for name in FIELDS})


def test_busy_cores_are_all_time_that_was_neither_idle_nor_stolen():
    before = reading(100, user=10, idle=50)
    after = reading(104, user=14, nice=1, system=1, irq=0.5, softirq=0.5, idle=51, iowait=1, steal=1)
    assert after.since(before).busy_cores == pytest.approx((4 + 1 + 1 + 0.5 + 0.5) / 4)


def test_stolen_time_is_a_share_of_all_time():
    found = reading(10, user=2, idle=5, steal=1).since(reading(8))
    assert found.steal_share == pytest.approx(1 / 8)
    assert (found.wall_seconds, found.load) == (2, 0.5)


def test_counters_that_did_not_move_tell_nothing_of_stolen_time():
    assert reading(10.001).since(reading(10)).steal_share is None


@pytest.mark.parametrize("first", [reading(9, user=1), Reading(9, 0.1, None)])
def test_without_counters_only_time_and_load_are_told(first):
    assert Reading(10, 0.7, None).since(first) == Noise(1, 0.7, None, None)
    assert reading(10, 0.7).since(Reading(9, 0.1, None)) == Noise(1, 0.7, None, None)


def test_two_readings_of_the_same_moment_tell_nothing():
    assert reading(10).since(reading(10)).busy_cores is None


def test_the_first_line_of_the_counters_is_read_and_guests_are_not_counted_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "STAT", tmp_path / "stat")
    noise.STAT.write_text("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n")
    assert Reading.take().ticks == dict(zip(FIELDS, range(1, 9), strict=True))


@pytest.mark.parametrize("text", ["", "cpu 1 2 3\n", "cpu a b c d e f g h\n", "cpu ÿ"])
def test_counters_that_cannot_be_read_are_absent(text, tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "STAT", tmp_path / "stat")
    assert Reading.take().ticks is None
    noise.STAT.write_text(text, encoding="latin-1")
    assert Reading.take().ticks is None


@pytest.mark.skipif(not Path("/proc/stat").is_file(), reason="only Linux counts time in /proc/stat")
def test_what_this_machine_did_fits_its_cores():
    before = Reading.take()
    time.sleep(0.1)
    found = Reading.take().since(before)
    assert found.wall_seconds >= 0.1
    # Counters move in ticks, so a short while can seem busier than it was.
    assert 0 <= found.busy_cores <= os.cpu_count() + 2 / HERTZ / found.wall_seconds * len(FIELDS)
    assert found.load >= 0
