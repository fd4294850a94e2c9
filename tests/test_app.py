"""The dashboard's pages show what the store holds, change with what is chosen, and stay useful when little is there."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from dossiers import (
    HOSTILE_LABELS,
    HOSTILE_MESSAGE,
    HOSTILE_TASK,
    HOSTILE_TEXTS,
    VERSIONS,
    keep_campaign,
    keep_failure,
    keep_scores,
    keep_versions,
)
from records import a_run, keep_run, keep_study, observed
from streamlit.testing.v1 import AppTest

from workbench.store import RECORD, RunStore

APP = str(Path(__file__).parents[1] / "app.py")
SPEEDS = {version.recipe: version.faster for version in VERSIONS}
WAIT = 120


@pytest.fixture
def store(tmp_path, monkeypatch) -> RunStore:
    monkeypatch.setenv("WORKBENCH_STORE", str(tmp_path / "store"))
    made = RunStore(tmp_path / "store")
    made.prepare()
    return made


@pytest.fixture
def timed(store) -> RunStore:
    """One task, four versions, judged, timed and weighed."""
    keep_campaign(store, keep_versions(store), SPEEDS)
    return store


def opened(page: str, **state: object) -> AppTest:
    """A page by itself, with what was chosen before; it must not fail."""
    found = AppTest.from_string(f"from reports.pages.{page} import show\nshow()", default_timeout=WAIT)
    for key, value in state.items():
        found.session_state[key.replace("_", " ")] = value
    return drawn(found)


def drawn(page: AppTest) -> AppTest:
    page.run()
    assert not page.exception, page.exception
    return page


def words(page: AppTest) -> str:
    """Everything a page says outside of tables and charts, without what keeps it from being markup."""
    parts = [*page.markdown, *page.caption, *page.info, *page.error, *page.warning, *page.success, *page.text]
    said = "\n".join(str(part.value) for part in parts)
    return said.replace("\\", "").replace("\u2060", "").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def charts(page: AppTest) -> list[dict]:
    return [json.loads(found.proto.spec) for found in page.get("vega_lite_chart")]


def test_the_front_door_opens_on_the_overview(timed):
    page = drawn(AppTest.from_file(APP, default_timeout=WAIT))
    assert [title.value for title in page.title] == ["Overview"]


def test_an_empty_store_says_what_to_do_next_on_every_page(store):
    for name in ("overview", "run", "compare_two", "reports_page"):
        page = opened(name)
        assert "No runs in" in page.info[0].value
        assert [link.proto.page for link in page.get("page_link")] == ["new_study"]
        assert "make demo" in page.code[0].value


def test_a_store_that_cannot_be_read_is_told_in_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "runs").write_text("not a folder")
    monkeypatch.setenv("WORKBENCH_STORE", str(tmp_path / "store"))
    assert "cannot be read" in opened("overview").error[0].value


def test_the_table_holds_numbers_with_units_intervals_and_verdicts(timed):
    table = opened("overview").dataframe[0].value
    assert list(table["recipe"]) == ["baseline", "student", "student-control", "int8"]
    assert list(table["quality"]) == pytest.approx([80.0, 78.0, 72.5, 79.75])
    assert list(table["disk, MB"]) == pytest.approx([90.12, 45.06, 45.06, 22.53], abs=0.01)
    assert list(table["× faster"]) == pytest.approx([1, 2, 2, 6])
    assert list(table["quality is"]) == ["", "unclear", "worse", "unclear"]
    assert list(table["speed is"]) == ["", "faster", "faster", "faster"]
    assert table["quality, 95 %"][3].count(" to ") == 1


def test_damaged_records_are_named_and_left_out(timed):
    (timed.folder("reviews-student-s0") / RECORD).write_text("{")
    page = opened("overview")
    assert "reviews-student-s0" in page.sidebar.text[0].value
    assert list(page.dataframe[0].value["recipe"]) == ["baseline", "student-control", "int8"]


def test_a_failed_run_stands_in_the_table_with_its_error(timed):
    keep_failure(timed, "sunk", "no room left on the device")
    page = opened("overview")
    table = page.dataframe[0].value.set_index("recipe")
    assert table["failed"]["sunk"] == "no room left on the device"
    assert table["quality"].isna()["sunk"]
    assert "sunk failed: no room left on the device." in words(page)


def test_a_study_of_failures_only_recommends_nothing_and_tells_them(store):
    keep_failure(store, "baseline", "the base cannot be opened")
    page = opened("overview")
    assert "nothing to recommend" in words(page)
    assert "baseline failed: the base cannot be opened." in words(page)


def test_the_recommendation_changes_with_the_limits(timed):
    page = opened("overview")
    assert "Ship int8" in words(page)
    page.select_slider(key="limit on quality").set_value("100 %")
    assert "Ship the baseline as it is" in words(drawn(page))
    page.select_slider(key="limit on latency").set_value("5 ms")
    assert "nothing qualifies" in words(drawn(page)).lower()
    page.select_slider(key="limit on quality").set_value("no limit")
    assert "Ship int8" in words(drawn(page))


def test_what_is_to_be_best_can_be_chosen(timed):
    page = opened("overview")
    page.selectbox(key="best").set_value("quality")
    assert "Ship the baseline as it is" in words(drawn(page))


def test_every_limit_can_be_lifted(timed):
    page = opened("overview")
    assert len(page.select_slider) == 4
    assert all("no limit" in slider.options for slider in page.select_slider)


def test_a_limit_that_another_study_does_not_know_is_forgotten(timed):
    page = opened("overview", limit_on_disk="123456 MB")
    assert page.select_slider(key="limit on disk").value == "no limit"


def test_the_axes_of_the_chart_can_be_chosen(timed):
    page = opened("overview")
    assert _titles(charts(page)[0]) >= {"median time of one call, ms", "quality, ×100"}
    across, up = (box for box in page.selectbox if box.label in ("Across", "Up"))
    assert "quality" in up.options and "time of a call" not in up.options
    across.set_value("memory")
    assert _titles(charts(drawn(page))[0]) >= {"memory of the model, MB", "quality, ×100"}


def test_the_chart_is_the_same_when_it_is_drawn_again_and_another_when_a_version_was_added(timed):
    page = opened("overview")
    before = charts(page)
    assert charts(drawn(page)) == before
    student = timed.read("reviews-student-s0")
    added = {"id": "reviews-late-s0", "recipe": student.recipe.model_copy(update={"name": "late"})}
    keep_run(timed, student.model_copy(update=added))
    page.selectbox(key="best").set_value("size")
    assert "late" in list(drawn(page).dataframe[0].value["recipe"])
    across = next(box for box in page.selectbox if box.label == "Across")
    across.set_value("disk")
    assert "late" in json.dumps(charts(drawn(page)))


def test_charts_write_in_the_colour_of_the_page(timed):
    found = [*charts(opened("overview")), *charts(opened("compare_two")), *charts(opened("run"))]
    assert len(found) > 4
    assert {chart["config"]["axis"]["labelColor"] for chart in found} == {"currentColor"}


def _titles(spec: dict) -> set[str]:
    return {
        channel["title"]
        for layer in spec["layer"]
        for channel in layer["encoding"].values()
        if isinstance(channel, dict) and channel.get("title")
    }


def test_seeds_can_be_left_out(store):
    keep_study(store, {"drop": (4, 20)}, seeds=(0, 1, 2))
    page = opened("overview")
    assert "seeds 0, 1, 2" in words(page)
    page.sidebar.multiselect[0].set_value([1])
    assert "seed 1 ·" in words(drawn(page))
    assert list(page.dataframe[0].value["seeds"]) == ["1", "1"]
    page.sidebar.multiselect[0].set_value([])
    assert "seeds 0, 1, 2" in words(drawn(page))


def test_one_task_or_the_mean_over_all_can_be_chosen(store):
    keep_study(store, {"drop": (4, 20)}, tasks=("reviews", "tickets"))
    page = opened("overview")
    assert "mean over reviews, tickets" in words(page)
    page.sidebar.selectbox(key="task").set_value("tickets")
    assert "task tickets" in words(drawn(page))


def test_another_study_can_be_chosen_and_the_newest_is_first(store):
    keep_study(store, {"drop": (4, 20)}, study="old")
    keep_study(store, {"graph": (0, 0)}, study="new", created="2026-03-01T00:00:00.000+00:00")
    page = opened("overview")
    assert list(page.dataframe[0].value["recipe"]) == ["baseline", "graph"]
    page.sidebar.selectbox(key="study").set_value("old")
    assert list(drawn(page).dataframe[0].value["recipe"]) == ["baseline", "drop"]


def test_without_a_baseline_quality_is_limited_in_points(store):
    for place, recipe in enumerate(("drop", "graph")):
        keep_run(store, a_run(f"r-{recipe}", recipe, measurements=observed(accuracy=0.7 + place / 10, disk=5e7)))
    page = opened("overview")
    assert "80 points" in page.select_slider(key="limit on quality").options
    assert "kept, %" not in page.dataframe[0].value
    assert "Ship graph" in words(page)
    assert "no finished baseline" in words(opened("run"))
    assert "cannot be compared" in words(opened("compare_two"))


@pytest.fixture
def hostile(store) -> RunStore:
    """Names, texts and messages that would be markup if anybody took them for it."""
    runs = keep_versions(store, HOSTILE_TASK, labels=HOSTILE_LABELS, texts=HOSTILE_TEXTS, command="=1 </script>")
    keep_campaign(store, runs, SPEEDS)
    data = {"source": HOSTILE_MESSAGE, "fingerprint": runs[0].data.fingerprint, "rows": {"test": 400}}
    keep_failure(store, "broken", HOSTILE_MESSAGE, task=HOSTILE_TASK, data=data)
    return store


@pytest.mark.parametrize("name", ["overview", "run", "compare_two", "reports_page"])
def test_no_text_from_data_becomes_markup(hostile, name):
    page = opened(name, run_recipe="broken") if name == "run" else opened(name)
    read_as_markdown = [*page.markdown, *page.caption, *page.info, *page.error, *page.warning, *page.success]
    said = "\n".join(part.value for part in read_as_markdown)
    for markup in ("<img", "<script", "</script", "[link](", "`here`", "{{ 7*7 }}`"):
        assert markup not in said
    assert not any(part.proto.allow_html for part in page.markdown)


def test_what_a_hostile_run_failed_of_is_told_word_for_word(hostile):
    assert HOSTILE_MESSAGE in words(opened("run", run_recipe="broken"))


def test_a_run_is_shown_step_by_step_with_all_that_was_measured(timed):
    page = opened("run", run_recipe="student")
    assert page.code[0].value == "reviews-student-s0"
    assert {metric.label: metric.value for metric in page.metric}["on disk"] == "45.1 MB"
    assert page.tabs[0].label == "Steps"
    said = words(page)
    assert "1. layer-drop" in said and "2. distillation" in said
    alts = [chart["description"] for chart in charts(page)]
    for drawn_thing in ("1. layer-drop: 70.00", "MB on disk of 2 recipes", "How long single calls of 3", "Memory that"):
        assert any(drawn_thing in alt for alt in alts), alts


def test_the_recommended_run_is_shown_first(timed):
    assert opened("run").selectbox(key="run recipe").value == "int8"


def test_commands_of_a_run_can_be_copied(timed):
    (timed.folder("reviews-int8-s0") / "artifact").mkdir()
    codes = [code.value for code in opened("run", run_recipe="int8").code]
    assert codes[1] == str(timed.folder("reviews-int8-s0") / "artifact")
    assert codes[2] == "workbench run s.yaml"
    assert [code.split()[1] for code in codes[3:]] == ["show", "export", "predict", "measure"]
    assert all(code.endswith(f"--store {timed.root}") for code in codes[3:])


def test_a_run_without_weights_offers_no_commands_that_need_them(timed):
    page = opened("run", run_recipe="int8")
    assert "no weights of this run" in words(page)
    assert not any("export" in code.value for code in page.code)


def test_a_failed_run_is_shown_with_its_stage_and_message(timed):
    keep_failure(timed, "sunk", "no room left on the device")
    page = opened("run", run_recipe="sunk")
    assert page.error[0].value == "Failed while a step was carried out: No room left on the device."
    assert "not carried out" in words(page)


def test_of_runs_made_twice_either_can_be_seen(timed):
    again = timed.read("reviews-student-s0").model_copy(
        update={"id": "reviews-student-s0-again", "created": "2026-02-02T00:00:00.000+00:00"}
    )
    keep_run(timed, again)
    page = opened("run", run_recipe="student")
    assert page.code[0].value == "reviews-student-s0-again"
    older = next(box for box in page.selectbox if box.label == "Made 2 times")
    older.select_index(1)
    assert drawn(page).code[0].value == "reviews-student-s0"


def test_of_several_tasks_one_is_chosen_on_pages_that_show_one(store):
    keep_study(store, {"drop": (4, 20)}, tasks=("reviews", "tickets"))
    assert opened("run", one_task="tickets", run_recipe="drop").code[0].value == "tickets-drop-s0"
    assert _box(opened("compare_two"), "Task").options == ["reviews", "tickets"]


def test_two_versions_are_compared_in_words_with_their_tests(timed):
    said = words(opened("compare_two", second_of_two="student"))
    assert "student differs from baseline by −2.0 points of accuracy × 100 on 400 test rows" in said
    assert "exact McNemar" in said and "p = 0.215" in said
    assert "That it keeps at least 97 % of the accuracy of baseline is not shown" in said
    assert "2.00 times as fast" in said
    assert "2.00 times less" in said


def test_the_baseline_and_the_recommended_are_compared_first(timed):
    page = opened("compare_two")
    chosen = [page.selectbox(key=key).value for key in ("first of two", "second of two")]
    assert chosen == ["baseline", "int8"]


def test_two_variants_are_judged_beside_each_other_not_beside_the_baseline(timed):
    page = opened("compare_two", first_of_two="student", second_of_two="int8")
    said = words(page)
    assert "int8 differs from student by +1.7 points" in said
    assert "3.00 times as fast" in said
    assert list(page.dataframe[0].value["right in student"]) == [156, 156]


def test_flipped_answers_are_found_by_direction_label_and_text(timed):
    page = opened("compare_two", second_of_two="student")
    flips = page.dataframe[1].value
    assert len(flips) == 32
    assert {"baseline, % sure", "student, % sure"} <= set(flips)
    _box(page, "Went").set_value("mended")
    assert len(drawn(page).dataframe[1].value) == 12
    _box(page, "True label").set_value("negative")
    assert len(drawn(page).dataframe[1].value) == 6
    page.main.text_input[0].set_value("TEXT 322 OF")
    assert list(drawn(page).dataframe[1].value["text"]) == ["text 322 of a test"]


def _box(page: AppTest, label: str):
    return next(box for box in page.selectbox if box.label == label)


def test_scores_have_no_flips_and_the_page_says_so(store):
    keep_scores(store)
    page = opened("compare_two")
    assert "scores, which all differ a little" in words(page)
    assert not page.dataframe


def test_one_version_alone_cannot_be_compared(store):
    keep_run(store, a_run(measurements=observed(accuracy=0.8)))
    assert "nothing to compare" in words(opened("compare_two"))


def test_a_report_is_made_only_when_somebody_asks(timed):
    page = opened("reports_page")
    assert not page.get("download_button")
    page.button[0].click()
    offered = drawn(page).get("download_button")
    assert [button.label for button in offered] == [
        "One HTML page",
        "Markdown and charts",
        "The table as CSV",
        "All of it as JSON",
    ]
    page.select_slider(key="limit on quality").set_value("90 %")
    assert not drawn(page).get("download_button")


def test_a_report_is_written_into_the_store_and_nothing_is_overwritten(timed):
    page = opened("reports_page")
    page.button[0].click()
    drawn(page).main.text_input[0].set_value("mine")
    drawn(page).button[1].click()
    assert "files written" in drawn(page).success[0].value
    assert (timed.root / "reports" / "mine" / "report.html").is_file()
    page.button[1].click()
    assert "nothing is overwritten" in drawn(page).error[0].value


def test_a_report_is_written_nowhere_else(timed):
    page = opened("reports_page")
    page.button[0].click()
    drawn(page).main.text_input[0].set_value("../elsewhere")
    drawn(page).button[1].click()
    assert "no name for a folder" in drawn(page).error[0].value
    assert not (timed.root / "elsewhere").exists()


def test_the_limits_of_a_report_are_those_that_were_set(timed):
    page = opened("reports_page", limit_on_quality="99 %", best="size")
    assert "the best size on disk, with at least 99 % of the baseline's quality" in words(page)


def test_markdown_and_its_charts_come_in_one_archive():
    from reports.pages.reports_page import zipped

    held = zipfile.ZipFile(io.BytesIO(zipped({"report.md": b"# x", "charts/a.svg": b"<svg/>"})))
    assert {name: held.read(name) for name in held.namelist()} == {"report.md": b"# x", "charts/a.svg": b"<svg/>"}
