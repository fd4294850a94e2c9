"""The HTML report tells what the records tell, whatever words they hold, and needs nothing from outside."""

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import vl_convert
from dossiers import HOSTILE_LABELS, HOSTILE_MESSAGE, HOSTILE_TASK, HOSTILE_TEXTS, STUDY_FILE, a_dossier
from html_pages import HtmlPage

from reports.figure import vega_lite
from reports.html import html_report
from workbench.wish import Wish


@pytest.fixture(scope="module")
def page(usual_page):
    return HtmlPage(usual_page)


def section(text, anchor):
    """One part of a page."""
    return HtmlPage(text.partition(f'<section id="{anchor}">')[2].partition("</section>")[0])


def answers_of(dossier, run_id):
    """What a run answered, straight from its file."""
    return pd.read_parquet(f"{dossier.store}/runs/{run_id}/predictions.parquet")


def row_of(page, recipe, *headings):
    """The first row of a recipe in a table of these headings; its first cell starts with the recipe."""
    return next(row for row in page.table("recipe", *headings) if row["recipe"].split()[0] == recipe)


@pytest.mark.parametrize("recipe", ["baseline", "int8", "student", "student-control"])
def test_quality_is_that_of_the_answers_in_the_files(usual, usual_page, recipe):
    after = section(usual_page, "comparison")
    table = answers_of(usual, f"reviews-{recipe}-s0")
    right = (table["prediction"] == table["label"]).mean()
    cell = row_of(after, recipe, "quality", "disk")["quality"]
    assert cell.startswith(f"{100 * right:.2f}")
    if recipe != "baseline":
        base = answers_of(usual, "reviews-baseline-s0")
        difference = 100 * (right - (base["prediction"] == base["label"]).mean())
        assert f"{difference:+.1f}".replace("-", "−") in cell


def test_sizes_are_those_of_the_record(usual, usual_page):
    after = section(usual_page, "comparison")
    record = json.loads(Path(usual.store, "runs", "reviews-int8-s0", "run.json").read_text())
    values = {found["metric"]: found["values"][0] for found in record["measurements"]}
    row = row_of(after, "int8", "quality", "disk")
    assert row["disk"].startswith(f"{values['disk'] / 1e6:.1f} MB")
    assert "4.00×" in row["disk"] and "smaller" in row["disk"]
    assert row["parameters"].startswith(f"{values['parameters'] / 1e6:.2f} M")
    assert row["agrees"] == f"{100 * values['agreement']:.1f} %"


def test_times_are_those_of_the_campaign(usual, page):
    (campaign,) = usual.campaigns
    record = json.loads(Path(usual.store, "campaigns", campaign.id, "campaign.json").read_text())
    entry = next(found for found in record["entries"] if found["name"] == "int8")
    latency = next(found["values"][0] for found in entry["measurements"] if found["metric"] == "latency")
    cell = row_of(page, "int8", "time of a call")["time of a call"]
    assert cell.startswith(f"{latency:.3g} ms")
    assert f"{entry['ratio']['value']:.2f}×: {entry['ratio']['low']:.2f} to {entry['ratio']['high']:.2f}" in cell
    assert "faster" in cell
    listed = {row["variant"]: row for row in page.table("variant", "verdict")}
    assert set(listed) == {"baseline", "baseline again", "student", "student-control", "int8"}
    assert "faster" in listed["int8"]["verdict"]


def test_damage_is_counted_from_the_answers_in_the_files(usual, page):
    ours, base = (answers_of(usual, f"reviews-{recipe}-s0") for recipe in ("student", "baseline"))
    changed = int((ours["prediction"] != base["prediction"]).sum())
    assert changed == 32
    assert f"{changed} answers of {len(ours)} are not the baseline's." in page.words
    of_label = base["label"] == 0
    broken = (base["prediction"] == base["label"]) & (ours["prediction"] != base["label"]) & of_label
    first = page.table("true label", "broken")[0]
    assert first["true label"] == "negative"
    assert first["rows"] == str(int(of_label.sum()))
    assert first["broken"] == str(int(broken.sum()))
    assert first["right now"].startswith(str(int((ours["prediction"] == ours["label"])[of_label].sum())))


def test_flips_come_with_their_text_and_what_both_thought(usual, page):
    flips = page.table("row", "text", "baseline", "now")
    ours, base = (answers_of(usual, f"reviews-{recipe}-s0").set_index("id") for recipe in ("student", "baseline"))
    for flip in flips:
        name = flip["row"].split()[0]
        assert flip["text"] == f"text {name[1:]} of a test"
        for who, table in (("baseline", base), ("now", ours)):
            logits = np.asarray(table.loc[name, "logits"], float)
            chances = np.exp(logits) / np.exp(logits).sum()
            assert f"positive\u00a0{100 * chances[1]:.1f}\u00a0%" in flip[who]
            assert flip[who].startswith(("negative", "positive")[table.loc[name, "prediction"]])


def test_the_steps_are_told_one_by_one(usual, page):
    steps = page.table("after", "took")
    assert [step["after"] for step in steps] == ["base", "1. layer-drop", "2. distillation"]
    assert [step["quality"] for step in steps] == ["80.00", "70.00", "72.00"]
    assert [step["took"] for step in steps] == ["–", "1.5 s", "2.5 s"]


def test_the_answer_comes_first_and_is_the_recommendations(usual, usual_page):
    assert usual.recommendation.headline == "ship int8"
    parts = re.findall(r'<section id="(.*?)">', usual_page)
    assert parts[:3] == ["answer", "comparison", "trade-off"]
    answer = section(usual_page, "answer")
    words = answer.words
    assert "Ship int8" in words
    for reason in usual.recommendation.reasons:
        assert reason in words
    assert row_of(answer, "int8", "time of a call")


def test_a_control_stands_beside_its_student(page):
    assert "Beside the same recipe without its teacher" in page.words
    gap = (320 + 12 - 20 - (320 + 10 - 40)) / 400
    assert f"With its teacher it is +{100 * gap:.1f} points from its control" in page.words


def test_all_caveats_commands_and_the_study_are_there(usual, page):
    for caveat in (*usual.comparison.caveats, *(told for line in usual.comparison.lines for told in line.caveats)):
        assert caveat in page.words
    for command in usual.commands:
        assert command in page.words
    assert STUDY_FILE.strip() in page.words
    assert "Xeon" in page.words


def test_the_page_asks_for_nothing_from_outside(usual_page, page):
    for tag, attributes in page.opened:
        assert not {"src", "srcset", "data", "action", "background", "poster"} & set(attributes), tag
        assert attributes.get("href", "#").startswith("#")
        assert tag not in ("link", "iframe", "object", "embed", "base", "img")
    styles = re.findall(r"<style>(.*?)</style>", usual_page, re.DOTALL)
    assert not re.search(r"url\(|@import", "".join(styles))


def test_the_policy_lets_just_these_scripts_run_and_nothing_be_fetched(page):
    (policy,) = [
        attributes["content"]
        for tag, attributes in page.opened
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none';")
    scripts = [text for kind, text in page.scripts if kind is None]
    assert len(scripts) == 2
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    assert "http" not in policy


def test_every_link_leads_to_a_part_of_the_page(page):
    ids = {attributes["id"] for _, attributes in page.opened if "id" in attributes}
    links = [attributes["href"] for tag, attributes in page.opened if tag == "a"]
    assert len(links) >= 9
    assert {link.removeprefix("#") for link in links} <= ids


@pytest.mark.parametrize("name", ["usual_page", "hostile_page", "several_page"])
def test_every_chart_can_be_drawn_and_holds_no_address(name, request):
    specs = [text for kind, text in HtmlPage(request.getfixturevalue(name)).scripts if kind == "application/json"]
    assert len(specs) >= 5
    for text in specs:
        spec = json.loads(text)
        assert spec["width"] == "container"
        assert "$schema" not in spec
        svg = vl_convert.vegalite_to_svg({**spec, "width": 400}, vl_version=vega_lite())
        assert svg.startswith("<svg")


def test_words_from_data_stay_words(hostile, hostile_page):
    page = HtmlPage(hostile_page)
    assert [kind for kind, _ in page.scripts if kind is None] == [None, None]
    assert not any(tag in ("img", "b") for tag, _ in page.opened)
    assert not any(name.startswith("on") for _, attributes in page.opened for name in attributes)
    assert HOSTILE_TASK in page.words
    assert HOSTILE_MESSAGE in page.words
    for label in HOSTILE_LABELS:
        assert label in page.words
    flips = next(found.damage.flips for found in hostile.explanations if found.recipe == "int8")
    shown = [text for text in HOSTILE_TEXTS if any(text in flip.texts for flip in flips)]
    assert len(shown) == len(HOSTILE_TEXTS)
    for text in shown:
        assert text in page.words
    assert "49" not in re.findall(r"`(.*?)`", page.words)


def test_charts_of_hostile_names_are_whole_json(hostile_page):
    texts = re.findall(r'<script type="application/json">(.*?)</script>', hostile_page, re.DOTALL)
    assert any(HOSTILE_LABELS[1] in json.dumps(json.loads(text), ensure_ascii=False) for text in texts)
    for text in texts:
        assert "<" not in text and "\u2028" not in text


def test_several_tasks_have_their_means_and_a_table_each(several, several_page):
    page = HtmlPage(several_page)
    assert "Task reviews" in page.words and "Task similarity" in page.words
    means = page.table("recipe", "quality")
    assert {row["recipe"].split()[0] for row in means} == {"baseline", "student"}
    mean = next(line for line in several.comparison.means if line.recipe == "student")
    parts = [line.quality.value for line in several.comparison.lines if line.recipe == "student"]
    assert mean.quality.value == pytest.approx(sum(parts) / 2)
    assert any(row["quality"].startswith(f"{100 * sum(parts) / 2:.2f}") for row in means)


def test_what_was_not_measured_is_said_in_a_sentence(several_page):
    words = HtmlPage(several_page).words
    assert "Nothing was timed, so nothing is known of speed." in words
    assert "No memory was measured." in words
    assert "Flips are not told" in words
    assert "The study's file was not kept" in words
    assert "Nothing was measured in latency" in words


def test_without_times_quality_is_drawn_beside_size(several_page):
    specs = [text for kind, text in HtmlPage(several_page).scripts if kind == "application/json"]
    assert any("size on disk, MB" in text for text in specs)
    assert not any("median time of one call" in text for text in specs)


def test_a_failed_run_stands_in_the_table_and_says_why(several_page):
    page = HtmlPage(several_page)
    assert "sunk failed: no room left on the device." in page.words
    assert any(row[0].split() == ["sunk", "▼", "failed"] for table in page.tables for row in table)


def test_a_study_of_which_nothing_was_finished_is_a_whole_page(sunk):
    page = HtmlPage(html_report(sunk))
    assert page.open == []
    assert "There is no recommendation" in page.words
    assert "There is no chart" in page.words
    assert "baseline failed: the base cannot be opened." in page.words
    assert "The baseline was not carried to its end" in page.words


def test_where_nothing_qualifies_the_nearest_is_told(made):
    dossier = a_dossier(made("strict"), Wish.of(max_size_mb=1))
    page = HtmlPage(html_report(dossier))
    assert dossier.recommendation.pick is None
    assert "Nothing qualifies; int8 comes nearest." in page.words
    assert "What is missed" in page.words


def test_the_page_is_well_formed(usual_page, page):
    assert page.open == []
    assert usual_page.startswith("<!DOCTYPE html>")
    assert "color-scheme: light dark" in usual_page
    assert "@media print" in usual_page
    assert re.search(r"prefers-color-scheme: dark", usual_page)
