"""The exam: whatever is advertised as a strategy, strangers' work included, keeps the contract of workbench.strategy.

Candidates are found by their entry points. With a package installed, its strategies alone sit the exam by
``pytest tests/strategies/test_contract.py -k NAME``. Bases are tiny but a little wider than in other tests, so that a
graph's own words do not outweigh its numbers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from tiny import RARE, sentences, study_of, write_base, write_csv, write_pair_regression_files
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from workbench.bench import Bench
from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.errors import PlanError, PluginError
from workbench.families import FAMILIES, check_family, quantity
from workbench.finetuned import OpenedBase
from workbench.lineage import Manifest
from workbench.onnx_export import export_onnx
from workbench.plan import sketch_of
from workbench.plugins import STRATEGIES, found, load, names
from workbench.progress import Quiet
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.sketch import GRAPH, UNEVEN_HEADS, UNEVEN_NEURONS, Sketch
from workbench.strategy import Claim, Strategy, check_fit
from workbench.tasks.data import TaskData, read_task
from workbench.tasks.kinds import KINDS
from workbench.tasks.own_files import OwnTask
from workbench.tasks.task import Row
from workbench.tokens import tokenize

# Trainers and exporters warn of what tiny models on a processor must do without.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

OURS = "encoder-workbench"
SEED = 3
WIDTHS = {"hidden_size": 128, "intermediate_size": 256}
ROWS = 100
MANY = 9
NO_WEIGHTS = {".json", ".txt", ".model"}


def _candidates() -> tuple[dict[str, type[Strategy]], dict[str, str]]:
    """Import everything that is advertised: what can sit the exam, and why the others cannot."""
    sound, broken = {}, {}
    for name in names(STRATEGIES):
        try:
            strategy = load(STRATEGIES, name)
        except PluginError as error:
            broken[name] = str(error)
            continue
        if isinstance(strategy, type) and issubclass(strategy, Strategy):
            sound[name] = strategy
        else:
            broken[name] = f"{strategy!r} is not a Strategy class"
    return sound, broken


SOUND, BROKEN = _candidates()


def _each() -> Any:
    return pytest.mark.parametrize("name", SOUND)


def _each_on_its_families(
    *,
    of: Callable[[type[Strategy]], bool] = lambda strategy: True,
    among: Callable[[tuple[str, ...]], set[str]] = set,
) -> Any:
    pairs = [
        (name, family)
        for name, strategy in SOUND.items()
        if of(strategy)
        for family in strategy.families
        if family in among(strategy.families)
    ]
    return pytest.mark.parametrize(("name", "family"), pairs, ids=["-".join(pair) for pair in pairs])


def _first_and_last(families: tuple[str, ...]) -> set[str]:
    return {families[0], families[-1]}


def _stays_torch(strategy: type[Strategy]) -> bool:
    return GRAPH not in strategy.gives


@dataclass(frozen=True)
class Snapshot:
    """Everything of a torch encoder that a strategy must leave alone."""

    weights: dict[str, torch.Tensor]
    rest: dict[str, Any]

    @classmethod
    def of(cls, encoder: Encoder, rows: list[Row]) -> Snapshot:
        model, tokenizer = encoder.model, encoder.tokenizer
        rest = {
            "configuration": model.config.to_dict(),
            "training mode": model.training,
            "trainable": {name: parameter.requires_grad for name, parameter in model.named_parameters()},
            "gradients": [name for name, parameter in model.named_parameters() if parameter.grad is not None],
            "vocabulary": tokenizer.get_vocab(),
            "longest": tokenizer.model_max_length,
            "spelling": tokenize(tokenizer, rows).ids.tolist(),
            "lineage": encoder.lineage,
        }
        return cls({name: tensor.clone() for name, tensor in model.state_dict().items()}, rest)


@dataclass(frozen=True)
class Sitting:
    """One strategy at work on one encoder: what it was given, what it foretold, what it gave, what was saved."""

    strategy: Strategy
    given: Encoder
    before: Snapshot
    foretold: Sketch
    result: Encoder
    rows: list[Row]
    folder: Path

    @property
    def artifact(self) -> Path:
        return self.folder / "artifact"

    @property
    def outputs(self) -> int:
        """How many numbers an answer has: one for each label, or a score."""
        return len(self.given.lineage.labels) or 1

    def answers(self, encoder: Encoder | None = None, count: int | None = None) -> np.ndarray:
        chosen = encoder or self.result
        return np.stack(chosen.logits(tokenize(chosen.tokenizer, self.rows[:count])))


class Hall:
    """Where the exam is held: makes bases and data when first asked for, and lets each candidate sit once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.sat = cache(self.sit)
        self.opened = cache(self._open)
        self.data = cache(self._read)

    def sketch(self, family: str, kind: str) -> Sketch:
        opened = self.opened(family, kind)
        return sketch_of(opened.config, self.data(kind).task, opened.tokenizer_fingerprint)

    def sit(self, name: str, family: str, kind: str = "") -> Sitting:
        """Let a candidate work on a task of a kind, by default the first that it serves; ``sat`` does so once."""
        strategy = SOUND[name]()
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-{family}-", dir=self._folder))
        data = self.data(kind or strategy.kinds[0])
        given = self.opened(family, data.task.kind).untrained(data.task, SEED)
        rows = list(data.tests["test"][:MANY])
        before = Snapshot.of(given, rows)
        foretold = check_fit(strategy, self.sketch(family, data.task.kind))
        result = strategy.apply(given, _bench(data, given, folder))
        sitting = Sitting(strategy, given, before, foretold, result, rows, folder)
        sitting.artifact.mkdir()
        result.save(sitting.artifact)
        return sitting

    def _open(self, family: str, kind: str) -> OpenedBase:
        base = self._folder / f"base-{family}"
        if not base.exists():
            sizes = {check_family(family).key(word): size for word, size in WIDTHS.items()}
            # A vocabulary is seldom made for the task.
            write_base(family, base, words=RARE, **sizes)
        return OpenedBase.open(study_of(base, TASKS[kind](self._folder / kind)))

    def _read(self, kind: str) -> TaskData:
        return read_task(TASKS[kind](self._folder / kind).declared(Path()), limit=ROWS)


def _bench(data: TaskData, teacher: Encoder, folder: Path) -> Bench:
    """A bench with nothing on it yet: what is cached for one sitting cannot help another."""
    scratch, workplace = folder / "scratch", folder / "workplace"
    scratch.mkdir()
    workplace.mkdir()
    return Bench(
        data=data,
        teacher=teacher,
        seed=SEED,
        scratch=scratch,
        workplace=workplace,
        progress=Quiet(),
        cache=Cache(folder / "cache"),
    )


@pytest.fixture(scope="session")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Hall:
    return Hall(tmp_path_factory.mktemp("exam"))


OTHER_PROCESS = """
import json, sys
from pathlib import Path
import numpy as np
from workbench.encoder import Encoder
from workbench.tasks.task import Row
from workbench.tokens import tokenize

for line in sys.stdin:
    artifact, target, rows = json.loads(line)
    said = "fine"
    try:
        encoder = Encoder.load(Path(artifact))
        tokens = tokenize(encoder.tokenizer, [Row(name, tuple(texts), label) for name, texts, label in rows])
        np.save(target, np.stack(encoder.logits(tokens)))
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    print("reloaded:", " ".join(said.split()), flush=True)
"""


@pytest.fixture(scope="session")
def reloaded() -> Iterator[Callable[[Sitting], np.ndarray]]:
    """Gives the answers of a saved artifact as another process sees them; one such process serves all."""
    command = [sys.executable, "-c", OTHER_PROCESS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask(sitting: Sitting) -> np.ndarray:
            target = sitting.folder / "reloaded.npy"
            process.stdin.write(json.dumps([str(sitting.artifact), str(target), sitting.rows]) + "\n")
            process.stdin.flush()
            heard = next((line for line in process.stdout if line.startswith("reloaded: ")), "reloaded: it died")
            assert heard.strip() == "reloaded: fine"
            return np.load(target)

        yield ask
        process.stdin.close()


@pytest.mark.parametrize("name", names(STRATEGIES))
def test_what_is_advertised_can_be_imported(name):
    reason = BROKEN.get(name)
    providers = {provider.distribution for provider in found(STRATEGIES) if provider.name == name}
    if reason and providers != {OURS}:
        pytest.xfail(reason)
    assert reason is None


@_each()
def test_the_class_has_the_name_it_is_advertised_by(name):
    assert SOUND[name].name == name


@_each()
def test_defaults_build(name):
    assert SOUND[name]() == SOUND[name]()


@_each()
def test_an_unknown_option_is_refused(name):
    with pytest.raises(ValidationError, match="no_such_option"):
        SOUND[name](no_such_option=1)


@_each()
def test_every_option_and_the_strategy_itself_are_described(name):
    assert (SOUND[name].__doc__ or "").strip() != (Strategy.__doc__ or "").strip()
    assert [option for option, field in SOUND[name].model_fields.items() if not field.description] == []


@_each()
def test_it_declares_what_the_workbench_knows(name):
    assert set(SOUND[name].families) <= set(FAMILIES)
    assert set(SOUND[name].kinds) <= set(KINDS)
    assert SOUND[name].families
    assert SOUND[name].kinds
    assert SOUND[name].claims
    assert set(SOUND[name].claims) <= set(EXAMINED)


@_each()
def test_there_is_a_control_of_the_same_class_just_where_a_teacher_is_needed(name):
    control = SOUND[name]().control()
    assert type(control) is (SOUND[name] if "teacher" in SOUND[name].needs else type(None))


@_each()
def test_it_accepts_an_ordinary_encoder_of_every_family_and_kind_it_declares(name, hall):
    for family in SOUND[name].families:
        for kind in SOUND[name].kinds:
            assert check_fit(SOUND[name](), hall.sketch(family, kind)).kind == kind


@_each()
def test_a_family_it_does_not_serve_is_refused_before_work(name, hall):
    sketch = hall.sketch(SOUND[name].families[0], SOUND[name].kinds[0])
    for family in {*FAMILIES, "gpt2"} - set(SOUND[name].families):
        with pytest.raises(PlanError, match=family):
            check_fit(SOUND[name](), replace(sketch, family=family))


@_each()
def test_a_kind_of_task_it_does_not_serve_is_refused_before_work(name, hall):
    sketch = hall.sketch(SOUND[name].families[0], SOUND[name].kinds[0])
    for kind in {*KINDS, "translation"} - set(SOUND[name].kinds):
        with pytest.raises(PlanError, match=kind):
            check_fit(SOUND[name](), replace(sketch, kind=kind))


@_each()
def test_an_encoder_with_a_trait_it_refuses_is_refused_before_work(name, hall):
    sketch = hall.sketch(SOUND[name].families[0], SOUND[name].kinds[0])
    assert GRAPH in SOUND[name].refuses, "there is no torch model in a graph to work on"
    for trait in SOUND[name].refuses:
        with pytest.raises(PlanError, match="already"):
            check_fit(SOUND[name](), sketch.with_traits(trait))


@_each_on_its_families()
def test_the_given_encoder_is_left_as_it_was(name, family, hall):
    sitting = hall.sat(name, family)
    after = Snapshot.of(sitting.given, sitting.rows)
    assert after.rest == sitting.before.rest
    assert after.weights.keys() == sitting.before.weights.keys()
    assert [key for key, tensor in after.weights.items() if not torch.equal(tensor, sitting.before.weights[key])] == []


@_each_on_its_families()
def test_the_result_is_as_foretold_at_plan_time(name, family, hall):
    sitting = hall.sat(name, family)
    there = sketch_of(AutoConfig.from_pretrained(sitting.artifact), hall.data(SOUND[name].kinds[0]).task)
    sizes = ("family", "layers", "hidden", "heads", "ffn", "vocabulary", "positions")
    foretold = {size: getattr(sitting.foretold, size) for size in sizes}
    # A size that the data decides is not foretold.
    known = {size: value for size, value in foretold.items() if value is not None}
    # Where layers come to differ, the outline has the most that one may have.
    for trait, size in ((UNEVEN_HEADS, "heads"), (UNEVEN_NEURONS, "ffn")):
        if trait in sitting.foretold.traits:
            assert getattr(there, size) <= known.pop(size)
    assert {size: getattr(there, size) for size in known} == known
    assert (GRAPH in sitting.foretold.traits) == (sitting.result.runtime.name != "torch")


@_each_on_its_families()
def test_one_step_joins_the_lineage_and_tells_how_to_do_it_again(name, family, hall):
    sitting = hall.sat(name, family)
    *earlier, step = sitting.result.lineage.steps
    assert tuple(earlier) == sitting.given.lineage.steps
    assert SOUND[step.use](**step.options) == sitting.strategy
    assert Manifest.read(sitting.artifact).lineage.steps[-1].detail == json.loads(json.dumps(step.detail))


@_each_on_its_families()
def test_the_same_seed_gives_the_same_encoder(name, family, hall):
    first, second = hall.sat(name, family), hall.sit(name, family)
    np.testing.assert_array_equal(first.answers(), second.answers())
    if _stays_torch(SOUND[name]):
        one, other = first.result.model.state_dict(), second.result.model.state_dict()
        assert one.keys() == other.keys()
        assert [key for key, tensor in one.items() if not torch.equal(tensor, other[key])] == []


@_each_on_its_families()
def test_there_is_a_finite_output_for_every_label_of_one_text_and_of_many(name, family, hall):
    sitting = hall.sat(name, family)
    assert sitting.answers().shape == (MANY, sitting.outputs)
    assert sitting.answers(count=1).shape == (1, sitting.outputs)
    assert np.isfinite(sitting.answers()).all()


# Families differ in whether types tell the two texts of a pair apart; the first and the last stand for both ways.
@_each_on_its_families(of=lambda strategy: "regression" in strategy.kinds, among=_first_and_last)
def test_there_is_one_finite_output_for_a_pair_of_texts_under_regression(name, family, hall):
    sitting = hall.sit(name, family, "regression")
    assert sitting.answers().shape == (MANY, 1)
    assert sitting.answers(count=1).shape == (1, 1)
    assert np.isfinite(sitting.answers()).all()


@_each_on_its_families()
def test_another_process_reloads_it_and_hears_the_same_answers(name, family, hall, reloaded):
    sitting = hall.sat(name, family)
    np.testing.assert_array_equal(reloaded(sitting), sitting.answers())


@_each_on_its_families()
def test_it_changed_what_it_claims_to_change(name, family, hall):
    for claim in SOUND[name].claims:
        before, after = EXAMINED[claim](hall.sat(name, family))
        assert after < before, claim


@_each_on_its_families(of=lambda strategy: strategy.portable)
def test_stock_transformers_opens_a_portable_result_and_gives_the_same_answers(name, family, hall):
    sitting = hall.sat(name, family)
    assert Manifest.read(sitting.artifact).portable
    model, loading = AutoModelForSequenceClassification.from_pretrained(sitting.artifact, output_loading_info=True)
    assert not any(loading.values()), loading
    texts = [list(column) for column in zip(*(row.texts for row in sitting.rows), strict=True)]
    batch = AutoTokenizer.from_pretrained(sitting.artifact)(*texts, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        theirs = model(**batch).logits.numpy()
    np.testing.assert_allclose(theirs, sitting.answers(), atol=1e-5)


@_each_on_its_families(of=_stays_torch)
def test_a_torch_result_exports_to_onnx_with_the_same_answers(name, family, hall):
    sitting = hall.sat(name, family)
    graph = OnnxRuntime(export_onnx(sitting.result, sitting.folder / "onnx"))
    exported = replace(sitting.result, runtime=graph)
    np.testing.assert_allclose(sitting.answers(exported), sitting.answers(), atol=1e-4)


def test_every_claim_a_strategy_can_make_is_examined():
    assert set(EXAMINED) == set(get_args(Claim))


def _three_labels(folder: Path) -> OwnTask:
    """Files of a classification with three labels: praise, blame, and both in one text."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train.csv", 280, 1), ("test.csv", 40, 2)):
        plain = sentences(count, seed)
        mixed = [(f"{a} but {b}", "mixed") for (a, x), (b, y) in pairwise(plain) if x != y]
        write_csv(folder / name, [row for pair in zip(plain, mixed, strict=False) for row in pair])
    files = {part: str(folder / f"{part}.csv") for part in ("train", "test")}
    return OwnTask(name="mixed-reviews", **files, text=("text",), label="label")


TASKS: dict[str, Callable[[Path], OwnTask]] = {
    "classification": _three_labels,
    "regression": write_pair_regression_files,
}


def _layers(sitting: Sitting) -> tuple[int, int]:
    configs = sitting.given.model.config, AutoConfig.from_pretrained(sitting.artifact)
    before, after = (quantity(config, "num_hidden_layers") for config in configs)
    return before, after


def _parameters(sitting: Sitting) -> tuple[int, int]:
    return sitting.given.runtime.parameters(), sitting.result.runtime.parameters()


def _macs(sitting: Sitting) -> tuple[int, int]:
    """What all rows in one padded batch take."""
    before, after = (
        encoder.runtime.macs(tokenize(encoder.tokenizer, sitting.rows).batch(list(range(len(sitting.rows)))))
        for encoder in (sitting.given, sitting.result)
    )
    return before, after


def _file_sizes(sitting: Sitting) -> tuple[int, int]:
    plain = sitting.folder / "given"
    plain.mkdir()
    sitting.given.save(plain)
    before, after = (
        sum(path.stat().st_size for path in folder.iterdir() if path.suffix not in NO_WEIGHTS)
        for folder in (plain, sitting.artifact)
    )
    return before, after


def _shared_runtime(sitting: Sitting) -> tuple[int, int]:
    """One runtime that both have before; none that both have after."""
    return 1, int(sitting.given.runtime.name == sitting.result.runtime.name)


def _equal_tensors(sitting: Sitting) -> tuple[int, int]:
    """How many tensors there were, and how many of them are still the same."""
    now, before = sitting.result.model.state_dict(), sitting.before.weights
    return len(before), sum(key in now and torch.equal(now[key], tensor) for key, tensor in before.items())


def _share_not_zero(sitting: Sitting) -> tuple[float, float]:
    """Which share of the parameters is not zero."""
    found = [encoder.runtime.inventory() for encoder in (sitting.given, sitting.result)]
    before, after = (1 - inventory.zeroed / inventory.total for inventory in found)
    return before, after


# Each gives a number before and after; what is claimed is there when the second is lower.
EXAMINED: dict[str, Callable[[Sitting], tuple[float, float]]] = {
    "fewer-layers": _layers,
    "fewer-parameters": _parameters,
    "fewer-macs": _macs,
    "smaller-file": _file_sizes,
    "other-runtime": _shared_runtime,
    "other-weights": _equal_tensors,
    "zeroed-weights": _share_not_zero,
}
