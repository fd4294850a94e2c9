"""A close look at one run gathers what a report would say of it and its baseline, and of nothing else."""

import pytest
from records import a_failed_run, keep_run, keep_study, keep_timings

from workbench.close_look import look_closely
from workbench.dossier import Dossier
from workbench.evidence import gather
from workbench.store import RunStore


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "store")


def looked(store: RunStore, run_id: str) -> Dossier:
    evidence = gather(store, ["s"])
    return look_closely(store.read(run_id), evidence, evidence.comparison(), store)


def test_a_run_stands_beside_its_baseline_alone(store):
    runs = keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    keep_timings(store, runs, {"drop": 2.0, "graph": 1.5})
    found = looked(store, "reviews-drop-s0")
    assert [run.id for run in found.runs] == ["reviews-baseline-s0", "reviews-drop-s0"]
    assert [line.recipe for line in found.comparison.lines] == ["baseline", "drop"]
    assert [entry.name for entry in found.campaigns[0].entries] == ["baseline", "baseline again", "drop"]
    assert [spread.entry for spread in found.spreads] == ["baseline", "baseline again", "drop"]
    assert [stage.name for stage in found.explanations[0].stages] == ["base", "1. layer-drop"]


def test_each_seed_has_the_baseline_of_its_own(store):
    keep_study(store, {"drop": (4, 20)}, seeds=(0, 1))
    assert [run.id for run in looked(store, "reviews-drop-s1").runs] == ["reviews-baseline-s1", "reviews-drop-s1"]


def test_the_baseline_is_looked_at_by_itself(store):
    keep_study(store, {"drop": (4, 20)})
    found = looked(store, "reviews-baseline-s0")
    assert [run.id for run in found.runs] == ["reviews-baseline-s0"]
    assert found.explanations == ()


def test_a_failed_run_has_its_own_record_only(store):
    runs = keep_study(store, {"drop": (4, 20)})
    keep_run(store, a_failed_run("sunk", "deep", "no room", data=runs[0].data))
    found = looked(store, "sunk")
    assert ([run.id for run in found.runs], found.campaigns, found.explanations) == (["sunk"], (), ())


def test_the_campaign_that_the_comparison_rests_on_comes_before_a_newer_look_at_few(store):
    runs = keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    keep_timings(store, runs, {"drop": 2.0, "graph": 1.5}, id="all")
    keep_timings(store, runs[:2], {"drop": 2.2}, id="later", created="2026-05-05T00:00:00.000+00:00")
    assert [campaign.id for campaign in looked(store, "reviews-drop-s0").campaigns] == ["all"]


def test_a_seed_that_no_campaign_measured_has_no_times(store):
    runs = keep_study(store, {"drop": (4, 20)}, seeds=(0, 1))
    keep_timings(store, [run for run in runs if run.seed == 0], {"drop": 2.0})
    assert looked(store, "reviews-drop-s1").campaigns == ()
