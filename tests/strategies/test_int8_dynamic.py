"""Dynamic int8: a quarter of the file, activations in bytes as they come, and what is excluded stays in float."""

import numpy as np
import onnx
import pytest
from graphs import WIDE, answers, lively_encoder, pairs, weight_bytes
from onnx import TensorProto, numpy_helper
from pydantic import ValidationError
from tiny import FAMILIES

from strategies.embedding_factorization import EmbeddingFactorization
from strategies.int8_dynamic import Int8Dynamic
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.onnx_graph import OnnxGraph
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.sketch import Sketch
from workbench.strategy import check_fit

SKETCH = Sketch("bert", layers=2, hidden=32, heads=4, ffn=64, vocabulary=100, kind="classification")


def graph_of(encoder):
    return onnx.load(encoder.runtime.folder / "model.onnx").graph


def float_products(encoder):
    graph = graph_of(encoder)
    stored = {tensor.name for tensor in graph.initializer}
    return [node.name for node in graph.node if node.op_type in {"MatMul", "Gemm"} and node.input[1] in stored]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_file_is_at_most_three_tenths_and_answers_alike_after_reloading(family, tiny_task, make_bench, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_task, **WIDE)
    plain = OnnxGraph().apply(encoder, make_bench(encoder))
    small = Int8Dynamic().apply(encoder, make_bench(encoder))
    assert weight_bytes(small, tmp_path / "small") <= 0.3 * weight_bytes(plain, tmp_path / "plain")
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path / "small")), answers(small))
    assert small.runtime.parameters() == encoder.runtime.parameters()
    assert np.corrcoef(answers(small)[:, 0], answers(encoder)[:, 0])[0, 1] > 0.9


def test_a_factorized_table_and_shared_layers_shrink_as_much(tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_task, **WIDE)
    for step in (EmbeddingFactorization(rank=64), LayerSharing(groups=1)):
        encoder = step.apply(encoder, make_bench(encoder))
    plain = OnnxGraph().apply(encoder, make_bench(encoder))
    small = Int8Dynamic().apply(encoder, make_bench(encoder))
    assert weight_bytes(small, tmp_path / "small") <= 0.3 * weight_bytes(plain, tmp_path / "plain")
    assert small.runtime.parameters() == encoder.runtime.parameters()


def test_weights_are_signed_bytes_of_the_full_range_and_activations_unsigned(tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_task)
    graph = graph_of(Int8Dynamic().apply(encoder, make_bench(encoder)))
    stored = {tensor.name: tensor for tensor in graph.initializer}
    weights = [stored[node.input[1]] for node in graph.node if node.op_type == "MatMulInteger"]
    assert len(weights) == 2 * 6 + 2
    assert {tensor.data_type for tensor in weights} == {TensorProto.INT8}
    assert max(int(np.abs(numpy_helper.to_array(tensor).astype(int)).max()) for tensor in weights) == 127
    makers = {output: node.op_type for node in graph.node for output in node.output}
    takes = {makers[node.input[0]] for node in graph.node if node.op_type == "MatMulInteger"}
    assert takes == {"DynamicQuantizeLinear"}


@pytest.mark.parametrize(("per_channel", "scales"), [(True, 64), (False, 1)])
def test_a_matrix_has_a_scale_for_each_channel_unless_asked_otherwise(per_channel, scales, tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    small = Int8Dynamic(per_channel=per_channel).apply(encoder, make_bench(encoder))
    graph = graph_of(small)
    products = [node for node in graph.node if node.op_type == "MatMulInteger"]
    (product,) = [node for node in products if "layer.0/intermediate" in node.name]
    name = product.input[1].removesuffix("_quantized") + "_scale"
    (scale,) = [tensor for tensor in graph.initializer if tensor.name == name]
    assert int(np.prod(scale.dims)) == scales


def test_embeddings_stay_in_float_if_asked(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    sorts = {}
    for embeddings in (True, False):
        graph = graph_of(Int8Dynamic(embeddings=embeddings).apply(encoder, make_bench(encoder)))
        tables = {node.input[0] for node in graph.node if node.name.endswith("word_embeddings/Gather")}
        sorts[embeddings] = [tensor.data_type for tensor in graph.initializer if tensor.name in tables]
    assert sorts == {False: [TensorProto.FLOAT], True: [TensorProto.UINT8]}


def test_excluded_operators_stay_in_float_and_no_others(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    assert float_products(Int8Dynamic().apply(encoder, make_bench(encoder))) == []
    small = Int8Dynamic(exclude=("layer.1/(intermediate|output)", "classifier")).apply(encoder, make_bench(encoder))
    left = {
        "/bert/encoder/layer.1/intermediate/dense/MatMul",
        "/bert/encoder/layer.1/output/dense/MatMul",
        "/classifier/Gemm",
    }
    assert {name.removesuffix("_MatMul") for name in float_products(small)} == left
    assert small.lineage.steps[-1].detail == {"excluded_operators": sorted(left)}


def test_excluding_one_use_of_a_shared_weight_excludes_every_use_so_that_it_is_stored_once(tiny_encoder, make_bench):
    encoder = tiny_encoder("albert")
    small = Int8Dynamic(exclude=("ffn_output_3",)).apply(encoder, make_bench(encoder))
    assert len(float_products(small)) == 4
    assert len({node.input[1] for node in graph_of(small).node if node.name in float_products(small)}) == 1


def test_a_pattern_that_finds_nothing_is_refused_with_names_that_are_there(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    with pytest.raises(PlanError, match=r"no operator has 'layer\.9' in its name.*/bert/encoder/layer\.0/attention"):
        Int8Dynamic(exclude=("classifier", "layer.9")).apply(encoder, make_bench(encoder))


def test_excluding_everything_is_refused(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    with pytest.raises(PlanError, match="nothing is left to quantize"):
        Int8Dynamic(exclude=("/",)).apply(encoder, make_bench(encoder))


def test_what_is_no_regular_expression_is_refused_as_an_option():
    with pytest.raises(ValidationError, match="'\\(' is not a regular expression"):
        Int8Dynamic(exclude=("(",))


def test_pairs_are_scored(tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder("roberta", tmp_path / "base", tiny_regression)
    small = Int8Dynamic().apply(encoder, make_bench(encoder))
    rows = pairs(20)
    assert answers(small, rows).shape == (20, 1)
    assert np.corrcoef(answers(small, rows)[:, 0], answers(encoder, rows)[:, 0])[0, 1] > 0.9
    assert answers(small, rows[:1]).shape == (1, 1)


def test_the_given_encoder_still_answers_as_before(tiny_encoder, make_bench):
    encoder = tiny_encoder("distilbert")
    before = answers(encoder)
    Int8Dynamic().apply(encoder, make_bench(encoder))
    np.testing.assert_array_equal(answers(encoder), before)
    assert encoder.lineage.steps == ()


def test_quantizing_twice_or_changing_the_structure_afterwards_is_refused():
    quantized = check_fit(Int8Dynamic(), SKETCH)
    for step in (Int8Dynamic(), LayerDrop(keep=(0,)), LayerSharing()):
        with pytest.raises(PlanError, match="already"):
            check_fit(step, quantized)
