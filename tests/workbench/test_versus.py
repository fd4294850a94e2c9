"""Two recipes are put beside each other directly: their answers row by row, their times round by round."""

import pytest
from records import a_failed_run, an_entry, keep_run, keep_study, keep_timings

from workbench.campaign_store import CampaignStore
from workbench.evidence import gather
from workbench.store import PREDICTIONS, RunStore
from workbench.timings import FILE
from workbench.versus import Versus, seed_pairs, versus


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "store")


def beside(store: RunStore, first: str, second: str) -> Versus:
    return versus(gather(store, ["s"]), "reviews", first, second, store)


def test_a_recipe_beside_the_baseline_is_what_the_comparison_says_of_it(store):
    keep_study(store, {"drop": (4, 20)})
    found = beside(store, "baseline", "drop")
    assert found.judged == gather(store, ["s"]).judged["reviews", "drop"]
    assert (found.first, found.second, found.seeds) == ("baseline", "drop", (0,))


def test_two_variants_are_judged_without_the_baseline(store):
    keep_study(store, {"drop": (4, 20), "other": (4, 24)})
    found = beside(store, "drop", "other").judged
    assert found.base == pytest.approx(0.76)
    assert found.ours == pytest.approx(0.75)
    assert [(flip.direction, flip.count) for flip in found.flips] == [("broken", 2), ("broken", 2)]


def test_turning_the_two_round_turns_the_difference_round(store):
    keep_study(store, {"drop": (4, 20), "other": (4, 24)})
    there, back = beside(store, "drop", "other"), beside(store, "other", "drop")
    assert there.judged.ours - there.judged.base == pytest.approx(back.judged.base - back.judged.ours)
    assert there.judged.p == back.judged.p
    assert {flip.direction for flip in back.damage.flips} == {"mended"}


def test_every_flip_is_told_however_many_there_are(store):
    keep_study(store, {"drop": (30, 70)})
    damage = beside(store, "baseline", "drop").damage
    assert len(damage.flips) == damage.flip_count == 100


def test_only_seeds_that_both_finished_are_compared(store):
    runs = keep_study(store, {"drop": (4, 20), "other": (0, 0)}, seeds=(0, 1))
    failed = a_failed_run("late", "other", "no room", task="reviews", seed=2, data=runs[0].data)
    one_seed_less = [run for run in runs if run.id != "reviews-drop-s1"]
    assert [ours.id for ours, _ in seed_pairs([*one_seed_less, failed], "reviews", "drop", "other")] == [
        "reviews-other-s0"
    ]


def test_without_a_common_seed_the_reason_is_said(store):
    keep_study(store, {"drop": (4, 20)}, seeds=(0,))
    keep_run(store, store.read("reviews-drop-s0").model_copy(update={"id": "x", "seed": 5, "recipe": _named("other")}))
    found = beside(store, "drop", "other")
    assert (found.judged, found.damage, found.seeds) == (None, None, ())
    assert "no seed was finished with both" in found.remarks[0]


def _named(name: str):
    from workbench.recipe import Recipe

    return Recipe(name=name, steps=("layer-drop",))


def test_answers_that_were_not_kept_cannot_be_compared_and_that_is_said(store):
    keep_study(store, {"drop": (4, 20)})
    evidence = gather(store, ["s"])
    (store.folder("reviews-drop-s0") / PREDICTIONS).unlink()
    found = versus(evidence, "reviews", "baseline", "drop", store)
    assert found.judged is None
    assert "answers" in found.remarks[0] and "missing" in found.remarks[0]


def test_speed_is_the_ratio_of_the_two_in_one_campaign(store):
    runs = keep_study(store, {"drop": (4, 20), "other": (0, 0)})
    keep_timings(store, runs, {"drop": 2.0, "other": 5.0})
    speed = beside(store, "drop", "other").speed
    assert (speed.first_ms, speed.second_ms) == (pytest.approx(10), pytest.approx(4))
    assert speed.ratio.value == pytest.approx(2.5, rel=1e-3)
    assert (speed.verdict, speed.campaign) == ("faster", "reviews-1")
    assert beside(store, "other", "drop").speed.verdict == "slower"


def test_speed_is_unclear_where_timed_answers_were_wrong(store):
    runs = keep_study(store, {"drop": (4, 20)})
    campaign = keep_timings(store, runs, {"drop": 2.0}, id="draft")
    wrong = an_entry("x").answers.model_copy(update={"beyond_rounding": 3})
    entries = tuple(
        entry.model_copy(update={"answers": wrong}) if entry.name == "drop" else entry for entry in campaign.entries
    )
    folder = CampaignStore(store).folder("draft")
    (folder / "campaign.json").write_text(campaign.model_copy(update={"entries": entries}).model_dump_json())
    assert beside(store, "baseline", "drop").speed.verdict == "unclear"


def test_without_a_campaign_of_both_nothing_is_said_of_speed(store):
    runs = keep_study(store, {"drop": (4, 20), "other": (0, 0)})
    keep_timings(store, runs[:2], {"drop": 2.0})
    found = beside(store, "drop", "other")
    assert found.speed is None
    assert any("no campaign timed both" in remark for remark in found.remarks)


def test_timings_that_cannot_be_read_are_told(store):
    runs = keep_study(store, {"drop": (4, 20)})
    campaign = keep_timings(store, runs, {"drop": 2.0})
    (CampaignStore(store).folder(campaign.id) / FILE).unlink()
    found = beside(store, "baseline", "drop")
    assert found.speed is None
    assert any("their speed cannot be compared" in remark for remark in found.remarks)


def test_sizes_and_memory_stand_beside_the_first(store):
    runs = keep_study(store, {"drop": (4, 20), "other": (0, 0)})
    keep_timings(store, runs, {"drop": 2.0, "other": 5.0})
    counted = {
        delta.metric: (delta.base, delta.value, delta.verdict) for delta in beside(store, "drop", "other").counted
    }
    assert counted["disk"] == (pytest.approx(50e6), pytest.approx(100e6 / 3), "better")
    assert counted["memory"] == (pytest.approx(100e6), pytest.approx(40e6), "better")
