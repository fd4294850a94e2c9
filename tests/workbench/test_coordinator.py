"""The ruler held against known lengths: contestants that sleep, and some that crash, hang, refuse or talk."""

import statistics

import pytest
from stand_ins import LATENCY, write_stand_in

from workbench.coordinator import Coordinator, Field
from workbench.measuring import Measuring
from workbench.progress import Quiet
from workbench.ratios import fault_of_control, ratio_of

TEXTS = tuple((" ".join(["word"] * (2 + number)),) for number in range(6))
SETTINGS = Measuring(rounds=6, processes=3, most_processes=3, patience=20)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """One campaign over everybody."""
    folder = tmp_path_factory.mktemp("stand-ins")
    artifacts = {
        "baseline": write_stand_in(folder / "slow", sleep=0.020),
        "again": write_stand_in(folder / "twin", sleep=0.020),
        "half": write_stand_in(folder / "fast", sleep=0.010),
        "crasher": write_stand_in(folder / "crasher", sleep=0.001, crash_at=30),
        "hanger": write_stand_in(folder / "hanger", sleep=0.001, hang_at=len(TEXTS) + 9),
        "refuser": write_stand_in(folder / "refuser", refuse_at=2),
        "talker": write_stand_in(folder / "talker", sleep=0.020, babble_at=1),
        "nothing": folder / "not there",
    }
    scratch = tmp_path_factory.mktemp("scratch")
    settings = SETTINGS.model_copy(update={"patience": 4.0})
    return Coordinator(Field(artifacts, TEXTS), settings, scratch, Quiet(), LATENCY).time_all()


def ratio(log, name, what="model"):
    return ratio_of(log.timings().log_ratios("baseline", name, what))


def test_half_the_sleep_is_measured_as_twice_as_fast_with_an_interval_around_two(log):
    found = ratio(log, "half")
    assert found.low < 2 < found.high or found.value == pytest.approx(2, rel=0.02)
    assert found.value == pytest.approx(2, rel=0.05)
    assert found.verdict == "faster"
    assert found.processes == 3


def test_the_same_twice_is_never_a_difference(log):
    assert ratio(log, "again").verdict in ("equivalent", "unclear")
    assert fault_of_control(ratio(log, "again")) is None


def test_the_median_call_is_as_long_as_the_sleep(log):
    for value in log.timings().process_medians("half"):
        assert 10 <= value < 12


def test_every_process_and_round_of_every_contestant_is_on_record(log):
    calls = log.timings().table
    natural = calls[(calls["sort"] == "natural") & (calls["entry"] == "half")]
    assert set(natural["process"]) == {0, 1, 2}
    kept = natural[natural["kept"]].groupby("process")["round"].nunique()
    assert list(kept) == [6, 6, 6]
    assert len(natural) == len(TEXTS) * len(log.rounds)
    assert set(calls["sort"]) == {"first", "natural", "throughput"}


def test_the_order_of_visits_changes_from_round_to_round(log):
    calls = log.timings().table
    places = calls[(calls["entry"] == "baseline") & (calls["sort"] == "natural")].groupby(["process", "round"])["place"]
    assert len(set(places.first())) > 1


def test_a_crash_is_told_with_its_signal_and_leaves_the_others_alone(log):
    assert "signal 11" in log.seen["crasher"].failure
    assert log.seen["half"].failure is None


def test_a_hanging_process_is_stopped_after_the_time_limit(log):
    assert "did not answer within 4 s and was stopped" in log.seen["hanger"].failure


def test_a_refusal_is_told_in_its_own_words(log):
    assert log.seen["refuser"].failure == "its weights are gone"


def test_an_artifact_that_is_gone_is_told(log):
    assert "behaviour.json" in log.seen["nothing"].failure


def test_what_a_contestant_prints_does_not_reach_the_coordinator(log):
    assert log.seen["talker"].failure is None
    assert ratio(log, "talker").value == pytest.approx(1, rel=0.05)


def test_no_measuring_process_is_left_behind(log):
    import psutil

    children = psutil.Process().children(recursive=True)
    assert [child for child in children if "stand_ins" in " ".join(child.cmdline())] == []


def test_tokens_and_model_add_up_to_the_whole(log):
    timings = log.timings()
    parts = [timings.process_medians("half", what) for what in ("model", "tokenize", "both")]
    model, tokens, both = map(statistics.mean, parts)
    assert both == pytest.approx(model + tokens, rel=0.02)
    assert tokens < model


def test_each_round_says_what_the_machine_did_meanwhile(log):
    for found in log.rounds:
        assert found.seconds > 0
        assert found.others_cores is not None and found.others_cores >= 0
        assert found.steal_share is not None and 0 <= found.steal_share <= 1


def two_stand_ins(folder, sleep):
    """A baseline that sleeps so long, another that sleeps half of it, and a folder for scratch beside them."""
    (folder / "scratch").mkdir()
    return {
        "baseline": write_stand_in(folder / "a", sleep=sleep),
        "other": write_stand_in(folder / "b", sleep=sleep / 2),
    }


def test_a_grid_of_shapes_is_timed_on_request(tmp_path):
    artifacts = two_stand_ins(tmp_path, 0.002)
    settings = SETTINGS.model_copy(update={"grid": True, "processes": 2, "most_processes": 2, "rounds": 2})
    log = Coordinator(Field(artifacts, TEXTS), settings, tmp_path / "scratch", Quiet(), LATENCY).time_all()
    grid = log.timings().calls("other", "grid")
    shapes = set(zip(grid["samples"], grid["tokens"], strict=True))
    assert shapes == {(batch, length) for batch in (1, 8, 32) for length in (16, 32, 64, 128)}
    assert grid["text"].isna().all()


def test_a_campaign_goes_on_until_ratios_are_known_well_enough(tmp_path):
    artifacts = two_stand_ins(tmp_path, 0.004)
    settings = SETTINGS.model_copy(update={"processes": 2, "most_processes": 4, "rounds": 2, "precision": 1e-9})
    log = Coordinator(Field(artifacts, TEXTS), settings, tmp_path / "scratch", Quiet(), LATENCY).time_all()
    assert len(log.seen["other"].load_ns) == 4
