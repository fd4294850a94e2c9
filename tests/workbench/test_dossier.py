"""A dossier gathers everything a report shows, and says what could not be gathered."""

import dataclasses

import numpy as np
import pytest
from records import a_failed_run, answers, keep_run, keep_study, keep_timings

from workbench import __version__
from workbench.campaign_store import CampaignStore
from workbench.dossier import FLIPS_SHOWN, QUANTILES, Dossier, gather_dossier
from workbench.evidence import gather
from workbench.predictions import write_predictions
from workbench.store import PREDICTIONS, RunStore
from workbench.timings import FILE
from workbench.wish import Wish


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "store")


def gathered(store: RunStore, *names: str, wish: Wish | None = None) -> Dossier:
    return gather_dossier(gather(store, names), store, wish)


def test_everything_a_report_shows_is_there(store):
    runs = keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    campaign = keep_timings(store, runs, {"drop": 2.0, "graph": 1.5})
    store.study_file("s").parent.mkdir()
    store.study_file("s").write_text("name: s\n")
    found = gathered(store)
    assert (found.study, found.workbench, found.store) == ("s", __version__, str(store.root))
    assert found.comparison == gather(store).comparison()
    assert [run.id for run in found.runs] == [run.id for run in runs]
    assert found.campaigns == (campaign,)
    assert found.commands == ("workbench run s.yaml", "workbench measure x")
    assert (found.study_file, found.remarks) == ("name: s\n", ())
    assert found.recommendation.pick.recipe == "graph"
    assert [(one.task, one.recipe, one.run) for one in found.explanations] == [
        ("reviews", "drop", "reviews-drop-s0"),
        ("reviews", "graph", "reviews-graph-s0"),
    ]


def test_the_recommendation_is_for_the_wish_that_was_told(store):
    keep_timings(store, keep_study(store, {"drop": (4, 20), "graph": (0, 0)}), {"drop": 2.0})
    assert gathered(store, wish=Wish.of(min_quality="90%")).recommendation.pick.recipe == "drop"
    assert gathered(store, wish=Wish.of(optimise="size", min_quality="90%")).recommendation.pick.recipe == "graph"


def test_each_recipe_is_explained_by_its_stages_its_control_and_its_damage(store):
    keep_study(store, {"drop": (4, 20), "drop-control": (4, 30)})
    kept = store.read("reviews-drop-control-s0")
    control = kept.recipe.model_copy(update={"control_of": "drop"})
    store.keep(kept.model_copy(update={"recipe": control}), store.folder(kept.id))
    first, second = gathered(store).explanations
    assert [stage.name for stage in first.stages] == ["base", "1. layer-drop"]
    assert [stage.quality for stage in first.stages] == [pytest.approx(0.8), 0.7]
    assert (first.control.recipe, second.control) == ("drop-control", None)
    assert (first.damage.flip_count, len(first.damage.flips), second.damage.flip_count) == (24, FLIPS_SHOWN, 34)
    assert first.damage.flips[0].texts == (f"text {first.damage.flips[0].id[1:]} of reviews",)
    assert first.damage.labels == ("negative", "positive")


def test_several_seeds_are_explained_by_the_first_and_their_damage_counted_together(store):
    keep_study(store, {"drop": (4, 20)}, seeds=(3,))
    keep_study(store, {"drop": (4, 20)}, seeds=(1,), created="2026-02-01T00:00:00.000+00:00")
    (found,) = gathered(store).explanations
    assert found.run == "reviews-drop-s1"
    assert found.damage.flip_count == 48


def test_tasks_are_explained_apart(store):
    keep_study(store, {"drop": (4, 20)}, tasks=("a", "b"))
    found = gathered(store)
    assert [(one.task, one.run) for one in found.explanations] == [("a", "a-drop-s0"), ("b", "b-drop-s0")]
    assert found.explanations[1].damage.flips[0].texts[0].endswith("of b")


def test_timed_calls_are_told_by_evenly_spaced_quantiles(store):
    runs = keep_study(store, {"drop": (4, 20)})
    keep_timings(store, runs, {"drop": 2.0}, calls=64)
    spreads = {spread.entry: spread for spread in gathered(store).spreads}
    assert set(spreads) == {"baseline", "baseline again", "drop"}
    drop = spreads["drop"]
    assert (drop.task, drop.recipe, drop.calls, len(drop.quantiles_ms)) == ("reviews", "drop", 64, QUANTILES)
    times = 10 * (0.9 + 0.2 * (np.arange(64) % 8) / 7)
    assert drop.quantiles_ms == pytest.approx(np.quantile(times, np.linspace(0, 1, QUANTILES)), rel=1e-6)
    assert list(drop.quantiles_ms) == sorted(drop.quantiles_ms)


def test_raw_timings_that_are_gone_are_said(store):
    campaign = keep_timings(store, keep_study(store, {"drop": (4, 20)}), {"drop": 2.0})
    (CampaignStore(store).folder(campaign.id) / FILE).unlink()
    found = gathered(store)
    assert found.spreads == ()
    (remark,) = found.remarks
    assert remark.startswith("no distributions of reviews: ")
    assert found.comparison.lines[1].latency.times == 2.0


def test_a_campaign_that_no_line_uses_is_left_out(store):
    runs = keep_study(store, {"drop": (4, 20)})
    keep_timings(store, runs, {"drop": 9.0}, id="old", command="workbench measure old")
    keep_timings(store, runs, {"drop": 2.0}, id="new", created="2026-02-01T00:00:00.000+00:00")
    found = gathered(store)
    assert [campaign.id for campaign in found.campaigns] == ["new"]
    assert "workbench measure old" not in found.commands


def test_answers_that_are_gone_leave_a_recipe_without_damage_and_are_told_once(store):
    keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    (store.folder("reviews-drop-s0") / PREDICTIONS).unlink()
    found = gathered(store)
    assert [one.damage is None for one in found.explanations] == [True, False]
    told = [remark for remark in (*found.remarks, *found.comparison.caveats) if "reviews drop: no interval" in remark]
    assert len(told) == 1


def test_answers_to_other_rows_or_none_do_no_harm(store):
    keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    ours, _ = answers(3, 1, 1, 1)
    write_predictions(store.folder("reviews-drop-s0") / PREDICTIONS, [dataclasses.replace(ours, part="matched")])
    write_predictions(store.folder("reviews-graph-s0") / PREDICTIONS, [])
    found = gathered(store)
    assert [one.damage for one in found.explanations] == [None, None]
    assert sum("no interval" in caveat for caveat in found.comparison.caveats) == 2


def test_a_study_of_which_nothing_is_finished_has_no_recommendation(store):
    store.prepare()
    keep_run(store, a_failed_run("x", "baseline", "no room"))
    found = gathered(store)
    assert (found.recommendation, found.explanations, found.spreads) == (None, (), ())
    assert found.comparison.lines[0].failures == ("no room",)


def test_tasks_without_a_recipe_in_common_have_no_recommendation(store):
    keep_study(store, {"drop": (4, 20)})
    keep_run(store, a_failed_run("x", "baseline", "no room", task="other"))
    assert gathered(store).recommendation is None


def test_a_study_whose_file_was_not_kept_or_is_no_text_has_none(store):
    keep_study(store, {"drop": (4, 20)})
    assert gathered(store).study_file is None
    store.study_file("s").parent.mkdir()
    store.study_file("s").write_bytes(b"\xff\xfe\xff")
    assert gathered(store).study_file is None


def test_a_dossier_is_read_back_from_its_json_as_it_was(store):
    keep_timings(store, keep_study(store, {"drop": (4, 20)}), {"drop": 2.0})
    found = gathered(store)
    assert Dossier.model_validate_json(found.model_dump_json()) == found
