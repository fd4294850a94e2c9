"""Evidence is everything one study's comparison rests on; what cannot be read or must not be mixed is said."""

import json
import shutil
from typing import Any

import pytest
from records import MACHINE, a_failed_run, answers, keep_run, keep_study, keep_timings, observed

from workbench.campaign_store import CampaignStore
from workbench.errors import StoreError, UnknownNameError, UsageError
from workbench.evidence import gather
from workbench.predictions import write_predictions
from workbench.store import PREDICTIONS, RECORD, RunStore

LATER = {"created": "2026-02-02T00:00:00.000+00:00"}


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "store")


def lines_of(store: RunStore, *names: str) -> dict[str, Any]:
    return {line.recipe: line for line in gather(store, names).comparison().lines}


def test_a_study_is_found_by_its_name_with_all_its_runs_judged(store):
    keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    keep_study(store, {"drop": (0, 0)}, study="other")
    found = gather(store, ["s"])
    assert (found.study, found.campaigns, found.remarks) == ("s", (), ())
    assert [run.id for run in found.runs] == ["reviews-baseline-s0", "reviews-drop-s0", "reviews-graph-s0"]
    assert {key: judged.verdict for key, judged in found.judged.items()} == {
        ("reviews", "baseline"): "equivalent",
        ("reviews", "drop"): "worse",
        ("reviews", "graph"): "equivalent",
    }


def test_runs_come_in_the_order_of_the_study_and_those_it_does_not_name_last(store):
    keep_study(store, {"graph": (0, 0), "older": (0, 0), "drop-control": (0, 0), "drop": (4, 20)})
    recipes = "[{name: drop, steps: [layer-drop]}, {name: graph, steps: [openvino]}]"
    store.study_file("s").parent.mkdir(exist_ok=True)
    store.study_file("s").write_text(f"name: s\nbase: x/y\ntasks: [sst2]\nrecipes: {recipes}\n")
    assert list(lines_of(store, "s")) == ["baseline", "drop", "drop-control", "graph", "older"]


def test_without_a_name_it_is_the_study_that_was_run_last_and_the_others_are_named(store):
    keep_study(store, {"drop": (0, 0)}, study="newer", **LATER)
    keep_study(store, {"drop": (0, 0)})
    keep_study(store, {"drop": (0, 0)}, study="third")
    found = gather(store)
    assert found.study == "newer"
    assert found.remarks == ("this is the study run last; there are also: s, third",)
    assert gather(store, ["newer"]).remarks == ()


def test_the_only_study_needs_no_word(store):
    keep_study(store, {"drop": (0, 0)})
    assert gather(store).remarks == ()


def test_runs_are_found_by_id_or_beginning_and_bring_their_baselines(store):
    keep_study(store, {"drop": (0, 0), "graph": (0, 0)}, seeds=(0, 1))
    found = gather(store, ["reviews-drop-s1", "reviews-graph-s0"])
    assert [run.id for run in found.runs] == [
        "reviews-baseline-s0",
        "reviews-baseline-s1",
        "reviews-drop-s1",
        "reviews-graph-s0",
    ]
    with pytest.raises(UnknownNameError, match=r"no single run in .* 'reviews-d'"):
        gather(store, ["reviews-d"])


def test_a_single_run_found_by_its_beginning_is_compared_with_its_baseline(store):
    keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    assert list(lines_of(store, "reviews-d")) == ["baseline", "drop"]


def test_a_baseline_alone_is_a_comparison_with_itself(store):
    keep_study(store, {"drop": (0, 0)})
    assert list(lines_of(store, "reviews-baseline-s0")) == ["baseline"]


def test_a_name_that_nothing_has_is_told_with_studies_and_the_nearest_runs_only(store):
    keep_study(store, {f"recipe-{number}": (0, 0) for number in range(12)})
    with pytest.raises(UnknownNameError) as told:
        gather(store, ["reviews-recipe-77"])
    assert "no study or run in" in str(told.value)
    assert "did you mean 'reviews-recipe-7-s0'?" in str(told.value)
    assert ", s" in str(told.value)
    assert str(told.value).count("reviews-recipe-") < 6


def test_runs_of_different_studies_are_refused(store):
    keep_study(store, {"drop": (0, 0)})
    keep_study(store, {"drop": (0, 0)}, study="other")
    with pytest.raises(UsageError, match=r"belong to different studies \(other, s\); compare one study at a time"):
        gather(store, ["reviews-drop-s0", "other-reviews-drop-s0"])


@pytest.mark.parametrize("names", [["s", "other"], ["s", "s"], ["s", "reviews-drop-s0"]])
def test_several_studies_or_a_study_beside_runs_are_refused(store, names):
    keep_study(store, {"drop": (0, 0)})
    keep_study(store, {"drop": (0, 0)}, study="other")
    with pytest.raises(UsageError, match="'s' is a study; name one study and nothing else, or runs of one study"):
        gather(store, names)


def test_a_run_without_a_baseline_is_refused(store):
    keep_study(store, {"drop": (0, 0)}, seeds=(0, 1))
    shutil.rmtree(store.folder("reviews-baseline-s1"))
    with pytest.raises(UsageError, match="run reviews-drop-s1 has no baseline in this store; run its study again"):
        gather(store, ["reviews-drop-s0", "reviews-drop-s1"])


def test_a_baseline_that_failed_or_saw_other_rows_is_none(store):
    (drop,) = [run for run in keep_study(store, {"drop": (0, 0)}) if not run.is_baseline]
    shutil.rmtree(store.folder("reviews-baseline-s0"))
    keep_run(store, a_failed_run("failed", "baseline", "no room", data=drop.data))
    other = drop.data.model_copy(update={"fingerprint": "others"})
    keep_study(store, {}, study="s", tasks=("reviews",), data=other)
    with pytest.raises(UsageError, match="has no baseline"):
        gather(store, ["reviews-drop-s0"])


def test_a_store_without_runs_says_how_to_make_some_and_stays_as_it_was(store):
    with pytest.raises(StoreError, match=r"no runs in .* yet; make some with: workbench run demo"):
        gather(store)
    assert not store.root.exists()


def test_a_store_of_damaged_runs_alone_says_so(store):
    keep_study(store, {})
    (store.folder("reviews-baseline-s0") / RECORD).write_text("{")
    with pytest.raises(StoreError, match=r"no runs in .* yet that can be read \(1 cannot: run reviews-baseline-s0"):
        gather(store)


def test_damaged_and_newer_records_are_left_out_and_each_is_named(store):
    keep_study(store, {"drop": (4, 20), "graph": (0, 0), "odd": (0, 0)})
    (store.folder("reviews-graph-s0") / RECORD).write_text("{ no json")
    newer = store.folder("reviews-odd-s0") / RECORD
    newer.write_text(json.dumps({**json.loads(newer.read_text()), "schema_number": 99, "unheard": 1}))
    found = gather(store, ["s"])
    assert [run.recipe.name for run in found.runs] == ["baseline", "drop"]
    damaged, unknown = found.remarks
    assert "reviews-graph-s0" in damaged and "is damaged" in damaged
    assert "reviews-odd-s0" in unknown and "was written by a newer workbench" in unknown
    assert found.comparison().caveats[:2] == found.remarks


def test_without_its_answers_a_line_stays_but_has_no_interval(store):
    keep_study(store, {"drop": (4, 20)})
    (store.folder("reviews-drop-s0") / PREDICTIONS).unlink()
    found = gather(store, ["s"])
    assert len(found.remarks) == 1
    assert found.remarks[0].startswith("reviews drop: no interval: run reviews-drop-s0: its answers")
    line = lines_of(store, "s")["drop"]
    assert (line.quality.value, line.quality.base) == (pytest.approx(0.76), pytest.approx(0.8))
    assert (line.quality.low, line.quality.verdict, line.judged) == (None, None, None)
    assert not line.quality.known
    assert line.disk.verdict == "better"


def test_without_the_baselines_answers_no_line_has_an_interval_but_all_stay(store):
    keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    (store.folder("reviews-baseline-s0") / PREDICTIONS).unlink()
    assert len(gather(store, ["s"]).remarks) == 3
    assert [line.quality.verdict for line in lines_of(store, "s").values()] == [None, None, None]


def test_answers_to_other_rows_are_not_judged_and_that_is_said(store):
    keep_study(store, {"drop": (4, 20)})
    write_predictions(store.folder("reviews-drop-s0") / PREDICTIONS, [answers(10, 1, 1, 1)[0]])
    (remark,) = gather(store, ["s"]).remarks
    assert "reviews drop: no interval: seed 0: its run answered other rows" in remark


def test_a_metric_that_is_not_known_here_leaves_a_line_without_interval(store):
    keep_study(store, {"drop": (0, 0)}, metrics=("beauty",), measurements=observed(beauty=0.5))
    found = gather(store)
    assert [remark.partition(": no metric")[0] for remark in found.remarks] == [
        "reviews baseline: no interval",
        "reviews drop: no interval",
    ]
    assert found.comparison().lines[1].quality.value == 0.5


def test_a_judgement_is_read_back_until_the_answers_change(store):
    keep_study(store, {"drop": (4, 20)})
    first = gather(store, ["s"])
    kept = sorted((store.root / "judged").glob("*.json"))
    assert len(kept) == 2
    for path in kept:
        facts = json.loads(path.read_text())
        path.write_text(json.dumps({**facts, "test": "read back"}))
    assert {judged.test for judged in gather(store, ["s"]).judged.values()} == {"read back"}
    write_predictions(store.folder("reviews-drop-s0") / PREDICTIONS, [answers(310, 4, 10, 76)[0]])
    again = gather(store, ["s"]).judged
    assert again["reviews", "drop"].test == first.judged["reviews", "drop"].test
    assert again["reviews", "drop"].ours == pytest.approx(0.785)
    assert again["reviews", "baseline"].test == "read back"


def test_a_store_that_cannot_be_written_is_read_all_the_same(store):
    """Files stand where the folders would be made: the superuser, too, is refused."""
    keep_study(store, {"drop": (4, 20)})
    (store.root / "judged").write_text("")
    (store.root / "index.json").mkdir()
    before = sorted(path.name for path in store.root.rglob("*"))
    found = gather(store, ["s"])
    assert found.remarks == ()
    assert found.judged["reviews", "drop"].verdict == "worse"
    assert sorted(path.name for path in store.root.rglob("*")) == before


def test_runs_on_other_rows_than_the_newest_are_left_out_and_counted(store):
    keep_study(store, {"drop": (4, 20), "graph": (0, 0)})
    few = {"source": "files", "fingerprint": "few", "rows": {"test": 400}, "limit": 5}
    keep_study(store, {"short": (0, 0)}, study="s", seeds=(1,), data=few, **LATER)
    found = gather(store, ["s"])
    assert {run.data.fingerprint for run in found.runs} == {"few"}
    assert found.remarks == ("reviews: left out 3 runs on other rows than the newest",)
    earlier = gather(store, ["s"], rows={"rows of reviews"})
    assert {run.recipe.name for run in earlier.runs} == {"baseline", "drop", "graph"}
    assert earlier.remarks == ()


def test_timings_of_the_runs_come_along_and_those_of_other_runs_do_not(store):
    runs = keep_study(store, {"drop": (4, 20)})
    others = keep_study(store, {"drop": (0, 0)}, study="other")
    keep_timings(store, runs, {"drop": 2.0})
    keep_timings(store, others, {"drop": 3.0}, id="reviews-2")
    found = gather(store, ["s"])
    assert [campaign.id for campaign in found.campaigns] == ["reviews-1"]
    assert lines_of(store, "s")["drop"].latency.times == 2.0
    assert lines_of(store, "other")["drop"].latency.times == 3.0


def test_timings_of_another_machine_than_the_last_are_left_out_in_words(store):
    runs = keep_study(store, {"drop": (4, 20)})
    elsewhere = {**MACHINE, "cpu": "Epyc"}
    for number in (1, 2):
        keep_timings(store, runs, {"drop": 9.0}, id=f"old-{number}", environment=elsewhere)
    keep_timings(store, runs, {"drop": 2.0}, id="new", **LATER)
    found = gather(store, ["s"])
    assert [campaign.id for campaign in found.campaigns] == ["new"]
    assert found.remarks == (
        "timings of 2026-01-01 are left out: the timings come from machines that cannot be compared: they differ in "
        "processor (Xeon and Epyc)",
    )
    assert lines_of(store, "s")["drop"].latency.times == 2.0


def test_a_damaged_campaign_is_named_and_the_others_count(store):
    runs = keep_study(store, {"drop": (4, 20)})
    keep_timings(store, runs, {"drop": 2.0})
    keep_timings(store, runs, {"drop": 3.0}, id="spoilt", **LATER)
    (CampaignStore(store).folder("spoilt") / "campaign.json").write_text("{")
    found = gather(store, ["s"])
    assert [campaign.id for campaign in found.campaigns] == ["reviews-1"]
    (remark,) = found.remarks
    assert "spoilt" in remark
