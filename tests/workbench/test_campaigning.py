"""A whole campaign over a small real store: all that is seen is kept, and what befalls one costs no other its place."""

import shutil
from contextlib import contextmanager

import psutil
import pytest
from kept_stand_ins import a_store, keep_stand_in
from stand_ins import LATENCY, MEMORY

from workbench.campaign import TWIN
from workbench.campaign_store import CampaignStore
from workbench.campaigning import Commands, hold_campaign
from workbench.contest import contest_of
from workbench.environment import Environment
from workbench.measuring import Measuring
from workbench.progress import Quiet
from workbench.store import ARTIFACT, PREDICTIONS
from workbench.timings import Timings

STAND_INS = Commands(latency=LATENCY, memory=MEMORY)
SETTINGS = Measuring(texts=4, rounds=4, processes=2, most_processes=2, patience=6)
SIZE = 16 << 20


def hold(store, runs, settings=SETTINGS, progress=None, commands=STAND_INS, **changes):
    contest = contest_of(runs, store, settings.texts)
    return hold_campaign(
        contest, settings, store, progress or Quiet(), "workbench measure", commands=commands, **changes
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return a_store(tmp_path_factory.mktemp("campaigning") / "store")


@pytest.fixture(scope="module")
def campaign(store):
    """One campaign in which nearly everything goes wrong."""
    keep_stand_in(store, "baseline", {"sleep": 0.010})
    behaviours = {
        "half": {"sleep": 0.005, "allocate": SIZE},
        "liar": {"sleep": 0.005, "flip": -1},
        "crasher": {"crash_at": 25},
        # Weighing takes fewer calls than that.
        "hanger": {"hang_at": 25},
        "torn": {"sleep": 0.010},
        "gone": {"sleep": 0.010},
    }
    runs = [keep_stand_in(store, name, behaviour) for name, behaviour in behaviours.items()]
    shutil.rmtree(store.folder("reviews-gone-s0") / ARTIFACT)
    (store.folder("reviews-torn-s0") / PREDICTIONS).write_bytes(b"torn")
    return hold(store, runs)


def of(campaign, name):
    return campaign.entry(name)


def test_everybody_is_entered_and_the_baseline_twice(campaign):
    names = [entry.name for entry in campaign.entries]
    assert names == ["baseline", TWIN, "half", "liar", "crasher", "hanger", "torn", "gone"]
    assert of(campaign, TWIN).run == of(campaign, "baseline").run
    assert {entry.runtime for entry in campaign.entries} == {"stand-in"}


def test_half_the_sleep_is_twice_as_fast(campaign):
    half = of(campaign, "half")
    assert half.ratio.value == pytest.approx(2, rel=0.2)
    assert half.ratio.processes == 2
    assert half.end_to_end.value == pytest.approx(2, rel=0.2)
    # What this machine's noise allows to say.
    assert campaign.verdict(half) == half.ratio.verdict_beside(campaign.control)


def test_the_twin_is_the_control(campaign):
    assert campaign.control == of(campaign, TWIN).ratio
    assert campaign.control.value == pytest.approx(1, rel=0.2)


def test_numbers_of_time_and_memory_stand_together(campaign):
    measured = {found.metric: found for found in of(campaign, "half").measurements}
    assert {"latency", "tokenization", "end-to-end", "throughput", "processor-time", "memory"} <= set(measured)
    assert measured["latency"].value >= 5
    assert measured["latency"].interval is not None and len(measured["latency"].values) == 2
    assert measured["memory"].value == pytest.approx(SIZE, abs=SIZE / 4)
    assert "latency/p99" not in measured
    assert of(campaign, TWIN).measured("latency") and not of(campaign, TWIN).measured("memory")


def test_answers_of_timed_calls_are_those_of_the_quality_run(campaign):
    for name in ("baseline", TWIN, "half"):
        assert (of(campaign, name).answers.differing, of(campaign, name).answers.beyond_rounding) == (0, 0)


def test_wrong_answers_leave_a_speed_unclear(campaign):
    liar = of(campaign, "liar")
    assert liar.answers.differing == liar.answers.beyond_rounding == liar.answers.timed > 0
    assert liar.ratio.value == pytest.approx(2, rel=0.2)
    assert campaign.verdict(liar) == "unclear"


def test_damaged_predictions_cost_only_their_run_s_check(campaign):
    torn = of(campaign, "torn")
    assert torn.answers is None
    assert f"{PREDICTIONS}: predictions cannot be read" in torn.unchecked
    assert torn.measured("latency") and campaign.verdict(torn) == "unclear"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("crasher", "the measuring process died (signal 11)"),
        ("hanger", "the measuring process did not answer within 6 s and was stopped"),
        ("gone", "behaviour.json"),
    ],
)
def test_whoever_fails_says_why_and_has_no_numbers_of_time(campaign, name, why):
    entry = of(campaign, name)
    assert why in entry.failure
    assert entry.ratio is None and entry.measured("latency") is None
    assert campaign.verdict(entry) is None
    assert f"{name}: not timed: {entry.failure}" in campaign.remarks


def test_what_could_be_weighed_of_a_failed_one_is_kept(campaign):
    assert of(campaign, "hanger").measured("memory")
    assert not of(campaign, "gone").measured("memory")
    assert any(remark.startswith("gone: its memory could not be measured") for remark in campaign.remarks)


def test_the_record_is_read_back_equal(campaign, store):
    assert CampaignStore(store).all() == ([campaign], [])


def test_every_raw_call_is_kept(campaign, store):
    assert campaign.raw_kept
    table = Timings.read(CampaignStore(store).folder(campaign.id)).table
    natural = table[(table["sort"] == "natural") & (table["entry"] == "half")]
    texts = of(campaign, "half").answers.timed
    assert len(natural) == texts * len(campaign.rounds)
    assert (table["model_ns"] > 0).all()
    assert {"crasher", "hanger"} <= set(table["entry"])


def test_each_process_has_its_rounds_and_noisy_ones_were_run_again(campaign):
    for process in (0, 1):
        rounds = [found for found in campaign.rounds if found.process == process]
        assert sum(found.kept for found in rounds) == SETTINGS.rounds
        assert [found.round for found in rounds] == list(range(len(rounds)))


def test_what_measuring_itself_took_is_recorded_and_is_little(campaign):
    assert 0 < campaign.cost.cpu_seconds < campaign.cost.wall_seconds / 2


def test_where_it_comes_from_is_recorded(campaign, store):
    assert (campaign.task, campaign.seed, campaign.rows, campaign.baseline) == ("reviews", 0, "rows", "baseline")
    assert campaign.command == "workbench measure"
    assert campaign.settings == SETTINGS.settled()
    assert campaign.environment.machine_key() == Environment.observe().machine_key()
    assert campaign.mean_tokens > 1
    assert campaign.id.startswith("reviews-")


def test_nothing_is_left_running_or_lying_about(campaign, store):
    assert list((store.root / "partial").iterdir()) == []
    children = psutil.Process().children(recursive=True)
    assert [child for child in children if "stand_ins" in " ".join(child.cmdline())] == []


def test_without_a_baseline_that_runs_the_others_have_times_and_no_ratios(tmp_path):
    store = a_store(tmp_path / "store")
    keep_stand_in(store, "baseline", {"refuse_at": 1})
    campaign = hold(store, [keep_stand_in(store, "half", {"sleep": 0.001})], probes=("latency",))
    assert of(campaign, "baseline").failure == of(campaign, TWIN).failure == "its weights are gone"
    assert of(campaign, "half").measured("latency").value >= 1
    assert of(campaign, "half").ratio is None
    assert campaign.fault == "the baseline could not be measured twice, so there is no control"


def test_one_can_weigh_without_timing(tmp_path):
    store = a_store(tmp_path / "store")
    campaign = hold(store, [keep_stand_in(store, "baseline")], probes=("memory",))
    assert of(campaign, "baseline").measured("memory")
    assert not of(campaign, "baseline").measured("latency")
    assert (campaign.rounds, campaign.fault, campaign.remarks) == ((), None, ())
    assert CampaignStore(store).read(campaign.id) == campaign


class Impatient(Quiet):
    """Somebody who presses Ctrl-C as soon as the first round is over."""

    @contextmanager
    def bar(self, label, total, calm=False):
        def stop(done: int) -> None:
            raise KeyboardInterrupt

        yield stop


def test_a_stopped_campaign_leaves_no_process_and_no_trace(tmp_path):
    store = a_store(tmp_path / "store")
    run = keep_stand_in(store, "baseline")
    with pytest.raises(KeyboardInterrupt):
        hold(store, [run], progress=Impatient(), probes=("latency",))
    assert CampaignStore(store).all() == ([], [])
    test_nothing_is_left_running_or_lying_about(None, store)


@pytest.mark.slow
def test_encoders_of_every_runtime_are_measured_through_one_contract(tmp_path, tiny_task):
    pytest.importorskip("openvino")
    from kept_runs import make_store

    store = make_store(tmp_path, tiny_task, recipes=("onnx", "openvino"))
    runs, _ = store.runs()
    settings = Measuring(texts=8, rounds=3, processes=2, most_processes=2)
    campaign = hold(store, runs, settings, commands=Commands())
    assert {entry.name: entry.runtime for entry in campaign.entries} == {
        **{"baseline": "torch", TWIN: "torch", "onnx": "onnxruntime", "openvino": "openvino"}
    }
    assert [entry.failure for entry in campaign.entries] == [None] * 4
    for entry in campaign.entries:
        assert entry.ratio.processes == 2
        assert (entry.answers.timed, entry.answers.beyond_rounding) == (8, 0)
        metrics = {"latency", "end-to-end", "throughput", "cold-start/load", "cold-start/first-call"}
        assert metrics <= {found.metric for found in entry.measurements}
        # The encoder is tiny; what its libraries take is not counted as its own.
        own = entry.measured("memory")
        assert entry.name == TWIN or own.value < entry.measured("memory/imports").value / 2
    assert CampaignStore(store).read(campaign.id) == campaign
