"""Published reports say what the raw records beside them say: answers are scored and calls counted from scratch."""

import re
import tarfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dossiers import VERSIONS, keep_campaign, keep_versions
from scipy import stats
from sklearn import metrics as judges

from reports.writing import report_files, write_report
from workbench.checkable import RECORDS, checkable_dossier, dossier_from
from workbench.dossier import Dossier
from workbench.store import RunStore
from workbench.wish import Wish

ROOT = Path(__file__).parents[2]
PUBLISHED = sorted(path.parent for path in (ROOT / "reports" / "published").glob(f"*/{RECORDS}"))
JUDGES = {
    "accuracy": judges.accuracy_score,
    "f1": judges.f1_score,
    "matthews": judges.matthews_corrcoef,
    "pearson": lambda truth, guess: stats.pearsonr(truth, guess).statistic,
    "spearman": lambda truth, guess: stats.spearmanr(truth, guess).statistic,
}
# Raw records are read by everybody who clones, artifacts and texts by nobody here.
LARGEST = 8e6


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A report with its records as the command would write it, of a small store of stand-ins."""
    folder = tmp_path_factory.mktemp("made")
    store = RunStore(folder / "kept")
    keep_campaign(store, keep_versions(store), {version.recipe: version.faster for version in VERSIONS})
    dossier, archive = checkable_dossier(None, store, Wish.of(), folder)
    write_report(dossier, folder / "report")
    archive.rename(folder / "report" / RECORDS)
    return folder / "report"


@pytest.fixture(scope="module", params=[None, *PUBLISHED], ids=lambda given: given.name if given else "made here")
def published(request, made) -> Path:
    return request.param or made


@pytest.fixture(scope="module")
def opened(published, tmp_path_factory) -> tuple[Dossier, RunStore]:
    store = tmp_path_factory.mktemp("published") / "store"
    return dossier_from(published / RECORDS, store, Wish.of()), RunStore(store)


def test_the_records_hold_neither_weights_nor_texts_and_are_small(published):
    with tarfile.open(published / RECORDS) as tar:
        names = tar.getnames()
    assert not [name for name in names if "/artifact/" in name or "/rows/" in name]
    assert (published / RECORDS).stat().st_size < LARGEST


def test_every_quality_is_the_metric_of_its_answers(opened):
    dossier, store = opened
    judged = 0
    for run in dossier.runs:
        answers = pd.read_parquet(store.folder(run.id) / "predictions.parquet")
        for metric in run.metrics:
            found = [one for one in run.measurements if one.metric == metric]
            parts = answers.groupby("part", sort=False)
            expected = [JUDGES[metric](part["label"], part["prediction"]) for _, part in parts]
            assert [one.value for one in found] == pytest.approx(expected, abs=1e-6)
            judged += len(found)
    assert judged >= len(dossier.runs) > 1


def test_every_table_of_qualities_is_the_mean_of_its_runs(opened):
    dossier, _ = opened
    runs = {run.id: run for run in dossier.runs}
    for line in dossier.comparison.lines:
        values = [one.value for run in line.runs for one in runs[run].measurements if one.metric == line.metric]
        assert line.quality.value == pytest.approx(np.mean(values), abs=1e-9)


def test_every_speed_is_the_ratio_of_its_calls(opened):
    dossier, store = opened
    timed = [line for line in dossier.comparison.lines if line.latency and line.latency.paired]
    assert timed
    for line in timed:
        calls = pd.read_parquet(store.root / "campaigns" / line.campaign / "timings.parquet")
        calls = calls[calls["kept"] & (calls["sort"] == "natural")]
        rounds = calls.groupby(["entry", "process", "round"])["model_ns"].median()
        ratios = np.log(rounds.loc["baseline"] / rounds.loc[line.entry]).dropna()
        assert line.latency.paired.value == pytest.approx(np.exp(ratios.groupby("process").mean().mean()), rel=1e-6)


def test_the_report_is_what_the_records_come_to(published, opened):
    dossier, _ = opened
    told = Dossier.model_validate_json((published / "data" / "dossier.json").read_text())
    again = report_files(dossier.model_copy(update={"created": told.created, "workbench": told.workbench}))
    assert again["report.md"].decode() == (published / "report.md").read_text()
    for name in ("data/comparison.csv", "data/stages.csv", "data/latency.csv"):
        # Sums come out otherwise in the last digit with other numbers of threads.
        pd.testing.assert_frame_equal(pd.read_csv(BytesIO(again[name])), pd.read_csv(published / name), rtol=1e-9)


def test_a_report_speaks_of_no_folder_of_the_machine_it_was_made_on(published):
    if published in PUBLISHED:
        for name in ("report.md", "data/dossier.json"):
            found = re.findall(r"[\s\"'(](/(?:tmp|home|root|work)\b[^\s\"']*)", (published / name).read_text())
            assert not found, (name, found)


@pytest.mark.skipif(not PUBLISHED, reason="no report is published yet")
def test_the_readme_says_nothing_that_the_reports_do_not():
    for folder in PUBLISHED:
        block = rf"<!-- from {folder.name} -->\n(.*?)<!-- to here -->"
        shown = re.search(block, (ROOT / "README.md").read_text(), re.DOTALL)
        assert shown, f"README.md shows nothing of {folder.name}"
        report = set((folder / "report.md").read_text().splitlines())
        rows = [line for line in shown[1].splitlines() if line.startswith("|")]
        assert len(rows) > 10
        assert not [row for row in rows if row not in report]
        charts = re.findall(r"\]\(([^)]+\.svg)\)", shown[1])
        assert charts
        assert all((ROOT / chart).is_file() for chart in charts), charts
