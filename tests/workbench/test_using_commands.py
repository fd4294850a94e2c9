"""`workbench export` and `workbench predict` do what they say, and tell in a sentence what they cannot do."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from kept_runs import make_store
from said import Said, speaker

from workbench.errors import UsageError
from workbench.given_texts import divided
from workbench.run import Failure
from workbench.store import ARTIFACT, RunStore


@pytest.fixture
def say(monkeypatch, capsys) -> Callable[..., Said]:
    return speaker(monkeypatch, capsys)


def complaint(said: Said, code: int) -> str:
    assert said.code == code, said
    assert "Traceback" not in said.out + said.err
    assert said.out == ""
    assert said.err.startswith("error: ")
    return said.err.removeprefix("error: ").strip()


@pytest.fixture(scope="module")
def store(tmp_path_factory, tiny_task) -> RunStore:
    kept = make_store(tmp_path_factory.mktemp("kept"), tiny_task, ("factorized", "int8"))
    run = kept.read("reviews-int8-s0")
    failed = {"id": "reviews-lost-s0", "failure": Failure(stage="apply", message="no luck")}
    with kept.writing("reviews-lost-s0") as folder:
        kept.keep(run.model_copy(update=failed), folder)
    return kept


@pytest.fixture(scope="module")
def pairs(tmp_path_factory, tiny_regression) -> RunStore:
    return make_store(tmp_path_factory.mktemp("pairs"), tiny_regression, ())


def test_a_run_is_exported_and_what_was_tried_is_told(store, say, tmp_path):
    said = say("export", "reviews-int8", tmp_path / "out", "--to", "onnx", "--store", store.root)
    assert (said.code, said.err) == (0, ""), said
    assert f"exported reviews-int8-s0 as onnx to {tmp_path / 'out'}" in said.out
    assert "opened afresh, it answered" in said.out
    assert f"python {tmp_path / 'out' / 'example.py'}" in said.out
    assert (tmp_path / "out" / "model.onnx").is_file()


def test_an_export_that_takes_the_workbench_is_told_to(store, say, tmp_path):
    said = say("export", "reviews-factorized", tmp_path / "out", "--to", "hf", "--store", store.root)
    assert said.code == 0, said
    assert "no stock transformers class has its shape, so it opens with the workbench" in said.out
    plain = say("export", "reviews-baseline", tmp_path / "plain", "--to", "hf", "--store", store.root)
    assert "no stock" not in plain.out


@pytest.mark.parametrize(
    ("run", "to", "code", "words"),
    [
        ("reviews-int8", "hf", 2, "from which a transformers model cannot be made; export it with --to onnx"),
        ("reviews-lost", "onnx", 2, "run reviews-lost-s0 failed (no luck); there is nothing to export"),
        ("nothing", "onnx", 2, "'nothing'"),
        ("reviews", "onnx", 2, "no single run"),
    ],
)
def test_an_export_that_cannot_be_is_refused_in_a_sentence(run, to, code, words, store, say, tmp_path):
    assert words in complaint(say("export", run, tmp_path / "out", "--to", to, "--store", store.root), code)
    assert not (tmp_path / "out").exists()


def test_a_full_folder_is_not_exported_into(store, say, tmp_path):
    (tmp_path / "mine").write_text("")
    said = say("export", "reviews-int8", tmp_path, "--to", "onnx", "--store", store.root)
    assert complaint(said, 2).endswith("is already there and would be overwritten; name a new or an empty folder")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_unknown_format_lists_those_there_are(store, say, tmp_path):
    said = say("export", "reviews-int8", tmp_path / "out", "--to", "pickle", "--store", store.root)
    assert said.code == 2
    assert all(name in said.err for name in ("hf", "onnx", "openvino"))


def test_texts_are_answered_as_a_table(store, say):
    said = say("predict", "reviews-int8", "the film is lovely", "a [red]dull[/] story", "--store", store.root)
    assert (said.code, said.err) == (0, ""), said
    for word in ("text", "answer", "probability", "ms", "the film is lovely", "a [red]dull[/] story"):
        assert word in said.out
    assert "run" not in said.out.splitlines()[1]
    assert any(label in said.out for label in ("good", "bad"))


def test_runs_stand_beside_each_other(store, say):
    said = say(
        *("predict", "reviews-int8", "the film is lovely", "--store", store.root),
        *("--beside", "reviews-baseline", "--beside", "reviews-factorized", "--beside", "reviews-int8"),
    )
    assert said.code == 0, said
    for run in ("reviews-int8-s0", "reviews-baseline-s0", "reviews-factorized-s0"):
        assert said.out.count(run) == 1
    assert said.out.count("the film is lovely") == 1


def test_json_holds_everything(store, say, tmp_path):
    (tmp_path / "texts").write_text("one\r\n\n  \ntwo\tand more\n", encoding="utf-8")
    said = say(
        *("predict", "reviews-int8", "zero", "--file", tmp_path / "texts", "--beside", "reviews-baseline", "--json"),
        *("--store", store.root),
    )
    assert said.code == 0, said
    told = json.loads(said.out)
    assert [one["texts"] for one in told] == [["zero"], ["one"], ["two\tand more"]]
    for one in told:
        assert set(one["answers"]) == {"reviews-int8-s0", "reviews-baseline-s0"}
        for answer in one["answers"].values():
            assert set(answer) == {"label", "probabilities", "milliseconds"}
            assert sum(answer["probabilities"].values()) == pytest.approx(1)


def test_a_long_text_is_cut_in_the_table_only(store, say):
    text = "lovely " * 40
    assert "…" in say("predict", "reviews-int8", text, "--store", store.root).out
    told = json.loads(say("predict", "reviews-int8", text, "--store", store.root, "--json").out)
    assert told[0]["texts"] == [text]


def test_standard_input_is_read_line_by_line(store, say):
    given = "\ufeffgrüße\n\nlovely film\n".encode()
    said = say("predict", "reviews-int8", "--file", "-", "--json", "--store", store.root, given=given)
    assert [one["texts"] for one in json.loads(said.out)] == [["grüße"], ["lovely film"]]


def test_pairs_are_divided_by_a_tab_or_by_bars_and_scored(pairs, say, tmp_path):
    (tmp_path / "pairs.tsv").write_text("the film\tthe story\n", encoding="utf-8")
    call = ("predict", "overlap", "the film ||| the story", "--file", tmp_path / "pairs.tsv", "--store", pairs.root)
    told = json.loads(say(*call, "--json").out)
    assert [one["texts"] for one in told] == [["the film", "the story"]] * 2
    first, second = (one["answers"]["overlap-baseline-s0"] for one in told)
    assert set(first) == {"score", "milliseconds"}
    assert first["score"] == second["score"]
    assert f"{first['score']:.4f}" in say(*call).out


@pytest.mark.parametrize(
    ("text", "seen"), [("only one", 1), ("a\tb\tc", 3), ("a ||| b ||| c", 3), ("a\t", 1), ("\t", 0), ("a|||b", 1)]
)
def test_a_wrong_number_of_parts_is_refused(text, seen):
    with pytest.raises(UsageError, match=rf"^here: 2 texts are needed, .* and this has {seen}$"):
        divided("here", text, 2)


def test_a_text_alone_is_never_divided():
    assert divided("here", " a\tb ||| c ", 1) == (" a\tb ||| c ",)


def test_a_wrong_pair_is_told_with_its_line(pairs, say, tmp_path):
    (tmp_path / "pairs").write_text("a\tb\n\nalone\n", encoding="utf-8")
    said = say("predict", "overlap", "--file", tmp_path / "pairs", "--store", pairs.root)
    assert complaint(said, 2).startswith(f"{tmp_path / 'pairs'}:3: 2 texts are needed")
    piped = say("predict", "overlap", "--file", "-", "--store", pairs.root, given=b"a\tb\n\nalone\n")
    assert complaint(piped, 2).startswith("standard input:3: 2 texts are needed")
    assert complaint(say("predict", "overlap", "a\tb", "alone", "--store", pairs.root), 2).startswith("text 2: ")


def write_latin(folder: Path) -> Path:
    (folder / "latin").write_bytes("fein\ngrüße".encode("latin-1"))
    return folder / "latin"


def write_nothing(folder: Path) -> Path:
    (folder / "empty").write_text("\n  \n")
    return folder / "empty"


FILES = {
    "holds no text": (write_nothing, 2),
    "cannot be read (No such file or directory)": (lambda folder: folder / "missing", 1),
    "cannot be read (Is a directory)": (lambda folder: folder, 1),
    "not UTF-8 text (invalid start byte at byte 7); convert it first": (write_latin, 1),
}


@pytest.mark.parametrize("words", FILES)
def test_a_file_that_cannot_be_used_is_told(words, store, say, tmp_path):
    write, code = FILES[words]
    path = write(tmp_path)
    told = complaint(say("predict", "reviews-int8", "--file", path, "--store", store.root), code)
    assert told.startswith(str(path))
    assert told.endswith(words)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["reviews-int8"], 2, "no text was given; write one after the run, or use --file"),
        (["reviews-int8", "fine", " "], 2, "text 2 is empty"),
        (["reviews-int8", "half \udce9"], 2, "text 1 is not UTF-8 text"),
        (["nothing", "fine"], 2, "no run in"),
        (["reviews-int8", "fine", "--beside", "nothing"], 2, "no run in"),
        (["reviews-lost", "fine"], 2, "run reviews-lost-s0 failed (no luck); there is nothing to ask"),
        (["reviews-int8", "fine", "--beside", "reviews-lost"], 2, "failed (no luck)"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_sentence(arguments, code, words, store, say):
    assert words in complaint(say("predict", *arguments, "--store", store.root), code)


def test_standard_input_that_is_empty_or_no_text_is_told(store, say):
    call = ("predict", "reviews-int8", "--file", "-", "--store", store.root)
    assert complaint(say(*call), 2) == "standard input holds no text"
    assert complaint(say(*call, given=b"ok\n\xff"), 1).startswith("standard input: not UTF-8 text")


def test_runs_that_take_other_numbers_of_texts_are_not_asked_the_same(store, pairs, say, tmp_path):
    import shutil

    both = RunStore(shutil.copytree(store.root, tmp_path / "both"))
    shutil.copytree(pairs.folder("overlap-baseline-s0"), both.folder("overlap-baseline-s0"))
    said = say("predict", "reviews-int8", "fine", "--beside", "overlap", "--store", both.root)
    assert "takes 1 text(s) at a time and overlap-baseline-s0 2; ask each alone" in complaint(said, 2)


def test_an_artifact_that_was_altered_is_told(store, say, tmp_path):
    import shutil

    damaged = RunStore(shutil.copytree(store.root, tmp_path / "copy"))
    (damaged.folder("reviews-int8-s0") / ARTIFACT / "config.json").write_text("{}")
    said = say("predict", "reviews-int8", "fine", "--store", damaged.root)
    assert complaint(said, 1).endswith("config.json is not what was saved; make the run again")
