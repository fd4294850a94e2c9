"""OpenVINO graphs in float and in int8: the same encoder elsewhere, smaller, quiet, and optional."""

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from graphs import ROWS, WIDE, answers, bench_for, lively_encoder, pairs, sicken, weight_bytes
from pydantic import ValidationError
from tiny import FAMILIES

from strategies.embedding_factorization import EmbeddingFactorization
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.openvino_graph import OpenVinoGraph
from strategies.openvino_int8 import OpenVinoInt8
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.runtimes.openvino_runtime import OpenVinoRuntime, openvino
from workbench.sketch import Sketch
from workbench.strategy import check_fit

SKETCH = Sketch("bert", layers=2, hidden=32, heads=4, ffn=64, vocabulary=100, kind="classification")


@dataclass(frozen=True)
class Converted:
    """A wide encoder, its float graph and its int8 graph."""

    given: Encoder
    plain: Encoder
    small: Encoder


@pytest.fixture(scope="module")
def converted(tiny_task, tmp_path_factory):
    """Gives the conversions of a family, made once."""

    @cache
    def give(family):
        folder = tmp_path_factory.mktemp(family)
        given = lively_encoder(family, folder / "base", tiny_task, **WIDE)
        plain = OpenVinoGraph().apply(given, bench_for(given, tiny_task, folder / "plain"))
        small = OpenVinoInt8().apply(given, bench_for(given, tiny_task, folder / "small"))
        return Converted(given, plain, small)

    return give


def model_of(encoder):
    return openvino().Core().read_model(encoder.runtime.folder / "model.xml")


def stored_as(encoder, sort, place):
    """The element type of what each operator of a sort takes at a place, by operator; int8 comes through a Convert."""
    found = {}
    model = model_of(encoder)
    for node in model.get_ordered_ops():
        if node.get_type_name() == sort:
            source = node.input_value(place).get_node()
            while source.get_type_name() in {"Convert", "Multiply", "Reshape"}:
                source = source.input_value(0).get_node()
            if source.get_type_name() == "Constant":
                found[node.get_friendly_name()] = source.get_element_type().get_type_name()
    return found


def left_in_float(encoder):
    return {name for name, sort in stored_as(encoder, "MatMul", 1).items() if sort == "f32"}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_float_graph_answers_as_the_model_for_many_rows_and_for_one(family, converted):
    made = converted(family)
    assert made.plain.runtime.name == "openvino"
    np.testing.assert_allclose(answers(made.plain), answers(made.given), atol=1e-4)
    np.testing.assert_allclose(answers(made.plain, ROWS[:1]), answers(made.given, ROWS[:1]), atol=1e-4)


@pytest.mark.parametrize("family", ["albert", "distilbert"])
def test_the_float_graph_scores_pairs_as_the_model(family, tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_regression)
    graph = OpenVinoGraph().apply(encoder, make_bench(encoder))
    np.testing.assert_allclose(answers(graph, pairs(5)), answers(encoder, pairs(5)), atol=1e-4)
    assert answers(graph, pairs(1)).shape == (1, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_graphs_have_the_parameters_of_the_model(family, converted):
    made = converted(family)
    expected = made.given.runtime.parameters()
    assert made.plain.runtime.parameters() == expected
    # Bias correction gives each use of ALBERT's shared layers biases of its own.
    assert 0 <= made.small.runtime.parameters() - expected <= (2048 if family == "albert" else 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_int8_file_is_at_most_three_tenths_and_answers_alike_after_reloading(family, converted, tmp_path):
    made = converted(family)
    assert weight_bytes(made.small, tmp_path / "small") <= 0.3 * weight_bytes(made.plain, tmp_path / "plain")
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path / "small")), answers(made.small))
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path / "plain")), answers(made.plain))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_int8_graph_agrees_with_the_model_whether_a_text_is_alone_or_in_company(family, converted):
    made = converted(family)
    assert np.corrcoef(answers(made.small)[:, 0], answers(made.given)[:, 0])[0, 1] > 0.8
    alone = np.concatenate([answers(made.small, [row]) for row in ROWS])
    np.testing.assert_allclose(alone, answers(made.small), atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_graphs_answer_on_one_thread_as_on_many(family, converted):
    for graph in (converted(family).plain, converted(family).small):
        alone = Encoder(OpenVinoRuntime(graph.runtime.folder, threads=1), graph.tokenizer, graph.lineage)
        np.testing.assert_allclose(answers(alone), answers(graph), atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_matrix_and_every_table_is_stored_in_bytes(family, converted):
    small = converted(family).small
    assert set(stored_as(small, "MatMul", 1).values()) == {"i8"}
    tables = {name: sort for name, sort in stored_as(small, "Gather", 0).items() if "embedding" in name}
    assert len(tables) >= 2 and set(tables.values()) == {"i8"}


def test_replaced_and_shared_modules_keep_their_answers_and_stand_in_the_file_once(tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_task, **WIDE)
    for step in (EmbeddingFactorization(rank=64), LayerSharing(groups=1)):
        encoder = step.apply(encoder, make_bench(encoder))
    plain = OpenVinoGraph().apply(encoder, make_bench(encoder))
    small = OpenVinoInt8().apply(encoder, make_bench(encoder))
    np.testing.assert_allclose(answers(plain), answers(encoder), atol=1e-4)
    assert plain.runtime.parameters() == encoder.runtime.parameters() == small.runtime.parameters()
    assert weight_bytes(small, tmp_path / "small") <= 0.3 * weight_bytes(plain, tmp_path / "plain")


def test_excluded_operators_and_embeddings_stay_in_float_and_no_others(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    strategy = OpenVinoInt8(exclude=(r"layer\.1\.(intermediate|output)", "classifier"), embeddings=False)
    small = strategy.apply(encoder, make_bench(encoder))
    left = left_in_float(small)
    assert {name.partition("/")[0] for name in left} == {
        "__module.bert.encoder.layer.1.intermediate.dense",
        "__module.bert.encoder.layer.1.output.dense",
        "__module.classifier",
    }
    assert small.lineage.steps[-1].detail["excluded_operators"] == sorted(left)
    tables = {sort for name, sort in stored_as(small, "Gather", 0).items() if "embedding" in name}
    assert tables == {"f32"}


def test_a_sick_part_is_found_and_left_in_float_until_scores_agree(tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_regression)
    sicken(encoder, layer=1)
    small = OpenVinoInt8(threshold=0.75).apply(encoder, make_bench(encoder, tiny_regression))
    detail = small.lineage.steps[-1].detail
    assert detail["agreement"]["before"] < 0.75 <= detail["agreement"]["after"]
    assert detail["agreement"]["reached"] is True
    assert next(iter(detail["harm_alone"])) == "bert.encoder.layer.1.output"
    assert detail["excluded_parts"] == ["bert.encoder.layer.1.output"]
    assert set(detail["excluded_operators"]) == left_in_float(small)


def test_a_pattern_that_finds_nothing_is_refused_with_names_that_are_there(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    with pytest.raises(PlanError, match=r"no operator has 'layer\.9' in its name.*__module\.bert\.encoder\.layer\.0"):
        OpenVinoInt8(exclude=("layer.9",)).apply(encoder, make_bench(encoder))


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 1.01},
        {"threshold": -0.5},
        {"rows": 0},
        {"preset": "best"},
        {"calibration": "best"},
        {"exclude": ("[",)},
    ],
)
def test_senseless_options_are_refused(options):
    with pytest.raises(ValidationError, match=next(iter(options))):
        OpenVinoInt8(**options)


def test_rows_and_preset_reach_the_quantizer(tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("distilbert", tmp_path / "base", tiny_task)
    mixed = OpenVinoInt8(rows=4).apply(encoder, make_bench(encoder))
    fast = OpenVinoInt8(rows=4, preset="performance").apply(encoder, make_bench(encoder))
    assert mixed.lineage.steps[-1].detail["calibrated_on"] == 4
    assert not np.array_equal(answers(mixed), answers(fast))


def activation_ranges(encoder):
    """How wide the quantized range of each activation is, by the name of its operator."""
    rounding = [node for node in model_of(encoder).get_ordered_ops() if node.get_type_name() == "FakeQuantize"]
    ends = {
        node.get_friendly_name(): [node.input_value(place).get_node().get_data() for place in (1, 2)]
        for node in rounding
    }
    return {name: float((high - low).max()) for name, (low, high) in ends.items()}


def test_ranges_hold_all_that_was_seen_unless_their_mean_is_asked_for(tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_task)
    seen, mean = (
        activation_ranges(OpenVinoInt8(rows=16, calibration=calibration).apply(encoder, make_bench(encoder)))
        for calibration in ("minmax", "mean")
    )
    assert seen.keys() == mean.keys()
    assert all(seen[name] >= 0.99 * mean[name] for name in seen)
    assert max(seen[name] / mean[name] for name in seen) > 1.05


def test_nothing_is_said_while_converting_and_quantizing(tiny_encoder, make_bench, capfd):
    encoder = tiny_encoder("distilbert")
    capfd.readouterr()
    OpenVinoInt8().apply(encoder, make_bench(encoder))
    assert capfd.readouterr() == ("", "")


def test_quantizing_twice_or_changing_the_structure_afterwards_is_refused():
    for first in (OpenVinoGraph(), OpenVinoInt8()):
        graph = check_fit(first, SKETCH)
        for step in (OpenVinoGraph(), OpenVinoInt8(), LayerDrop(keep=(0,))):
            with pytest.raises(PlanError, match="already"):
                check_fit(step, graph)


WITHOUT_PACKAGES = """
import sys

class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in barred:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

barred = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Bar())
from workbench.errors import PlanError
from workbench.plugins import STRATEGIES, load
from workbench.sketch import Sketch
from workbench.strategy import check_fit

sketch = Sketch("bert", layers=2, hidden=32, heads=4, ffn=64, vocabulary=100, kind="classification")
for name in ("onnx", "openvino", "openvino-int8"):
    try:
        check_fit(load(STRATEGIES, name)(), sketch)
        print(name, "fits")
    except PlanError as error:
        print(name, error)
"""


@pytest.mark.parametrize(
    ("absent", "expected"),
    [
        ("openvino,nncf", ["onnx fits", "openvino openvino is not", "openvino-int8 openvino is not"]),
        ("nncf", ["onnx fits", "openvino fits", "openvino-int8 nncf is not"]),
    ],
)
def test_without_its_packages_a_strategy_is_refused_at_plan_time_with_the_way_to_get_them(absent, expected):
    command = [sys.executable, "-c", WITHOUT_PACKAGES, absent]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]).stdout
    for line, beginning in zip(told.splitlines(), expected, strict=True):
        assert line.startswith(beginning)
        assert line.endswith("fits") or line.endswith("pip install 'encoder-workbench[openvino]'")


TELEMETRY = """
import socket, sys
from pathlib import Path

def refuse(*given):
    raise AssertionError(f"the network was asked for {given[1:]}")

socket.socket.connect = refuse
socket.getaddrinfo = refuse
from workbench.encoder import Encoder
from workbench.runtimes.openvino_runtime import openvino

openvino()
import nncf
from workbench.tokens import tokenize
from workbench.tasks.task import Row

encoder = Encoder.load(Path(sys.argv[1]))
encoder.logits(tokenize(encoder.tokenizer, [Row("0", ("a film",), 0)]))
print(sys.modules["openvino_telemetry"], *Path.home().iterdir())
"""


def test_openvino_reports_nothing_to_its_makers(converted, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "artifact").mkdir()
    converted("bert").small.save(tmp_path / "artifact")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    command = [sys.executable, "-c", TELEMETRY, str(tmp_path / "artifact")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["None"]), done.stderr
