"""A model card tells what was measured and nothing else, in metadata for programs and in words that stay words."""

import html
import re
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt
from records import a_campaign, a_run, an_entry

from workbench.export_check import ExportCheck
from workbench.lineage import Manifest
from workbench.markdown_text import fenced
from workbench.model_card import model_card
from workbench.ratios import Ratio
from workbench.tasks.glue import HUB_PATH, HUB_REVISION
from workbench.usage_example import OPENERS, usage_example

COST = {"wall_seconds": 12.34, "cpu_seconds": 56.78}
HOSTILE = (
    "a | b",
    "<script>alert(1)</script>",
    "`code` ``` more",
    "*loud* [text](http://example.org)",
    "key: value",
    "\n---\n# big\n",
    "- item\n1. other",
    "'quoted' \"twice\"",
    "naïve ✓ \u2028 line",
    "back\\slash \\",
)


def scored(metric: str, value: float) -> dict[str, Any]:
    return {"metric": metric, "unit": "score", "better": "higher", "values": [value]}


def measured(accuracy: float, disk: float) -> list[dict[str, Any]]:
    return [
        scored("accuracy", accuracy),
        {"metric": "disk", "unit": "bytes", "better": "lower", "values": [disk]},
        {"metric": "parameters", "unit": "count", "better": "lower", "values": [22_700_000]},
    ]


BASE_RUN = a_run(measurements=measured(0.8123, 91_800_000))


def dropped(**changes: Any):
    step = {
        **{"use": "layer-drop", "options": {"keep": [0, 2], "layers": None}, "provider": "encoder-workbench"},
        **{"version": "0.1.0", "detail": {}, "cost": COST, "measurements": measured(0.7654, 70_500_000)},
    }
    base = {
        **{"name": "owner/small-bert", "hash": "abcdef" * 10, "finetuned": True, "key": "k", "cost": COST},
        "settings": {"epochs": 3.0},
    }
    facts = {"steps": [step], "base": base, "measurements": measured(0.7654, 70_500_000)}
    return a_run("reviews-drop-s0", "drop", **{**facts, **changes})


def manifest(runtime: str = "torch", portable: bool = True, **changes: Any) -> Manifest:
    lineage = {
        **{"base": "owner/small-bert", "base_hash": "h", "base_config": {}, "task": "reviews"},
        **{"kind": "classification", "labels": ("bad", "good"), "text_count": 1, "max_length": 64, **changes},
    }
    return Manifest(runtime=runtime, portable=portable, lineage=lineage, files={})


def metadata(card: str) -> dict[str, Any]:
    """What a program finds between the first two rulers."""
    _, told, _ = card.split("---\n", 2)
    return yaml.safe_load(told)


def body(card: str) -> str:
    return card.split("---\n", 2)[2]


def rendered(card: str) -> str:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(body(card))


def headings(card: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", rendered(card))


def markup(card: str, heading: str) -> str:
    (found,) = re.findall(rf"<h2>{heading}</h2>(.*?)(?=<h2>|\Z)", rendered(card), flags=re.DOTALL)
    return found


def section(card: str, heading: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", markup(card, heading)))


def test_the_hubs_own_library_reads_the_measured_results_back():
    card = ModelCard(model_card(dropped(), manifest(), BASE_RUN))
    (result,) = card.data.eval_results
    assert card.data.model_name == "reviews-drop-s0"
    assert (result.task_type, result.metric_type, result.metric_value) == ("text-classification", "accuracy", 0.7654)
    assert (result.dataset_name, result.dataset_split, result.dataset_args) == ("reviews", "test", {"rows": 2})
    assert card.data.library_name == "transformers"
    assert card.data.pipeline_tag == "text-classification"
    assert card.data.base_model == "owner/small-bert"
    assert card.data.metrics == ["accuracy"]
    assert {"encoder-workbench", "safetensors", "reviews", "layer-drop"} == set(card.data.tags)


def test_what_is_not_known_has_no_key():
    card = model_card(a_run(), manifest())
    assert set(metadata(card)) == {"library_name", "pipeline_tag", "tags"}
    assert not {"Quality", "Size", "Speed and memory"} & set(headings(card))


@pytest.mark.parametrize("name", ["./base", "/models/bert", "~/bert", "package:a_package/model", "two words", "a/b/c"])
def test_a_base_that_is_not_on_the_hub_is_no_base_model(name):
    base = {"name": name, "hash": "h", "finetuned": False, "key": "k", "settings": {}, "cost": COST}
    card = model_card(dropped(base=base), manifest())
    assert "base_model" not in metadata(card)
    assert name in section(card, "How it was made")


def glue_run(task: str, source: str, measurements: list[dict[str, Any]], **changes: Any):
    data = {"source": source, "fingerprint": "rows", "rows": {"train": 9, "test": 872, "matched": 5, "mismatched": 6}}
    return dropped(task=task, data=data, measurements=measurements, **changes)


def test_glue_rows_name_their_data_set_and_only_the_hubs_own_their_revision():
    found = [scored("accuracy", 0.9)]
    from_folder = metadata(model_card(glue_run("sst2", "GLUE folder /data/glue", found), manifest()))
    from_hub = metadata(
        model_card(glue_run("sst2", f"hub data set {HUB_PATH}/sst2 at {HUB_REVISION[:8]}", found), manifest())
    )
    assert from_folder["datasets"] == from_hub["datasets"] == [HUB_PATH]
    (told,), (pinned,) = (facts["model-index"][0]["results"] for facts in (from_folder, from_hub))
    place = {"name": f"{HUB_PATH} sst2", "type": HUB_PATH, "config": "sst2", "split": "validation"}
    assert told["dataset"] == {**place, "args": {"rows": 872}}
    assert pinned["dataset"] == {**told["dataset"], "revision": HUB_REVISION}


def test_own_files_under_a_known_name_are_not_taken_for_glue():
    assert "datasets" not in metadata(model_card(dropped(task="sst2"), manifest()))


def test_every_test_part_is_a_result_of_its_own():
    run = glue_run("mnli", "GLUE folder x", [scored("accuracy/matched", 0.8), scored("accuracy/mismatched", 0.7)])
    results = ModelCard(model_card(run, manifest())).data.eval_results
    told = {(result.dataset_split, result.metric_value) for result in results}
    assert told == {("validation_matched", 0.8), ("validation_mismatched", 0.7)}


def test_metrics_go_by_their_names_on_the_hub():
    run = dropped(metrics=["pearson", "spearman"], measurements=[scored("pearson", 0.5), scored("spearman", 0.4)])
    card = metadata(model_card(run, manifest(labels=(), kind="regression")))
    assert card["metrics"] == ["pearsonr", "spearmanr"]


def test_the_card_tells_each_step_with_its_options_and_cost():
    told = section(model_card(dropped(), manifest()), "How it was made")
    assert "owner/small-bert (content abcdefabcdef), fine-tuned on 10 training rows with epochs=3.0" in told
    assert "layer-drop with keep=[0, 2] (by encoder-workbench 0.1.0)" in told
    assert "layers=" not in told
    assert told.count("in 12.3 s (56.8 s of processor time)") == 2
    assert "accuracy 0.7654, disk 70.50 MB" in told


def test_quality_and_size_stand_beside_the_baselines():
    card = model_card(dropped(), manifest(), BASE_RUN)
    cells = re.findall("<t[dh][^>]*>(.*?)</t[dh]>", markup(card, "Quality"))
    assert cells == ["", "this model", "baseline", "accuracy, test rows", "0.7654", "0.8123"]
    assert "70.50 MB" in section(card, "Size") and "91.80 MB" in section(card, "Size")
    assert "22,700,000" in section(card, "Size")
    alone = model_card(dropped(), manifest())
    assert "baseline" not in section(alone, "Quality") + section(alone, "Size")


def campaign(**changes: Any):
    entry = an_entry("drop", Ratio(value=1.7, low=1.6, high=1.8, processes=3), run="reviews-drop-s0")
    return a_campaign(entry, **changes)


def test_speed_is_told_with_machine_and_threads_and_the_baselines_beside_it():
    told = section(model_card(dropped(), manifest(), BASE_RUN, campaign()), "Speed and memory")
    assert "12.5 ms" in told and "64.00 MB" in told
    assert "2026-01-01 with 1 thread on Xeon, 2 cores; batch 1, 21 tokens on average, run by torch" in told
    assert "Times as fast as the baseline: 1.70 (95 % interval 1.60 to 1.80); verdict: faster." in told
    assert "was not timed" not in told


def test_a_campaign_without_a_control_leaves_speed_unclear_and_says_why():
    told = section(model_card(dropped(), manifest(), BASE_RUN, campaign(control=None)), "Speed and memory")
    assert "verdict: unclear. Doubt: the baseline could not be measured twice" in told


def test_an_export_that_another_runtime_runs_is_said_not_to_be_timed():
    told = section(model_card(dropped(), manifest("onnxruntime", False), BASE_RUN, campaign()), "Speed and memory")
    assert "This folder is run by onnxruntime and was not timed." in told


def test_a_campaign_without_this_run_tells_no_speed():
    assert "Speed and memory" not in headings(model_card(dropped(), manifest(), BASE_RUN, a_campaign()))
    failed = a_campaign(an_entry("drop", measured={}, answers=None, failure="it crashed", run="reviews-drop-s0"))
    assert "Speed and memory" not in headings(model_card(dropped(), manifest(), BASE_RUN, failed))


def test_the_limits_name_task_labels_length_seed_and_test_rows():
    told = section(model_card(dropped(seed=7), manifest()), "Intended use and limits")
    for fact in ("Task: reviews, classification of single texts", "bad, good", "64 tokens", "one, 7;", "2 test rows"):
        assert fact in told


def test_what_was_tried_when_the_folder_was_written_is_told():
    check = ExportCheck(rows=64, differing=1, beyond_rounding=0, largest_difference=0.0123)
    told = section(model_card(dropped(), manifest(), BASE_RUN, None, check), "Quality")
    assert "answered 64 of the kept test rows: 1 answers differ from the run's, 0 of them beyond rounding" in told
    assert "at most 1.2e-02; it computes a little otherwise than what was judged" in told
    exact = check.model_copy(update={"differing": 0, "largest_difference": 1e-6})
    told = section(model_card(dropped(), manifest(), BASE_RUN, None, exact), "Quality")
    assert "all answers are those of the run, and outputs differ by at most 1.0e-06." in told


@pytest.mark.parametrize(
    ("runtime", "portable", "library", "telling"),
    [
        ("torch", True, "transformers", "AutoModelForSequenceClassification"),
        ("torch", False, "encoder-workbench", "workbench.predicting"),
        ("onnxruntime", False, "onnx", "onnxruntime.InferenceSession"),
        ("openvino", False, "openvino", "openvino.Core()"),
    ],
)
def test_the_usage_fits_the_format(runtime, portable, library, telling):
    exported = manifest(runtime, portable)
    card = model_card(dropped(), exported)
    assert metadata(card)["library_name"] == library
    assert fenced(usage_example(exported), "python") in card
    others = {"AutoModelForSequenceClassification", "workbench.predicting", "InferenceSession", "openvino.Core"}
    assert telling in card
    assert not any(other in card for other in others if other not in telling)


@pytest.mark.parametrize("opener", OPENERS.values(), ids=list(OPENERS))
@pytest.mark.parametrize("labels", [("bad", "good"), ()])
@pytest.mark.parametrize("text_count", [1, 2])
def test_every_example_is_a_short_program(opener, labels, text_count):
    runtime, portable = {"transformers": ("torch", True), "encoder-workbench": ("torch", False)}.get(
        opener.library, ({"onnx": "onnxruntime"}.get(opener.library, opener.library), False)
    )
    text = usage_example(manifest(runtime, portable, labels=labels, text_count=text_count))
    compile(text, "example.py", "exec")
    assert len([line for line in text.splitlines() if line.strip() and not line.startswith("import")]) <= 17
    assert max(map(len, text.splitlines())) <= 120


def test_the_card_says_how_to_repeat_it():
    told = section(model_card(dropped(command="workbench run 's y.yaml' --store x"), manifest()), "How to repeat it")
    assert "workbench run 's y.yaml' --store x" in told
    assert "workbench export reviews-drop-s0 FOLDER --to hf" in told
    assert "torch 2" in told


@pytest.mark.parametrize("words", HOSTILE)
def test_words_from_data_stay_words(words):
    base = {"name": words, "hash": "h", "finetuned": True, "key": words, "settings": {"note": words}, "cost": COST}
    data = {"source": words, "fingerprint": "rows", "rows": {"train": 10, words: 2}}
    run = dropped(task=words, base=base, data=data, command=words, measurements=[scored("accuracy", 0.5)])
    run = run.model_copy(update={"recipe": run.recipe.model_copy(update={"when": words})})
    card = model_card(run, manifest(base=words, labels=(words, "good")), BASE_RUN, campaign())
    plain = model_card(dropped(), manifest(), BASE_RUN, campaign())
    assert headings(card) == [heading for heading in headings(plain) if heading != "Size"]
    assert rendered(card).count("<h1>") == 1
    assert not re.search(r"<(script|a |em|strong|hr)", rendered(card))
    assert markup(card, "Quality").count("<td") == markup(plain, "Quality").count("<td")
    one_line = " ".join(words.split())
    assert one_line in " ".join(section(card, "What it is").split())
    told = metadata(card)
    assert one_line in told["tags"]
    assert ModelCard(card).data.eval_results[0].task_name == one_line
    assert set(told) == set(metadata(plain)) - {"base_model"}


@pytest.mark.parametrize("words", ["```", "````` x", "plain", "a\n```\nb"])
def test_nothing_ends_a_block_of_code_early(words):
    shown = MarkdownIt("commonmark").render(fenced(words, "bash") + "\n\nafter")
    assert shown == f'<pre><code class="language-bash">{html.escape(words)}\n</code></pre>\n<p>after</p>\n'
