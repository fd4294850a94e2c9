"""Static int8: ranges come from the task's rows, agreement is watched on others, and sick parts stay in float."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from graphs import ROWS, WIDE, answers, halve_predictions, lively_encoder, pairs, sicken, weight_bytes
from pydantic import ValidationError
from tiny import FAMILIES, write_task_files

from strategies.int8_dynamic import Int8Dynamic
from strategies.int8_static import Int8Static
from strategies.layer_drop import LayerDrop
from strategies.onnx_graph import OnnxGraph
from workbench.encoder import Encoder
from workbench.errors import DataError, PlanError
from workbench.sketch import Sketch
from workbench.strategy import check_fit

SKETCH = Sketch("bert", layers=2, hidden=32, heads=4, ffn=64, vocabulary=100, kind="classification")
SICK = "bert.encoder.layer.1.output"
SICK_NODE = "/bert/encoder/layer.1/output/dense/MatMul"


@pytest.fixture(scope="session")
def larger_task(tmp_path_factory):
    """A classification with enough calibration rows to see an agreement on those held apart."""
    return write_task_files(tmp_path_factory.mktemp("larger"), train=1200)


def float_products(encoder):
    graph = onnx.load(encoder.runtime.folder / "model.onnx").graph
    stored = {tensor.name for tensor in graph.initializer}
    return [node.name for node in graph.node if node.op_type in {"MatMul", "Gemm"} and node.input[1] in stored]


def detail_of(encoder):
    return encoder.lineage.steps[-1].detail


@pytest.mark.parametrize("family", FAMILIES)
def test_the_file_is_at_most_three_tenths_and_answers_alike_after_reloading(family, tiny_task, make_bench, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_task, **WIDE)
    plain = OnnxGraph().apply(encoder, make_bench(encoder))
    small = Int8Static().apply(encoder, make_bench(encoder))
    assert weight_bytes(small, tmp_path / "small") <= 0.3 * weight_bytes(plain, tmp_path / "plain")
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path / "small")), answers(small))
    assert small.runtime.parameters() == encoder.runtime.parameters()
    assert np.corrcoef(answers(small)[:, 0], answers(encoder)[:, 0])[0, 1] > 0.8


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_is_answered_the_same_alone_and_in_company(family, tiny_task, make_bench, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_task)
    small = Int8Static().apply(encoder, make_bench(encoder))
    alone = np.concatenate([answers(small, [row]) for row in ROWS])
    np.testing.assert_allclose(alone, answers(small), atol=1e-5)


def test_results_of_products_are_not_squeezed_into_bytes_again(tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_task)
    small = Int8Static().apply(encoder, make_bench(encoder))
    graph = onnx.load(small.runtime.folder / "model.onnx").graph
    makers = {output: node for node in graph.node for output in node.output}
    squeezed = {makers[node.input[0]].op_type for node in graph.node if node.op_type == "QuantizeLinear"}
    assert "LayerNormalization" in squeezed
    assert squeezed.isdisjoint({"MatMul", "Gemm"})
    assert float_products(small) == []


@pytest.mark.parametrize("calibration", ["minmax", "entropy", "percentile"])
def test_every_way_to_calibrate_gives_an_encoder_that_agrees(calibration, tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_regression)
    small = Int8Static(calibration=calibration).apply(encoder, make_bench(encoder, tiny_regression))
    rows = pairs(20)
    assert np.corrcoef(answers(small, rows)[:, 0], answers(encoder, rows)[:, 0])[0, 1] > 0.8


def test_ranges_come_from_the_rows_asked_for(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    one, many = (Int8Static(rows=rows).apply(encoder, make_bench(encoder)) for rows in (1, 16))
    assert detail_of(one)["calibrated_on"] == 1
    assert detail_of(many)["calibrated_on"] == 16
    assert not np.array_equal(answers(one), answers(many))


def test_agreement_is_recorded_on_rows_that_were_not_calibrated_on(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    bench = make_bench(encoder)
    assert len(bench.data.calibrate) == 24
    detail = detail_of(Int8Static().apply(encoder, bench))
    assert detail["calibrated_on"] == 16
    assert detail["agreement"]["rows"] == 8
    assert detail["agreement"]["before"] == detail["agreement"]["after"]
    assert "threshold" not in detail["agreement"]
    assert detail["excluded_parts"] == [] == detail["excluded_operators"]


def test_a_sick_part_is_found_and_left_in_float_until_predictions_agree(larger_task, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", larger_task)
    bench = make_bench(encoder, larger_task)
    sicken(encoder, layer=1)
    halve_predictions(encoder, bench.data.calibrate)
    small = Int8Static(threshold=0.9).apply(encoder, bench)
    detail = detail_of(small)
    assert detail["agreement"]["before"] < 0.75
    assert detail["agreement"]["after"] >= 0.9
    assert (detail["agreement"]["threshold"], detail["agreement"]["reached"]) == (0.9, True)
    assert detail["excluded_parts"] == [SICK]
    assert detail["excluded_operators"] == [SICK_NODE] == float_products(small)
    harm = detail["harm_alone"]
    assert next(iter(harm)) == SICK and len(harm) == 2 * 3 + 2
    assert harm[SICK] > 10 * sorted(harm.values())[-2]


def test_a_sick_part_is_found_by_the_correlation_of_scores(tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_regression)
    sicken(encoder, layer=1)
    detail = detail_of(Int8Static(threshold=0.95).apply(encoder, make_bench(encoder, tiny_regression)))
    assert detail["agreement"]["unit"] == "correlation"
    assert detail["agreement"]["before"] < 0.9
    assert detail["agreement"]["after"] >= 0.95
    assert detail["excluded_parts"] == [SICK]


def test_when_the_cap_is_too_low_the_best_trial_is_kept_and_the_record_says_so(tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_regression)
    sicken(encoder, layer=0)
    sicken(encoder, layer=1)
    detail = detail_of(Int8Static(threshold=0.99, cap=1).apply(encoder, make_bench(encoder, tiny_regression)))
    assert detail["agreement"]["reached"] is False
    assert len(detail["excluded_parts"]) <= 1
    assert detail["agreement"]["before"] <= detail["agreement"]["after"] < 0.99


def test_a_part_excluded_by_hand_is_not_tried_again(tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_regression)
    sicken(encoder, layer=1)
    strategy = Int8Static(exclude=("layer.1/output",), threshold=0.95)
    detail = detail_of(strategy.apply(encoder, make_bench(encoder, tiny_regression)))
    assert detail["agreement"]["before"] >= 0.95
    assert detail["excluded_parts"] == []
    assert detail["excluded_operators"] == [SICK_NODE]


def test_excluded_operators_stay_in_float_and_no_others(tiny_encoder, make_bench):
    encoder = tiny_encoder("distilbert")
    small = Int8Static(exclude=("layer.2/ffn", "^/classifier")).apply(encoder, make_bench(encoder))
    left = [f"/distilbert/transformer/layer.2/ffn/{name}/MatMul" for name in ("lin1", "lin2")]
    assert float_products(small) == [*left, "/classifier/Gemm"]
    assert detail_of(small)["excluded_operators"] == sorted([*left, "/classifier/Gemm"])


def test_embeddings_stay_in_float_if_asked(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    small = Int8Static(embeddings=False).apply(encoder, make_bench(encoder))
    graph = onnx.load(small.runtime.folder / "model.onnx").graph
    tables = {tensor.name: tensor.data_type for tensor in graph.initializer if "word_embeddings" in tensor.name}
    assert tables == {"bert.embeddings.word_embeddings.weight": onnx.TensorProto.FLOAT}


def test_a_pattern_that_finds_nothing_is_refused(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    with pytest.raises(PlanError, match="no operator has 'crown' in its name"):
        Int8Static(exclude=("crown",)).apply(encoder, make_bench(encoder))


def test_one_calibration_row_is_too_few(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    bench = make_bench(encoder)
    starved = replace(bench, data=replace(bench.data, calibrate=bench.data.calibrate[:1]))
    with pytest.raises(DataError, match="at least 2 calibration rows"):
        Int8Static().apply(encoder, starved)


@pytest.mark.parametrize(
    "options", [{"threshold": 1.01}, {"threshold": 0}, {"cap": 0}, {"rows": 0}, {"calibration": "guess"}]
)
def test_senseless_options_are_refused(options):
    with pytest.raises(ValidationError, match=next(iter(options))):
        Int8Static(**options)


def test_quantizing_twice_or_changing_the_structure_afterwards_is_refused():
    quantized = check_fit(Int8Static(), SKETCH)
    for step in (Int8Static(), Int8Dynamic(), LayerDrop(keep=(0,))):
        with pytest.raises(PlanError, match="already"):
            check_fit(step, quantized)
