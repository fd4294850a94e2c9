"""The data files hold every number in full, and no spreadsheet takes a text in them for a formula."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.data_files import data_files
from workbench.campaign_store import CampaignStore
from workbench.dossier import Dossier
from workbench.store import RunStore
from workbench.timings import Timings


def rows_of(files, name):
    return list(csv.DictReader(io.StringIO(files[name])))


@pytest.fixture(scope="module")
def files(usual):
    return data_files(usual)


def test_everything_can_be_read_back(usual, files):
    assert Dossier.model_validate_json(files["dossier.json"]) == usual


def test_the_comparison_has_a_row_for_each_line_with_numbers_in_full(usual, files):
    rows = {row["recipe"]: row for row in rows_of(files, "comparison.csv")}
    assert set(rows) == {"baseline", "student", "student-control", "int8"}
    given = pd.read_parquet(f"{usual.store}/runs/reviews-int8-s0/predictions.parquet")
    line = next(line for line in usual.comparison.lines if line.recipe == "int8")
    assert float(rows["int8"]["quality_value"]) == (given["prediction"] == given["label"]).mean()
    assert float(rows["int8"]["disk_bytes_value"]) == 90_123_456 / 4
    assert float(rows["int8"]["latency_ms_value"]) == line.latency.value
    assert rows["int8"]["latency_verdict"] == "better"


def test_flips_are_those_of_the_answers(usual, files):
    rows = [row for row in rows_of(files, "flips.csv") if row["recipe"] == "int8"]
    ours, base = (
        pd.read_parquet(f"{usual.store}/runs/reviews-{recipe}-s0/predictions.parquet").set_index("id")
        for recipe in ("int8", "baseline")
    )
    changed = set(ours.index[ours["prediction"] != base["prediction"]])
    assert {row["id"] for row in rows} == changed
    assert len(changed) == 5
    for row in rows:
        assert row["text"] == f"text {row['id'][1:]} of a test"
        chances = np.exp(base.loc[row["id"], "logits"]) / np.exp(base.loc[row["id"], "logits"]).sum()
        assert [float(told) for told in row["probabilities_of_baseline"].split()] == pytest.approx(chances, abs=1e-6)


def test_stages_are_in_order_with_what_they_took(files):
    rows = [row for row in rows_of(files, "stages.csv") if row["recipe"] == "student"]
    assert [(row["number"], row["stage"]) for row in rows] == [
        ("0", "base"),
        ("1", "1. layer-drop"),
        ("2", "2. distillation"),
    ]
    assert [row["wall_seconds"] for row in rows] == ["", "1.5", "2.5"]
    assert rows[0]["disk_bytes"] == "90123456.0"


def test_latencies_are_quantiles_of_the_raw_calls(usual, files):
    rows = [row for row in rows_of(files, "latency.csv") if row["variant"] == "int8"]
    (campaign,) = usual.campaigns
    timings = Timings.read(CampaignStore(RunStore(Path(usual.store))).folder(campaign.id))
    calls = timings.calls("int8")["model_ns"] / 1e6
    for row in rows:
        assert float(row["milliseconds_at_most"]) == pytest.approx(np.quantile(calls, float(row["share_of_calls"])))
    assert {row["calls"] for row in rows} == {str(len(calls))}


def test_no_text_becomes_a_formula_and_numbers_stay_numbers(hostile):
    files = data_files(hostile)
    for name in ("comparison.csv", "flips.csv", "stages.csv", "latency.csv"):
        for row in csv.reader(io.StringIO(files[name])):
            for cell in row:
                assert not cell.startswith(("=", "+", "@", "\t")), cell
                if cell.startswith("-"):
                    float(cell)
    labels = {row["true_label"] for row in rows_of(files, "flips.csv")}
    assert "'=cmd|' /C calc'!A0" in labels


def test_a_study_without_flips_or_times_has_the_headings_alone(sunk):
    files = data_files(sunk)
    for name in ("flips.csv", "stages.csv", "latency.csv"):
        assert files[name].count("\n") == 1
        assert files[name].startswith("task,")
