"""An export works by itself, answers like the run it came from, and is written whole or not at all."""

import resource
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import ModelCard
from kept_runs import keep_run, make_store
from scipy.special import softmax
from tiny import TOKENIZERS, sentences, study_of, write_base

from workbench.encoder import Encoder
from workbench.errors import ArtifactError, StoreError, UnknownNameError, UsageError
from workbench.export_check import check_export
from workbench.exporting import export_run, handed_over
from workbench.finetuned import OpenedBase
from workbench.kept_rows import read_rows
from workbench.lineage import Manifest
from workbench.predictions import Predictions, read_predictions, write_predictions
from workbench.run import Failure
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.tasks.data import read_task

# What each runtime's artifacts can become, and what then opens the folder.
POSSIBLE = {
    ("drop", "hf"): "transformers",
    ("drop", "onnx"): "onnxruntime",
    ("drop", "openvino"): "openvino",
    ("factorized", "hf"): "workbench",
    ("factorized", "onnx"): "onnxruntime",
    ("factorized", "openvino"): "openvino",
    ("onnx", "onnx"): "onnxruntime",
    ("onnx", "openvino"): "openvino",
    ("int8", "onnx"): "onnxruntime",
    ("int8", "openvino"): "openvino",
    ("openvino", "openvino"): "openvino",
}
MODEL_FILES = {
    "transformers": {"model.safetensors"},
    "workbench": {"model.safetensors", "workbench.json"},
    "onnxruntime": {"model.onnx"},
    "openvino": {"model.xml", "model.bin"},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory, tiny_task) -> RunStore:
    return make_store(tmp_path_factory.mktemp("kept"), tiny_task)


@pytest.fixture(scope="module")
def exported(store, tmp_path_factory):
    """Gives the folder of a recipe's run in a format."""
    root, made = tmp_path_factory.mktemp("exported"), {}

    def give(recipe: str, to: str) -> Path:
        if (recipe, to) not in made:
            made[recipe, to] = export_run(found(store, recipe), store, root / f"{recipe}-{to}", to)
        return made[recipe, to].folder

    return give


def found(store: RunStore, recipe: str):
    (run,) = [run for run in store.runs()[0] if run.recipe.name == recipe]
    return run


def copied(store: RunStore, folder: Path) -> RunStore:
    return RunStore(shutil.copytree(store.root, folder / "copy"))


def kept_answer(store: RunStore, recipe: str, place: int = 0) -> tuple[tuple[str, ...], np.ndarray]:
    """A test row's texts and what the run put out for it."""
    run = found(store, recipe)
    rows = read_rows(store.rows_file(run.data.fingerprint))["test"]
    (answers,) = read_predictions(store.folder(run.id) / PREDICTIONS)
    return rows[place].texts, answers.logits[place]


@pytest.fixture
def run_example(monkeypatch, capsys):
    """Runs an export's example in this process and gives what it printed."""

    def run(folder: Path, texts: tuple[str, ...]) -> str:
        monkeypatch.setattr(sys, "argv", ["example.py", *texts])
        capsys.readouterr()
        runpy.run_path(str(folder / "example.py"))
        return capsys.readouterr().out

    return run


def told_shares(printed: str) -> tuple[str, list[float]]:
    first, *rest = printed.strip().splitlines()
    return first, [float(line.rpartition(": ")[2]) for line in rest]


def answers_like(printed: str, logits: np.ndarray, labels: tuple[str, ...] = ("bad", "good")) -> None:
    label, shares = told_shares(printed)
    # Int8 with ranges of a text alone differs a little from int8 with those of a batch.
    np.testing.assert_allclose(shares, softmax(logits.astype(np.float64)), atol=0.03)
    assert label == labels[int(np.argmax(shares))]


@pytest.mark.parametrize(("recipe", "to"), POSSIBLE)
def test_an_export_holds_its_model_a_card_and_an_example_that_answers_like_the_run(
    recipe, to, store, exported, run_example
):
    folder = exported(recipe, to)
    names = {path.name for path in folder.iterdir()}
    assert MODEL_FILES[POSSIBLE[recipe, to]] | {"README.md", "example.py", "config.json", "tokenizer.json"} <= names
    card = ModelCard((folder / "README.md").read_text(encoding="utf-8"))
    assert card.data.eval_results[0].metric_value == pytest.approx(found(store, recipe).measured("accuracy").value)
    texts, logits = kept_answer(store, recipe)
    answers_like(run_example(folder, texts), logits)


@pytest.mark.parametrize(
    ("recipe", "to"),
    [
        ("drop", "hf"),
        pytest.param("drop", "onnx", marks=pytest.mark.slow),
        pytest.param("drop", "openvino", marks=pytest.mark.slow),
        pytest.param("factorized", "hf", marks=pytest.mark.slow),
    ],
)
def test_an_example_runs_by_itself_from_anywhere(recipe, to, store, exported, tmp_path):
    texts, logits = kept_answer(store, recipe)
    command = [sys.executable, str(exported(recipe, to) / "example.py"), *texts]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answers_like(done.stdout, logits)


@pytest.mark.parametrize("case", [case for case in POSSIBLE if POSSIBLE[case] != "workbench"])
def test_an_example_takes_no_workbench_where_none_is_needed(case, exported):
    assert "workbench" not in (exported(*case) / "example.py").read_text(encoding="utf-8")


def test_stock_classes_open_a_portable_export_and_say_its_labels(store, exported):
    from transformers import pipeline

    folder = exported("drop", "hf")
    (text,), logits = kept_answer(store, "drop")
    answer = pipeline("text-classification", model=str(folder), device="cpu")(text)
    assert answer[0]["label"] == ("bad", "good")[int(logits.argmax())]
    assert answer[0]["score"] == pytest.approx(softmax(logits).max(), abs=1e-4)


def test_an_export_that_needs_the_workbench_says_so(exported):
    card = (exported("factorized", "hf") / "README.md").read_text(encoding="utf-8")
    assert "opens with the encoder workbench" in card
    assert ModelCard(card).data.library_name == "encoder-workbench"


def test_an_export_can_be_opened_by_the_workbench_again(store, exported):
    for case in POSSIBLE:
        assert Encoder.load(exported(*case)).lineage.labels == ("bad", "good")


@pytest.mark.parametrize(
    ("recipe", "to", "way_out"),
    [
        ("int8", "hf", "--to onnx or openvino"),
        ("openvino", "hf", "--to openvino"),
        ("openvino", "onnx", "--to openvino"),
    ],
)
def test_a_graph_that_cannot_become_what_is_asked_is_refused_with_the_way_out(recipe, to, way_out, store, tmp_path):
    with pytest.raises(UsageError, match=f"is a graph for .* cannot be made; export it with {way_out}"):
        export_run(found(store, recipe), store, tmp_path / "out", to)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused_with_those_there_are(store, tmp_path):
    with pytest.raises(UnknownNameError, match="no export format 'pickle'; known: hf, onnx, openvino"):
        export_run(found(store, "drop"), store, tmp_path / "out", "pickle")


@pytest.mark.parametrize("family", ["roberta", "albert", "distilbert"])
def test_every_family_answers_alike_in_all_formats(family, tiny_task, tmp_path, run_example):
    store = make_store(tmp_path, tiny_task, (), family)
    texts, logits = kept_answer(store, "baseline")
    for to in ("hf", "onnx", "openvino"):
        made = export_run(found(store, "baseline"), store, tmp_path / to, to)
        assert made.check.differing == 0
        answers_like(run_example(made.folder, texts), logits)


def test_a_score_over_pairs_is_exported_and_printed(tiny_regression, tmp_path, run_example):
    store = make_store(tmp_path, tiny_regression, ())
    texts, logits = kept_answer(store, "baseline")
    for to in ("hf", "onnx", "openvino"):
        made = export_run(found(store, "baseline"), store, tmp_path / to, to)
        assert run_example(made.folder, texts) == f"score: {logits[0]:.4f}\n"


def test_a_tokenizer_that_tells_types_its_model_refuses_is_mended(tiny_task, tmp_path, run_example):
    base = write_base("distilbert", tmp_path / "base")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        (base / name).unlink(missing_ok=True)
    TOKENIZERS["bert"]([text for text, _ in sentences(400, 5)]).save_pretrained(base)
    encoder = OpenedBase.open(study_of(base, tiny_task)).untrained(tiny_task.declared(Path()), 0)
    assert "token_type_ids" in encoder.tokenizer.model_input_names
    store = RunStore(tmp_path / "store")
    store.prepare()
    run = keep_run(store, encoder, "baseline", read_task(tiny_task.declared(Path())))
    made = export_run(run, store, tmp_path / "out", "hf")
    texts, logits = kept_answer(store, "baseline")
    answers_like(run_example(made.folder, texts), logits)


def test_the_card_tells_the_baseline_beside_the_run(store, exported):
    card = (exported("drop", "onnx") / "README.md").read_text(encoding="utf-8")
    ours, base = (found(store, recipe).measured("accuracy").value for recipe in ("drop", "baseline"))
    assert f"| accuracy, test rows | {ours:.4f} | {base:.4f} |" in card


def test_the_check_is_told_in_the_card_and_by_the_call(store, tmp_path):
    made = export_run(found(store, "drop"), store, tmp_path / "out", "onnx")
    assert made.check.rows > 50
    assert (made.check.differing, made.check.beyond_rounding) == (0, 0)
    assert 0 <= made.check.largest_difference < 1e-4
    assert made.check.words in (made.folder / "README.md").read_text(encoding="utf-8")
    assert made.bytes == sum(path.stat().st_size for path in made.folder.iterdir())


def spoil_answers(store: RunStore, recipe: str) -> None:
    """Turn every kept answer around, as if another model had been judged."""
    path = store.folder(found(store, recipe).id) / PREDICTIONS
    (kept,) = read_predictions(path)
    turned = [row[::-1].copy() for row in kept.logits]
    write_predictions(path, [Predictions(kept.part, kept.ids, kept.labels, kept.predictions, turned)])


@pytest.mark.parametrize("to", ["hf", "onnx", "openvino"])
def test_an_export_that_is_another_model_is_not_handed_over(to, store, tmp_path):
    spoiled = copied(store, tmp_path)
    spoil_answers(spoiled, "drop")
    with pytest.raises(ArtifactError, match=r"another model: opened afresh, it answered \d+ of .* of them beyond"):
        export_run(found(spoiled, "drop"), spoiled, tmp_path / "out", to)
    assert {path.name for path in tmp_path.iterdir()} == {"copy"}


def test_outputs_that_are_no_numbers_are_another_model():
    kept = [np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)]
    check = check_export([np.array([np.nan, 0.0], np.float32), kept[1]], kept)
    assert (check.beyond_rounding, check.largest_difference) == (1, None)
    assert "some outputs are not finite numbers" in check.words
    assert "equal to the last bit" in check_export(kept, kept).words


def test_a_run_whose_answers_were_never_kept_is_compared_with_its_artifact(store, tmp_path):
    unjudged = copied(store, tmp_path)
    run = found(unjudged, "drop")
    (unjudged.folder(run.id) / PREDICTIONS).unlink()
    with pytest.raises(StoreError, match="predictions cannot be read"):
        export_run(run, unjudged, tmp_path / "out", "onnx")
    without_quality = run.model_copy(update={"measurements": ()})
    assert export_run(without_quality, unjudged, tmp_path / "out", "onnx").check.differing == 0


def test_a_failed_run_cannot_be_exported(store, tmp_path):
    failure = Failure(stage="apply", message="no luck")
    failed = found(store, "drop").model_copy(update={"failure": failure})
    with pytest.raises(UsageError, match=r"failed \(no luck\); there is nothing to export"):
        export_run(failed, store, tmp_path / "out", "hf")


FAULTS = {
    "is missing": lambda artifact: (artifact / "model.safetensors").unlink(),
    "is not what was saved": lambda artifact: (artifact / "config.json").write_text("{}"),
    "no workbench.json": lambda artifact: (artifact / "workbench.json").unlink(),
    "not an artifact": shutil.rmtree,
}


@pytest.mark.parametrize("words", FAULTS)
def test_an_artifact_that_is_incomplete_or_altered_is_told(words, store, tmp_path):
    damaged = copied(store, tmp_path)
    run = found(damaged, "drop")
    FAULTS[words](damaged.folder(run.id) / ARTIFACT)
    with pytest.raises(ArtifactError, match=words):
        export_run(run, damaged, tmp_path / "out", "hf")
    assert {path.name for path in tmp_path.iterdir()} == {"copy"}


def test_an_artifact_that_is_another_runs_is_told(store, tmp_path):
    swapped = copied(store, tmp_path)
    ours, other = (swapped.folder(found(swapped, recipe).id) / ARTIFACT for recipe in ("drop", "baseline"))
    shutil.rmtree(ours)
    shutil.copytree(other, ours)
    with pytest.raises(ArtifactError, match="not what the record of run reviews-drop-s0 tells"):
        export_run(found(swapped, "drop"), swapped, tmp_path / "out", "hf")


def test_a_folder_that_holds_anything_is_left_alone(store, tmp_path):
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="already there and would be overwritten"):
        export_run(found(store, "drop"), store, target, "hf")
    assert [path.name for path in target.iterdir()] == ["thesis.txt"]
    with pytest.raises(UsageError, match="already there"):
        export_run(found(store, "drop"), store, target / "thesis.txt", "hf")


def test_an_empty_folder_and_one_that_is_not_there_yet_are_taken(store, tmp_path):
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "empty", tmp_path / "some" / "where" / "deep"):
        export_run(found(store, "drop"), store, target, "hf")
        assert (target / "README.md").is_file()
        assert [path.name for path in target.parent.iterdir() if path.name.startswith(".")] == []


def test_a_place_that_cannot_be_written_is_told(store, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot be written \(Not a directory\); name another folder"):
        export_run(found(store, "drop"), store, tmp_path / "file" / "out", "hf")


def test_nothing_is_exported_into_the_store_or_over_the_current_folder(store, tmp_path, monkeypatch):
    before = store.ids()
    with pytest.raises(UsageError, match="lies inside the store"):
        export_run(found(store, "drop"), store, store.root / "runs" / "out", "hf")
    assert store.ids() == before
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="is the folder this command runs in"):
        export_run(found(store, "drop"), store, Path(), "hf")


@pytest.mark.parametrize("to", ["hf", "onnx", "openvino"])
def test_a_full_disk_is_told_and_nothing_half_written_stays(to, store, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        with pytest.raises(StoreError, match=r"no space left while writing .*; make room and export again"):
            export_run(found(store, "baseline"), store, tmp_path / "out", to)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_comes_into_being_meanwhile_is_left_alone(store, tmp_path):
    target = tmp_path / "out"
    with pytest.raises(UsageError, match="came into being meanwhile and was left alone"):  # noqa: SIM117
        with handed_over(target, found(store, "drop"), "hf") as partial:
            (partial / "ours").write_text("")
            target.mkdir()
            (target / "theirs").write_text("")
    assert [path.name for path in target.iterdir()] == ["theirs"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_strangers_exporter_raises_is_told_in_a_sentence(store, tmp_path):
    with (
        pytest.raises(ArtifactError, match=r"reviews-drop-s0 cannot be written as onnx \(KeyError: 'deep inside'\)"),
        handed_over(tmp_path / "out", found(store, "drop"), "onnx"),
    ):
        raise KeyError("deep inside")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_export_left_is_cleared_away_by_the_next(store, tmp_path):
    left = tmp_path / ".out.partial" / "out.1.abcd"
    left.mkdir(parents=True)
    (left / "half").write_text("")
    export_run(found(store, "drop"), store, tmp_path / "out", "hf")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_onnx_graph_that_openvino_does_not_know_is_told(store, tmp_path):
    import onnx

    strange = copied(store, tmp_path)
    run = found(strange, "onnx")
    artifact = strange.folder(run.id) / ARTIFACT
    model = onnx.load(artifact / "model.onnx")
    model.graph.node[0].op_type, model.graph.node[0].domain = "Unheard", "of.nobody"
    onnx.save(model, artifact / "model.onnx")
    lineage = Manifest.model_validate_json((artifact / "workbench.json").read_text()).lineage
    (artifact / "workbench.json").unlink()
    manifest = Manifest.describe(artifact, lineage, "onnxruntime")
    manifest.write(artifact)
    changed = run.model_copy(update={"artifact": run.artifact.model_copy(update={"files": manifest.files})})
    with pytest.raises(ArtifactError, match="OpenVINO does not understand this ONNX graph"):
        export_run(changed, strange, tmp_path / "out", "openvino")
    assert {path.name for path in tmp_path.iterdir()} == {"copy"}
