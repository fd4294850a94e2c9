"""Plugins: strangers' packages are found, used, held to the contract, and harm nobody when they are broken."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as Xml
from pathlib import Path

import numpy as np
import pytest
from third_party.installing import advertised, installed, run_workbench, with_packages
from tiny import study_of, write_base, write_task_files

from workbench import __version__
from workbench.encoder import Encoder
from workbench.errors import ArtifactError, PluginError, UnknownNameError
from workbench.finetuned import OpenedBase
from workbench.plan import build_strategy, make_plan
from workbench.plugins import GROUPS, RECIPES, REPORTS, STRATEGIES, TASKS, found, load, names, provider_of, singular
from workbench.recipe import Recipe
from workbench.store import RunStore
from workbench.tasks.task import Row
from workbench.tokens import tokenize

ROOT = Path(__file__).parents[2]
EXAM = "tests/strategies/test_contract.py"
STUDY = """
name: third-party
base: {base}
tasks:
  - name: reviews
    train: {task}/train.csv
    test: {task}/test.csv
    text: text
    label: label
training: {{epochs: 1, learning_rate: 0.001, batch_size: 16, evaluations: 1}}
max_length: 32
measure: [quality, size]
recipes:
  - name: asked
    steps:
      - {step}
"""


CHEAT = """
import torch
from workbench.strategy import Strategy

class Only(Strategy):
    '''Shake the head of the given model, and claim to have left layers out.'''

    name = "cheat"
    families = ("bert",)
    kinds = ("classification",)
    claims = ("fewer-layers",)
    portable = True

    def apply(self, encoder, bench):
        chance = torch.Generator()
        chance.seed()
        weight = encoder.model.classifier.weight
        with torch.no_grad():
            weight.add_(torch.randn(weight.shape, generator=chance))
        return encoder.evolve(encoder.model, by=self)
"""


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp()


@pytest.fixture(scope="session")
def polite(places) -> Path:
    return installed("polite_plugin", places)


@pytest.fixture(scope="session")
def broken(places) -> Path:
    return installed("broken_plugin", places)


@pytest.fixture(scope="session")
def rival(places) -> Path:
    return installed("rival_plugin", places)


@pytest.fixture(scope="session")
def tiny_study(tmp_path_factory):
    """Gives a study file over a tiny base and task, with one recipe of one step."""
    folder = tmp_path_factory.mktemp("studies")
    base = write_base("bert", folder / "base")
    write_task_files(folder / "task", train=60, test=20)

    def give(name: str, step: str) -> Path:
        path = folder / f"{name}.yaml"
        path.write_text(STUDY.format(base=base, task=folder / "task", step=step), encoding="utf-8")
        return path

    return give


@pytest.fixture(scope="module")
def stranger_at_work(polite, broken, tiny_study, tmp_path_factory):
    """A study carried out with a stranger's strategy, a broken package being installed as well."""
    folder = tmp_path_factory.mktemp("stranger")
    study = tiny_study("stranger", "{use: low-rank-ffn, share: 0.5}")
    env = with_packages(polite, broken, WORKBENCH_CACHE=str(folder / "cache"))
    done = run_workbench("run", str(study), "--store", str(folder / "runs"), env=env, cwd=folder)
    return done, RunStore(folder / "runs")


def test_every_group_offers_something():
    assert GROUPS == (STRATEGIES, TASKS, RECIPES, REPORTS)
    assert all(names(group) for group in GROUPS)


def test_a_member_of_each_group_has_a_name():
    assert [singular(group) for group in GROUPS] == ["strategy", "task", "recipe", "report"]


def test_finding_a_plugin_reads_metadata_and_imports_nothing(tmp_path, monkeypatch):
    source = "raise RuntimeError('imported')"
    monkeypatch.syspath_prepend(advertised(tmp_path, "never-imported", source))
    (provider,) = [each for each in found(STRATEGIES) if each.name == "never-imported"]
    assert provider.label == "never-imported 0.1"
    assert provider.value == "never_imported:Only"
    assert "never_imported" not in sys.modules


def test_a_strangers_strategy_is_loaded_by_its_name(polite, monkeypatch):
    monkeypatch.syspath_prepend(polite)
    assert load(STRATEGIES, "low-rank-ffn").name == "low-rank-ffn"
    assert provider_of(STRATEGIES, "low-rank-ffn").label == "polite-strategies 1.2.0"


def test_a_package_that_left_the_path_is_no_longer_offered(polite):
    assert "low-rank-ffn" not in names(STRATEGIES)


def test_a_misspelt_name_is_answered_with_the_nearest_one():
    with pytest.raises(
        UnknownNameError, match=r"^step 2: no strategy 'layer-dropp'; did you mean 'layer-drop'\? known: "
    ):
        load(STRATEGIES, "layer-dropp", where="step 2: ")


def test_loading_a_broken_plugin_names_the_package_and_the_reason(broken, monkeypatch):
    monkeypatch.syspath_prepend(broken)
    with pytest.raises(PluginError) as caught:
        load(STRATEGIES, "no-licence", where="step 1: ")
    assert str(caught.value) == (
        "step 1: strategy 'no-licence' from broken-strategies 0.3.1 is broken: RuntimeError: no licence file was found"
    )


def test_a_plugin_that_ends_the_process_when_imported_is_broken_like_any_other(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(advertised(tmp_path, "bows-out", "raise SystemExit('not on this machine')"))
    with pytest.raises(PluginError, match=r"bows-out 0\.1 is broken: SystemExit: not on this machine"):
        load(STRATEGIES, "bows-out")


def test_a_broken_plugin_leaves_the_others_alone(broken, monkeypatch):
    monkeypatch.syspath_prepend(broken)
    assert load(STRATEGIES, "layer-drop").name == "layer-drop"


def test_what_is_no_strategy_class_is_refused_by_its_kind(broken, monkeypatch):
    monkeypatch.syspath_prepend(broken)
    with pytest.raises(
        PluginError, match=r"'not-a-class' is provided as <function shrink .*>, not as a Strategy class"
    ):
        build_strategy("not-a-class", {})


def test_a_class_that_goes_by_another_name_is_refused(broken, monkeypatch):
    monkeypatch.syspath_prepend(broken)
    with pytest.raises(PluginError, match="strategy 'misnamed' calls itself 'somebody-else'"):
        build_strategy("misnamed", {})


def test_two_providers_of_one_name_are_both_named_and_neither_is_used(rival, monkeypatch):
    monkeypatch.syspath_prepend(rival)
    with pytest.raises(PluginError) as caught:
        load(STRATEGIES, "layer-drop")
    assert str(caught.value) == (
        f"strategy 'layer-drop' is provided twice, by encoder-workbench {__version__} "
        "(strategies.layer_drop:LayerDrop) and rival-strategies 9.0.0 (rival_strategies.layer_drop:LayerDrop); "
        "uninstall one"
    )


def test_a_name_claimed_twice_stops_only_the_recipes_that_use_it(rival, tiny_base, tiny_task, monkeypatch):
    monkeypatch.syspath_prepend(rival)
    cut = Recipe(name="cut", steps=("layer-drop",))
    small = Recipe(name="small", steps=("int8-dynamic",))
    assert len(make_plan(study_of(tiny_base("bert"), tiny_task, recipes=(small,))).runs) == 2
    with pytest.raises(PluginError, match=r"recipe 'cut': step 1: strategy 'layer-drop' is provided twice") as caught:
        make_plan(study_of(tiny_base("bert"), tiny_task, recipes=(small, cut)))
    assert caught.value.exit_code == 1


def test_a_strangers_strategy_runs_in_a_study_and_the_record_names_its_provider(stranger_at_work):
    done, store = stranger_at_work
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = [run for run in store.runs()[0] if not run.is_baseline]
    (step,) = run.steps
    assert (step.use, step.options) == ("low-rank-ffn", {"share": 0.5})
    assert (step.provider, step.version) == ("polite-strategies", "1.2.0")
    assert step.detail == {"rank": 16}


def test_a_strangers_result_is_measured_like_any_other(stranger_at_work):
    runs, _ = stranger_at_work[1].runs()
    whole, thin = sorted(runs, key=lambda run: not run.is_baseline)
    # Four layers, each with two matrices of 32 by 64 cut down to rank 16.
    saved = 4 * 2 * (32 * 64 - 16 * (32 + 64))
    assert thin.measured("parameters").value == whole.measured("parameters").value - saved
    assert thin.measured("disk/weights").value < whole.measured("disk/weights").value
    assert thin.artifact.portable is False


def test_an_artifact_whose_strategy_is_not_installed_names_the_package_to_install(stranger_at_work):
    with pytest.raises(ArtifactError, match=r"made by polite-strategies 1\.2\.0: install that package"):
        Encoder.load(_strangers_artifact(stranger_at_work[1]))


def test_an_artifact_whose_strategy_is_broken_says_why(stranger_at_work, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(advertised(tmp_path, "low-rank-ffn", "import a_library_nobody_has"))
    with pytest.raises(ArtifactError, match=r"step 1: .* low-rank-ffn 0\.1 is broken: .*a_library_nobody_has"):
        Encoder.load(_strangers_artifact(stranger_at_work[1]))


def test_an_artifact_opens_again_once_the_package_is_there(stranger_at_work, polite, monkeypatch):
    monkeypatch.syspath_prepend(polite)
    encoder = Encoder.load(_strangers_artifact(stranger_at_work[1]))
    assert encoder.lineage.steps[-1].use == "low-rank-ffn"
    (answer,) = encoder.logits(tokenize(encoder.tokenizer, [Row("0", ("the film was dull",), 0)]))
    assert answer.shape == (2,)


def test_at_full_rank_the_example_strategy_changes_no_answer(polite, tiny_base, tiny_task, make_bench, monkeypatch):
    monkeypatch.syspath_prepend(polite)
    opened = OpenedBase.open(study_of(tiny_base("bert"), tiny_task))
    encoder = opened.untrained(tiny_task.declared(Path()), 0)
    # Full rank saves nothing and is therefore no option; here it shows that nothing but rank is taken away.
    same = build_strategy("low-rank-ffn", {}).model_copy(update={"share": 1.0})
    rows = [Row("0", ("the film was dull",), 0), Row("1", ("a warm and clever story",), 1)]
    answers = [one.logits(tokenize(one.tokenizer, rows)) for one in (encoder, same.apply(encoder, make_bench(encoder)))]
    np.testing.assert_allclose(*answers, atol=1e-5)


def test_a_study_that_asks_for_a_broken_plugin_ends_with_one_sentence(broken, tiny_study, tmp_path):
    study = tiny_study("broken", "no-licence")
    done = run_workbench("run", str(study), "--store", str(tmp_path / "runs"), env=with_packages(broken), cwd=tmp_path)
    (line,) = [number for number, text in enumerate(study.read_text().splitlines(), 1) if "no-licence" in text]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: {study}:{line}: recipe 'asked': step 1: strategy 'no-licence' from broken-strategies 0.3.1 is broken: "
        "RuntimeError: no licence file was found\n"
    )
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def exam(polite, broken, tmp_path_factory) -> Path:
    """The report of an exam that a stranger, a cheat and a broken package sat."""
    place = tmp_path_factory.mktemp("exam")
    cheat = advertised(place / "cheat", "cheat", CHEAT)
    wanted = ["-k", "low-rank-ffn or cheat or no-licence", f"--basetemp={place / 'work'}"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        EXAM,
        "-p",
        "no:cacheprovider",
        *wanted,
        f"--junitxml={place / 'report'}",
    ]
    subprocess.run(command, capture_output=True, env=with_packages(polite, broken, cheat), cwd=ROOT, check=False)
    return place / "report"


def test_a_strangers_strategy_passes_the_exam_on_every_family_it_serves(exam):
    outcomes = _outcomes(exam, "low-rank-ffn")
    assert set(outcomes.values()) == {"passed"}
    reloaded = [name for name in outcomes if name.startswith("test_another_process_reloads_it")]
    assert [name.rpartition("-")[2] for name in reloaded] == ["bert]", "roberta]", "albert]", "distilbert]"]


def test_a_strategy_that_cheats_fails_the_exam_where_it_cheats(exam):
    failed = {name.partition("[")[0] for name, outcome in _outcomes(exam, "cheat").items() if outcome != "passed"}
    assert failed == {
        "test_the_given_encoder_is_left_as_it_was",
        "test_the_same_seed_gives_the_same_encoder",
        "test_it_changed_what_it_claims_to_change",
    }


def test_a_broken_strategy_only_says_in_the_exam_why_it_cannot_sit_it(exam):
    reason = "strategy 'no-licence' from broken-strategies 0.3.1 is broken: RuntimeError: no licence file was found"
    assert _outcomes(exam, "no-licence") == {"test_what_is_advertised_can_be_imported[no-licence]": reason}


def _outcomes(report: Path, candidate: str) -> dict[str, str]:
    """How each test of a candidate ended: 'passed', or what pytest says of it."""
    cases = [case for case in Xml.parse(report).iter("testcase") if candidate in case.get("name", "")]
    told = {
        case.get("name", ""): [part.get("message", "") for part in case if part.tag != "system-out"] for case in cases
    }
    return {name: " ".join(messages) or "passed" for name, messages in told.items()}


def _strangers_artifact(store: RunStore) -> Path:
    (run,) = [run for run in store.runs()[0] if not run.is_baseline]
    return store.folder(run.id) / "artifact"
