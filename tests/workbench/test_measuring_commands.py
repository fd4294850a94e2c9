"""`workbench measure` and `workbench doctor`: what they refuse, what they print, and with which code they end."""

from collections.abc import Callable

import pytest
from kept_stand_ins import a_store, keep_stand_in
from records import a_run
from said import Said, speaker

from workbench.campaign import Campaign
from workbench.campaign_store import CampaignStore
from workbench.measuring import Measuring
from workbench.measuring_commands import timed_against_itself
from workbench.progress import Quiet

TOPICS = [
    *("load", "stolen time", "processor", "cores", "governor", "virtualisation", "memory"),
    *("room for the store", "store", "room for the cache", "cache", "hub", "extras"),
]


@pytest.fixture
def workbench(monkeypatch, capsys) -> Callable[..., Said]:
    return speaker(monkeypatch, capsys)


@pytest.fixture
def store(tmp_path):
    """A baseline, and one each of everything that cannot stand beside it."""
    made = a_store(tmp_path / "store")
    keep_stand_in(made, "baseline")
    keep_stand_in(made, "drop")
    keep_stand_in(made, "orphan", study="another")
    keep_stand_in(made, "drop", id="sst2-drop-s0", task="sst2")
    keep_stand_in(made, "drop", id="reviews-drop-s1", seed=1)
    failed = a_run("reviews-sharp-failed", "sharp", failure={"stage": "apply", "message": "no [red]room[/red]"})
    with made.writing(failed.id) as folder:
        made.keep(failed, folder)
    return made


def complaint(said: Said) -> str:
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert "Traceback" not in said.err
    return said.err.removeprefix("error: ").strip()


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        (["reviews-dorp-s0"], "'reviews-dorp-s0'; did you mean 'reviews-drop-s0'?"),
        (["reviews-drop"], "no single run in"),
        (["reviews-sharp-failed"], "run reviews-sharp-failed failed (no [red]room[/red]); there is nothing to measure"),
        (["reviews-drop-s0", "sst2-drop-s0"], "measure runs of different tasks or rows one task at a time"),
        (["reviews-drop-s0", "reviews-drop-s1"], "have different seeds; measure one seed at a time"),
        (["reviews-orphan-s0"], "run reviews-orphan-s0 has no baseline in"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_runs_that_cannot_be_measured_are_refused_in_a_sentence_and_nothing_is_begun(workbench, store, runs, why, form):
    said = workbench("measure", *runs, "--store", store.root, *form)
    assert said.code == 2
    assert why in complaint(said)
    assert not CampaignStore(store).root.exists()


def test_rows_that_were_not_kept_are_told_with_the_way_out(workbench, store):
    store.rows_file("rows").unlink()
    said = workbench("measure", "reviews-drop-s0", "--store", store.root)
    assert said.code == 1
    assert "run their study again" in complaint(said)


def test_a_store_that_is_not_there_holds_no_run(workbench, tmp_path):
    said = workbench("measure", "x", "--store", tmp_path / "nowhere")
    assert (said.code, "'x'; none are known" in complaint(said)) == (2, True)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("arguments", [[], ["x", "--threads", "-1"], ["x", "--threads", "many"], ["x", "--speed"]])
def test_a_request_that_makes_no_sense_is_a_usage_error(workbench, arguments):
    said = workbench("measure", *arguments)
    assert said.code == 2
    assert "Usage" in said.err and "Traceback" not in said.err


def test_a_campaign_in_which_somebody_failed_is_kept_printed_and_ends_with_one(workbench, store):
    """The stand-ins are no artifacts of the workbench, which its own measuring processes say of them."""
    said = workbench("measure", "reviews-baseline", "--store", store.root, "--quick", "--json")
    assert said.code == 1
    campaign = Campaign.model_validate(said.told)
    assert CampaignStore(store).all() == ([campaign], [])
    assert all("not an artifact of the workbench" in entry.failure for entry in campaign.entries)
    assert campaign.settings == Measuring(quick=True).settled()
    assert "measure reviews-baseline" in campaign.command


def test_the_doctor_tells_everything_as_json(workbench, tmp_path):
    said = workbench("doctor", "--no-timing", "--json", "--store", tmp_path / "store")
    assert [finding["topic"] for finding in said.told["findings"]] == TOPICS
    levels = {finding["level"] for finding in said.told["findings"]}
    assert said.code == (1 if "bad" in levels else 0)
    assert said.told["verdict"]
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_s_table_ends_with_the_verdict(workbench, tmp_path):
    said = workbench("doctor", "--no-timing", "--store", tmp_path)
    for topic in ("load", "stolen time", "memory", "hub", "extras"):
        assert topic in said.out
    assert any(words in said.out for words in ("fit to measure", "measurements will work, but"))
    assert max(map(len, said.out.splitlines())) <= 100


def test_a_store_that_cannot_be_written_makes_a_machine_unfit(workbench, tmp_path):
    (tmp_path / "file").touch()
    said = workbench("doctor", "--no-timing", "--store", tmp_path / "file" / "store", "--json")
    assert said.code == 1
    assert said.told["verdict"].startswith("not fit to measure: ")
    (found,) = [finding for finding in said.told["findings"] if finding["topic"] == "store"]
    assert (found["level"], found["advice"]) == ("bad", "choose another with --store")


def test_the_doctor_takes_no_runs(workbench):
    assert workbench("doctor", "reviews-drop-s0").code == 2


@pytest.mark.slow
def test_the_doctor_times_the_same_against_the_same():
    found = timed_against_itself(Quiet(), Measuring(processes=2, most_processes=2, rounds=3))
    assert found.topic == "same against same"
    assert found.saw.startswith("the baseline beside itself came out as ")
    # How alike both are is the machine's doing.
    assert found.level in ("good", "doubtful")


def test_where_nothing_can_be_timed_the_doctor_says_why():
    found = timed_against_itself(Quiet(), Measuring(processes=2, most_processes=2, patience=0.01))
    assert (found.topic, found.level) == ("same against same", "bad")
    assert found.saw == "nothing can be timed: the measuring process did not answer within 0.01 s and was stopped"
