"""Settings of a campaign are checked when they are made, and spelt out before they are used."""

import pytest
from pydantic import ValidationError

from workbench.environment import usable_cores
from workbench.measuring import QUICK_PROCESSES, Measuring


def test_plain_settings_stand_as_they_are():
    assert Measuring().settled() == Measuring()
    assert (Measuring().threads, Measuring().quick) == (1, False)


def test_no_number_of_threads_means_all_usable_cores():
    assert Measuring(threads=0).settled().threads == usable_cores()
    assert Measuring(threads=3).settled().threads == 3


def test_a_quick_look_has_a_fixed_number_of_processes_and_fewer_rounds():
    quick = Measuring(quick=True, processes=12, most_processes=20).settled()
    assert quick.processes == quick.most_processes == QUICK_PROCESSES
    assert quick.rounds < Measuring().rounds and quick.seconds < Measuring().seconds
    assert quick.quick


def test_a_quick_look_never_takes_longer_than_was_asked_for():
    quick = Measuring(quick=True, rounds=2, seconds=0.5).settled()
    assert (quick.rounds, quick.seconds) == (2, 0.5)


def test_at_least_so_many_processes_are_at_most_no_fewer():
    assert Measuring(processes=12).settled().most_processes == 12
    assert Measuring(processes=3, most_processes=7).settled().most_processes == 7


@pytest.mark.parametrize("settings", [{}, {"quick": True}, {"threads": 0}, {"processes": 20}])
def test_what_is_settled_stays_settled(settings):
    settled = Measuring(**settings).settled()
    assert settled.settled() == settled


@pytest.mark.parametrize(
    "settings",
    [
        *({"threads": -1}, {"processes": 1}, {"most_processes": 1}, {"rounds": 0}, {"texts": 0}),
        *({"precision": 0}, {"seconds": 0}, {"patience": 0}, {"speed": 3}),
    ],
)
def test_senseless_settings_are_refused(settings):
    with pytest.raises(ValidationError):
        Measuring(**settings)
