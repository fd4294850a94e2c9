"""`workbench compare`, `recommend` and `report`: what they print, refuse and write, and with which code they end."""

import csv
import io
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from records import a_failed_run, keep_run, keep_study, keep_timings
from said import Said, command, only_complaint, speaker

from workbench.compare import Comparison
from workbench.evidence import gather
from workbench.recommend import Recommendation
from workbench.store import PREDICTIONS, RECORD, RunStore

# How many of 400 rows each recipe mends and breaks, and how many times as fast as the baseline it is.
RECIPES = {
    "albert": (6, 40),
    "distilbert": (8, 16),
    "distilbert-control": (8, 20),
    "layer-pruning": (4, 30),
    "int8": (1, 2),
    "distil-int8": (8, 18),
}
SPEEDS = {"albert": 1.02, "distilbert": 1.97, "layer-pruning": 1.95, "int8": 2.6, "distil-int8": 4.9}
HEAVY = ("torch", "transformers", "datasets", "onnxruntime", "sklearn", "streamlit")


@pytest.fixture
def here(monkeypatch, capsys) -> Callable[..., Said]:
    return speaker(monkeypatch, capsys)


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> RunStore:
    """A study ``s`` of six recipes with timings, and an older one of two tasks without."""
    store = RunStore(tmp_path_factory.mktemp("kept") / "store")
    runs = keep_study(store, RECIPES)
    keep_timings(store, [run for run in runs if run.recipe.name != "distilbert-control"], SPEEDS)
    keep_study(store, {"int8": (1, 2)}, tasks=("a", "b"), study="pair", created="2025-01-01T00:00:00.000+00:00")
    return store


@pytest.fixture
def store(kept, tmp_path) -> RunStore:
    """A copy to spoil."""
    return RunStore(shutil.copytree(kept.root, tmp_path / "store"))


def test_compare_prints_a_table_of_100_columns_with_every_doubt_below(kept, here):
    said = here("compare", "s", "--store", kept.root)
    assert (said.code, said.err) == (0, "")
    assert max(map(len, said.out.splitlines())) <= 100
    assert "…" not in said.out
    for word in (*RECIPES, "baseline", "study s, task reviews", "4.90 ±0.10", "one seed only"):
        assert word in said.out, word
    assert "was not timed beside the others" in " ".join(said.out.split())


def test_compare_in_json_is_the_whole_comparison(kept, here):
    said = here("compare", "s", "--json", "--store", kept.root)
    assert (said.code, said.err) == (0, "")
    found = Comparison.model_validate(json.loads(said.out))
    assert found == gather(kept, ["s"]).comparison()
    assert [line.recipe for line in found.lines] == ["baseline", *RECIPES]


def test_compare_in_csv_has_a_row_for_each_line_and_each_mean(kept, here):
    rows = list(csv.DictReader(io.StringIO(here("compare", "s", "--csv", "--store", kept.root).out)))
    assert [row["recipe"] for row in rows] == ["baseline", *RECIPES]
    int8 = rows[5]
    assert float(int8["quality_value"]) == pytest.approx(0.8 - 1 / 400)
    assert float(int8["latency_times_as_good"]) == 2.6
    assert rows[3]["latency_ms_value"] == ""
    pair = list(csv.DictReader(io.StringIO(here("compare", "pair", "--csv", "--store", kept.root).out)))
    assert [(row["task"], row["recipe"]) for row in pair] == [
        *[("a", "baseline"), ("a", "int8"), ("b", "baseline"), ("b", "int8")],
        *[("all tasks", "baseline"), ("all tasks", "int8")],
    ]


def test_without_a_name_the_study_run_last_is_compared_and_the_other_named(kept, here):
    said = here("compare", "--store", kept.root)
    assert "study s, task reviews" in said.out
    assert "- this is the study run last; there are also: pair" in said.out


def test_runs_are_compared_with_their_baselines(kept, here):
    said = here("compare", "reviews-int8", "reviews-albert", "--store", kept.root, "--json")
    assert [line["recipe"] for line in json.loads(said.out)["lines"]] == ["baseline", "albert", "int8"]


def test_a_study_of_which_nothing_was_finished_ends_with_code_1(tmp_path, here):
    store = RunStore(tmp_path / "store")
    store.prepare()
    keep_run(store, a_failed_run("x", "baseline", "no room"))
    said = here("compare", "--store", store.root)
    assert (said.code, said.err) == (1, "")
    assert "reviews baseline: failed: no room" in said.out
    complaint = only_complaint(here("recommend", "--store", store.root), 2)
    assert complaint == "study 's' has no finished run to recommend"


@pytest.mark.parametrize("name", ["compare", "recommend", "report"])
def test_a_store_without_runs_is_told_with_the_way_out_and_not_made(name, tmp_path, here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    complaint = only_complaint(here(name, "--store", tmp_path / "none"), 1)
    assert complaint == f"no runs in {tmp_path / 'none'} yet; make some with: workbench run demo"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "int88"], "no study or run in "),
        (["compare", "reviews-"], "no single run in "),
        (["compare", "s", "pair"], "'s' is a study; name one study and nothing else"),
        (["compare", "reviews-int8-s0", "pair-a-int8-s0"], "these runs belong to different studies (pair, s)"),
        (["compare", "s", "--json", "--csv"], "--json and --csv cannot both be printed; choose one"),
        (["recommend", "s", "--task", "revews"], "no task in this comparison 'revews'; did you mean 'reviews'?"),
        (["recommend", "s", "--min-quality", "good"], "--min-quality 'good': write a share"),
        (["recommend", "s", "--min-quality", "120"], "no metric exceeds 100"),
        (["recommend", "s", "--max-latency-ms", "0"], "--max-latency-ms 0: nothing can keep to that"),
        (["recommend", "s", "--max-size-mb", "-3"], "--max-size-mb -3: nothing can keep to that"),
        (["recommend", "s", "--max-memory-mb", "nan"], "--max-memory-mb nan: nothing can keep to that"),
        (["report", "s", "--max-size-mb", "inf", "-o", "nowhere"], "--max-size-mb inf: nothing can keep to that"),
    ],
)
def test_a_request_that_cannot_be_served_is_told_in_one_sentence(arguments, words, kept, here):
    said = here(*arguments, "--store", kept.root)
    complaint = only_complaint(said, 2)
    assert words in complaint
    assert (said.out, "\n" in complaint) == ("", False)
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("arguments", [["--optimise", "beauty"], ["--max-latency-ms", "soon"], ["--nonsense"]])
def test_an_option_that_cannot_be_read_is_a_usage_error(arguments, kept, here):
    said = here("recommend", "s", *arguments, "--store", kept.root)
    assert said.code == 2
    assert "Traceback" not in said.err


def test_a_run_without_a_baseline_is_refused(store, here):
    shutil.rmtree(store.folder("reviews-baseline-s0"))
    complaint = only_complaint(here("compare", "reviews-int8-s0", "--store", store.root), 2)
    assert complaint == "run reviews-int8-s0 has no baseline in this store; run its study again to make it"
    assert here("compare", "s", "--store", store.root).code == 0


def test_damage_is_told_below_the_table_and_hides_nothing_else(store, here):
    (store.folder("reviews-albert-s0") / RECORD).write_text("{")
    (store.folder("reviews-int8-s0") / PREDICTIONS).unlink()
    said = here("compare", "s", "--store", store.root)
    assert said.code == 0
    joined = " ".join(said.out.split())
    assert "reviews-albert-s0" in joined and "is damaged" in joined
    assert "reviews int8: no interval" in joined
    for name in set(RECIPES) - {"albert"}:
        assert name in said.out


def test_recommend_tells_one_pick_with_reasons_and_doubts(kept, here):
    said = here("recommend", "s", "--store", kept.root, "--min-quality", "95%")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == "ship distil-int8"
    assert "  - the fastest of what keeps to the limits: 4.08 ms a call, 4.90 times as fast as the baseline" in lines
    assert "  - the safe choice is int8" in lines
    assert any(line.startswith("run: reviews-distil-int8-s0 (workbench export reviews-distil-int8") for line in lines)
    assert any(line.startswith("- one seed only") for line in lines)


def test_what_was_taken_for_granted_is_said(kept, here):
    said = here("recommend", "s", "--store", kept.root)
    assert said.out.startswith("ship int8\n")
    assert "at least 97 % of the baseline's quality (taken for granted; set it with --min-quality)" in said.out


def test_recommend_in_json_is_complete(kept, here):
    said = here("recommend", "s", "--json", "--store", kept.root, "--max-latency-ms", "15")
    assert said.code == 0
    told = json.loads(said.out)
    assert told.pop("headline") == "ship int8"
    found = Recommendation.model_validate(told)
    assert found.pick.runs == ("reviews-int8-s0",)
    assert [check.state for check in found.pick.checks] == ["shown", "shown"]
    assert [one.recipe for one in found.runners_up] == ["distilbert"]
    assert any(caveat.startswith("one seed only") for caveat in found.caveats)


def test_where_nothing_qualifies_the_nearest_miss_is_told_and_the_code_is_1(kept, here):
    said = here("recommend", "s", "--max-latency-ms", "4", "--min-quality", "95%", "--store", kept.root)
    assert (said.code, said.err) == (1, "")
    assert said.out.startswith("nothing qualifies; distil-int8 comes nearest\n")
    assert "4.08 ms a call: at most 4 ms a call is missed by 2.0 %" in said.out
    assert (
        json.loads(here("recommend", "s", "--max-latency-ms", "4", "--json", "--store", kept.root).out)["pick"] is None
    )


def test_a_goal_that_was_not_measured_is_said(kept, here):
    said = here("recommend", "pair", "--store", kept.root)
    assert said.code == 1
    assert said.out.startswith("nothing qualifies, because nothing was measured on what you ask for\n")
    assert "latency was not measured (best latency asked); workbench measure RUN does it" in said.out


def test_several_tasks_are_answered_by_their_mean_or_one_by_name(kept, here):
    mean = here("recommend", "pair", "--optimise", "size", "--store", kept.root)
    assert mean.code == 0
    assert "study pair, all tasks; asked: best size" in mean.out
    assert "runs: pair-a-int8-s0, pair-b-int8-s0" in mean.out
    one = here("recommend", "pair", "--optimise", "size", "--task", "b", "--store", kept.root)
    assert "study pair, b; asked: best size" in one.out
    assert "run: pair-b-int8-s0" in one.out


def test_report_refuses_a_folder_that_is_not_empty_before_it_reads_anything(tmp_path, here):
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "mine.txt").write_text("precious")
    complaint = only_complaint(here("report", "-o", folder, "--store", tmp_path / "no store"), 2)
    assert complaint == f"{folder} is there already and nothing is overwritten; choose another folder with -o"
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_report_refuses_a_file_in_the_place_of_its_folder(tmp_path, here):
    path = tmp_path / "file"
    path.write_text("precious")
    assert "is there already" in only_complaint(here("report", "-o", path, "--store", tmp_path / "no store"), 2)
    assert path.read_text() == "precious"


def test_report_writes_a_whole_folder_and_says_what_to_open(kept, tmp_path, here):
    folder = tmp_path / "new" / "report"
    said = here("report", "s", "-o", folder, "--store", kept.root, "--min-quality", "95%")
    assert (said.code, said.err) == (0, "")
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert said.out == f"{len(written)} files in {folder}; open {folder / 'report.html'}\n"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "distil-int8" in page
    assert "is there already" in only_complaint(here("report", "s", "-o", folder, "--store", kept.root), 2)


def test_a_report_of_an_unknown_study_writes_nothing(kept, tmp_path, here):
    only_complaint(here("report", "nothing", "-o", tmp_path / "new", "--store", kept.root), 2)
    assert list(tmp_path.iterdir()) == []


def forbid_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_a_store_on_which_nothing_can_be_written_is_answered_from_all_the_same(store):
    before = sorted(str(path) for path in store.root.rglob("*"))
    said = command("recommend", "s", "--store", store.root, preexec_fn=forbid_files)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("ship int8\n")
    assert sorted(str(path) for path in store.root.rglob("*") if path.stat().st_size) == [
        path for path in before if Path(path).stat().st_size
    ]


def test_answers_need_none_of_the_heavy_libraries(kept, tmp_path):
    code = (
        "import sys\nfrom workbench.cli import main\n"
        "for words in (['compare'], ['recommend']):\n"
        "    sys.argv = ['workbench', *words, '--store', sys.argv[-1]]\n"
        "    try:\n        main()\n    except SystemExit as ended:\n        assert not ended.code, words\n"
        f"print('heavy:', [name for name in {HEAVY} if name in sys.modules])"
    )
    line = [sys.executable, "-c", code, str(kept.root)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.endswith("heavy: []\n"), done
