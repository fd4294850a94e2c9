"""A study is measured once: again only when something that decides the numbers has changed, or something failed."""

import pytest
from kept_stand_ins import a_store, keep_stand_in
from records import a_campaign, an_entry

from workbench.campaign import TWIN, Campaign
from workbench.campaign_store import CampaignStore
from workbench.contest import contest_of
from workbench.environment import Environment
from workbench.progress import Quiet
from workbench.study import Study
from workbench.study_campaigns import measure_study, measured_before
from workbench.timings import Timings

BOTH = {"latency": 12.5, "memory": 64e6}


class Heard(Quiet):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def a_study(**changes) -> Study:
    return Study.model_validate({"name": "s", "tasks": ["sst2"], **changes})


@pytest.fixture
def store(tmp_path):
    return a_store(tmp_path / "store")


@pytest.fixture
def runs(store):
    return [keep_stand_in(store, "baseline"), keep_stand_in(store, "drop", {"sleep": 1})]


def keep_campaign(store, runs, study, measured=None, **changes) -> Campaign:
    """Keep a campaign as one over these runs would be, with what was measured of some of them."""
    contest = contest_of(runs, store, study.measuring.texts)
    usual = {**dict.fromkeys(("baseline", "drop"), BOTH), TWIN: {"latency": 12.5}, **(measured or {})}
    entries = [
        an_entry(entered.name, measured=usual[entered.name], run=entered.run.id, artifact=entered.artifact_hash)
        for entered in contest.contestants
    ]
    facts = {"settings": study.measuring.settled(), "environment": Environment.observe(), "entries": entries}
    return CampaignStore(store).keep(a_campaign(**{**facts, **changes}), Timings.of([]))


def found_before(store, runs, study) -> Campaign | None:
    return measured_before(contest_of(runs, store, study.measuring.texts), study, store)


def test_what_was_measured_before_is_not_measured_again(store, runs):
    kept, heard = keep_campaign(store, runs, a_study()), Heard()
    assert measure_study(a_study(), runs, store, heard, "again") == [kept]
    assert heard.lines == [f"reviews: already measured (campaign {kept.id})"]
    assert CampaignStore(store).all() == ([kept], [])


def test_the_newest_of_several_counts(store, runs):
    keep_campaign(store, runs, a_study(), id="older")
    newer = keep_campaign(store, runs, a_study(), id="newer", created="2026-02-01T00:00:00.000+00:00")
    assert found_before(store, runs, a_study()) == newer


@pytest.mark.parametrize("setting", [{"threads": 2}, {"quick": True}, {"rounds": 3}, {"grid": True}, {"texts": 4}])
def test_with_another_setting_it_is_measured_again(store, runs, setting):
    keep_campaign(store, runs, a_study())
    assert found_before(store, runs, a_study(measuring=setting)) is None


def test_settings_that_come_to_the_same_are_the_same(store, runs):
    kept = keep_campaign(store, runs, a_study(measuring={"processes": 9, "most_processes": 9}))
    assert found_before(store, runs, a_study(measuring={"processes": 9, "most_processes": 5})) == kept


def test_another_artifact_is_measured(store, runs):
    keep_campaign(store, runs, a_study())
    other = keep_stand_in(store, "drop", {"sleep": 2}, id="reviews-drop-made-anew")
    assert found_before(store, [runs[0], other], a_study()) is None


def test_the_same_artifact_under_another_run_is_measured_so_that_its_record_has_numbers(store, runs):
    keep_campaign(store, runs, a_study())
    other = keep_stand_in(store, "drop", {"sleep": 1}, id="reviews-drop-of-more-probes")
    assert other.artifact == runs[1].artifact
    assert found_before(store, [runs[0], other], a_study()) is None


def test_one_more_or_one_less_is_measured_all_beside_each_other(store, runs):
    keep_campaign(store, runs, a_study())
    assert found_before(store, runs[:1], a_study()) is None
    assert found_before(store, [*runs, keep_stand_in(store, "share")], a_study()) is None


@pytest.mark.parametrize("fact", [{"cpu": "another processor"}, {"cores": 3}, {"flags": ("none",)}])
def test_another_machine_s_numbers_do_not_count(store, runs, fact):
    keep_campaign(store, runs, a_study(), environment=Environment.observe().model_copy(update=fact))
    assert found_before(store, runs, a_study()) is None


def test_numbers_of_other_versions_do_not_count(store, runs):
    here = Environment.observe()
    older = here.model_copy(update={"versions": {**here.versions, "torch": "0.1"}})
    keep_campaign(store, runs, a_study(), environment=older)
    assert found_before(store, runs, a_study()) is None


@pytest.mark.parametrize("name", ["baseline", "drop"])
@pytest.mark.parametrize("seen", [{}, {"memory": 64e6}, {"latency": 12.5}])
def test_what_lacks_something_of_somebody_is_measured_again(store, runs, name, seen):
    keep_campaign(store, runs, a_study(), measured={name: seen})
    assert found_before(store, runs, a_study()) is None


def test_a_twin_that_failed_is_measured_again(store, runs):
    keep_campaign(store, runs, a_study(), measured={TWIN: {}})
    assert found_before(store, runs, a_study()) is None


def test_only_what_the_study_asks_for_must_have_been_measured(store, runs):
    kept = keep_campaign(store, runs, a_study(), measured={"drop": {"latency": 12.5}})
    assert found_before(store, runs, a_study(measure=["quality", "latency"])) == kept


def test_a_damaged_record_is_passed_over(store, runs):
    kept = keep_campaign(store, runs, a_study())
    (CampaignStore(store).folder(kept.id) / "campaign.json").write_text("torn")
    assert found_before(store, runs, a_study()) is None


def test_a_study_that_asks_for_neither_time_nor_memory_holds_no_campaign(store, runs):
    assert measure_study(a_study(measure=["quality"]), runs, store, Heard(), "") == []
    assert not CampaignStore(store).root.exists()


def test_without_a_baseline_nothing_is_timed_and_that_is_said(store, runs):
    heard = Heard()
    assert measure_study(a_study(), runs[1:], store, heard, "") == []
    assert heard.lines == ["reviews: nothing is timed, because its baseline failed"]


def test_only_the_first_seed_is_timed(store, runs):
    kept = keep_campaign(store, runs, a_study(seeds=[0, 1]))
    others = [keep_stand_in(store, recipe, id=f"{recipe}-s1", seed=1) for recipe in ("baseline", "drop")]
    assert measure_study(a_study(seeds=[0, 1]), [*runs, *others], store, Quiet(), "") == [kept]
    assert measure_study(a_study(seeds=[2]), [*runs, *others], store, Quiet(), "") == []


def test_a_task_with_seeds_of_its_own_is_timed_with_the_first_of_them(store, runs):
    kept = keep_campaign(store, runs, a_study())
    reviews = {"name": "reviews", "train": "a.csv", "test": "a.csv", "text": "text", "label": "label"}
    study = a_study(tasks=[reviews], seeds=[2, 3], task_seeds={"reviews": [0]})
    assert measure_study(study, runs, store, Quiet(), "") == [kept]


def test_each_task_has_a_campaign_of_its_own(store, runs):
    kept = keep_campaign(store, runs, a_study())
    changes = {"task": "other", "data": {"source": "files", "fingerprint": "rows", "rows": {"test": 6}}}
    others = [keep_stand_in(store, recipe, id=f"other-{recipe}", **changes) for recipe in ("baseline", "drop")]
    second = keep_campaign(store, others, a_study(), id="other-1", task="other")
    assert measure_study(a_study(), [*runs, *others], store, Quiet(), "") == [kept, second]


def test_what_was_not_measured_yet_is_measured_and_kept(store, runs):
    """The stand-ins are no artifacts of the workbench, which its own measuring process says of them."""
    study = a_study(measure=["memory"])
    (campaign,) = measure_study(study, runs, store, Quiet(), "workbench run s.yaml")
    assert CampaignStore(store).read(campaign.id) == campaign
    assert campaign.command == "workbench run s.yaml"
    assert [remark.partition(":")[0] for remark in campaign.remarks] == ["baseline", "drop"]
    assert all("not an artifact of the workbench" in remark for remark in campaign.remarks)
