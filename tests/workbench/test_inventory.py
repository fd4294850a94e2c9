"""An inventory lists each weight once, knows its part and what is zero in it, and sums are right for every family."""

import numpy as np
import onnx
import pytest
import torch
from graphs import lively_encoder
from onnx import helper, numpy_helper
from tiny import FAMILIES

from strategies.embedding_factorization import EmbeddingFactorization
from strategies.int8_dynamic import Int8Dynamic
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from workbench.families import family_of, layers_of, part, word_table
from workbench.inventory import PARTS, Inventory, Weight
from workbench.onnx_export import export_onnx
from workbench.openvino_export import export_openvino
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.runtimes.onnx_weights import onnx_inventory
from workbench.runtimes.openvino_runtime import OpenVinoRuntime, openvino
from workbench.runtimes.openvino_weights import openvino_inventory
from workbench.runtimes.parts import part_named, part_of
from workbench.silence import silenced

GRAPHS = {"onnxruntime": (OnnxRuntime, export_onnx), "openvino": (OpenVinoRuntime, export_openvino)}


def counts(inventory):
    return {part: inventory.of(part).total for part in PARTS}


def zeroes(inventory):
    return {part: inventory.of(part).zeroed for part in PARTS}


def numbers_in(*modules):
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


def test_sums_are_over_all_weights_or_over_those_of_a_part():
    inventory = Inventory(
        (
            Weight("embeddings", "uint8", count=10, zeroed=3, bytes=10),
            Weight("encoder", "float32", count=5, zeroed=1, bytes=20),
            Weight("embeddings", "float32", count=2, zeroed=0, bytes=8),
        )
    )
    assert (inventory.total, inventory.zeroed) == (17, 4)
    assert counts(inventory) == {"embeddings": 12, "encoder": 5, "head": 0}
    assert zeroes(inventory) == {"embeddings": 3, "encoder": 1, "head": 0}
    assert inventory.bytes_by_dtype == {"float32": 28, "uint8": 10}
    assert inventory.of("embeddings").bytes_by_dtype == {"float32": 8, "uint8": 10}
    assert inventory.of("head").bytes_by_dtype == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert.embeddings.LayerNorm.bias", "embeddings"),
        ("/bert/embeddings/word_embeddings/Gather", "embeddings"),
        ("__module.distilbert.embeddings.word_embeddings.widen/aten::linear/MatMul", "embeddings"),
        ("/albert/encoder/embedding_hidden_mapping_in/MatMul", "embeddings"),
        ("/bert/encoder/layer.0/attention/self/query/MatMul_quant", "encoder"),
        ("/bert/pooler/dense/Gemm_MatMul_quant", "head"),
        ("classifier.weight_DequantizeLinear", "head"),
        ("__module.pre_classifier/aten::linear/MatMul/fq_weights_1", "head"),
        ("/roberta/encoder/layer.1/classifier/MatMul", "encoder"),
        ("onnx::MatMul_302_DequantizeLinear", None),
        ("classifiers/MatMul", None),
    ],
)
def test_a_name_tells_its_part_or_nothing(name, expected):
    assert part_named(name) == expected


def test_a_tied_weight_belongs_where_it_is_looked_up_and_a_nameless_one_to_the_encoder():
    assert part_of(["/classifier/MatMul", "/bert/embeddings/word_embeddings/Gather"]) == "embeddings"
    assert part_of(["Convert_17", "/classifier/MatMul"]) == "head"
    assert part_of(["Convert_17", ""]) == part_of([]) == "encoder"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_parts_of_a_model_are_its_embeddings_its_layers_and_its_head(family, tiny_encoder):
    encoder = tiny_encoder(family)
    model = encoder.model
    widening = [model.albert.encoder.embedding_hidden_mapping_in] if family == "albert" else []
    head = [part(model, path) for path in family_of(model.config).head]
    assert counts(encoder.runtime.inventory()) == {
        "embeddings": numbers_in(getattr(model, family).embeddings, *widening),
        "encoder": numbers_in(layers_of(model)),
        "head": numbers_in(*head),
    }
    assert encoder.runtime.parameters() == numbers_in(model)
    assert encoder.runtime.inventory().bytes_by_dtype == {"float32": 4 * numbers_in(model)}


def test_types_are_called_by_their_names(tiny_encoder):
    encoder = tiny_encoder("bert")
    encoder.model.bert.embeddings.to(torch.bfloat16)
    encoder.model.classifier.to(torch.float16)
    sizes = encoder.runtime.inventory().bytes_by_dtype
    assert sizes.keys() == {"bfloat16", "float16", "float32"}
    assert sizes["float16"] == 2 * numbers_in(encoder.model.classifier)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_dropping_half_of_the_layers_halves_the_parameters_of_the_encoder_alone(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    shorter = LayerDrop(layers=2).apply(encoder, make_bench(encoder))
    before, after = counts(encoder.runtime.inventory()), counts(shorter.runtime.inventory())
    assert after == {**before, "encoder": before["encoder"] // 2}


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_what_layers_share_is_listed_once(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    shared = LayerSharing(groups=1, untie=False).apply(encoder, make_bench(encoder))
    before, after = counts(encoder.runtime.inventory()), counts(shared.runtime.inventory())
    assert after == {**before, "encoder": before["encoder"] // 4}


@pytest.mark.parametrize("family", FAMILIES)
def test_both_factors_of_a_word_table_belong_to_the_embeddings(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    narrow = EmbeddingFactorization(rank=4).apply(encoder, make_bench(encoder))
    words, width = word_table(encoder.model).weight.shape
    before, after = counts(encoder.runtime.inventory()), counts(narrow.runtime.inventory())
    assert after == {**before, "embeddings": before["embeddings"] - words * width + 4 * (words + width) + width}


@pytest.fixture
def pruned(tiny_task, tmp_path):
    """An encoder before and after half of a matrix, five words and one number of the head were made zero."""
    whole, pruned = (lively_encoder("bert", tmp_path / name, tiny_task) for name in ("whole", "pruned"))
    with torch.no_grad():
        layers_of(pruned.model)[0].intermediate.dense.weight[:, :16] = 0
        word_table(pruned.model).weight[10:15] = 0
        pruned.model.classifier.bias[1] = 0
    return whole, pruned


ZEROED = {"embeddings": 5 * 32, "encoder": 64 * 16, "head": 1}


def test_zeroed_parameters_are_counted_as_zero_and_not_as_removed(pruned):
    before, after = (encoder.runtime.inventory() for encoder in pruned)
    assert counts(after) == counts(before)
    # The row of the padding token is zero from the start.
    assert zeroes(before) == {"embeddings": 32, "encoder": 0, "head": 0}
    assert {part: count - zeroes(before)[part] for part, count in zeroes(after).items()} == ZEROED
    assert after.bytes_by_dtype == before.bytes_by_dtype


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_in_float_has_the_zeroes_of_its_model(name, pruned, tmp_path):
    runtime, export = GRAPHS[name]
    encoder = pruned[1]
    inventory = runtime(export(encoder, tmp_path / "graph")).inventory()
    assert counts(inventory) == counts(encoder.runtime.inventory())
    assert zeroes(inventory) == zeroes(encoder.runtime.inventory())


def test_in_int8_what_lies_on_the_zero_point_is_zero(pruned, make_bench):
    before, after = (Int8Dynamic().apply(encoder, make_bench(encoder)).runtime.inventory() for encoder in pruned)
    assert counts(after) == counts(before)
    grown = {part: count - zeroes(before)[part] for part, count in zeroes(after).items()}
    # Some of what was made zero had been rounded to zero before.
    assert 0.9 * ZEROED["encoder"] <= grown["encoder"] <= ZEROED["encoder"]
    assert 0.9 * ZEROED["embeddings"] <= grown["embeddings"] <= ZEROED["embeddings"]


def test_in_bytes_with_zero_points_of_openvino_what_lies_on_them_is_zero(pruned, tmp_path):
    found = {}
    for name, encoder in zip(("before", "after"), pruned, strict=True):
        model = openvino().Core().read_model(export_openvino(encoder, tmp_path / name) / "model.xml")
        with silenced():
            import nncf

            model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_ASYM)
        found[name] = openvino_inventory(model)
    assert counts(found["before"]) == counts(found["after"]) == counts(pruned[0].runtime.inventory())
    assert found["after"].bytes_by_dtype.keys() == {"float32", "uint8"}
    grown = {part: count - zeroes(found["before"])[part] for part, count in zeroes(found["after"]).items()}
    assert 0.9 * ZEROED["encoder"] <= grown["encoder"] <= ZEROED["encoder"]
    assert 0.9 * ZEROED["embeddings"] <= grown["embeddings"] <= ZEROED["embeddings"]


def graph_with(node, **tensors):
    stored = [numpy_helper.from_array(np.asarray(numbers), name) for name, numbers in tensors.items()]
    return helper.make_model(helper.make_graph([node], "tiny", [], [], stored))


WEIGHT = np.array([[3, 3, -2], [3, -2, -2], [0, 0, 0]], np.int8)


@pytest.mark.parametrize(("axis", "zeroed"), [(0, 2 + 2 + 3), (1, 2 + 1 + 1)])
def test_zero_points_by_channel_lie_along_the_axis_that_the_graph_names(axis, zeroed):
    places = ["w_quantized", "w_scale", "w_zero_point"]
    node = helper.make_node("DequantizeLinear", places, ["w"], axis=axis)
    model = graph_with(
        node,
        w_quantized=WEIGHT,
        w_scale=np.ones(3, np.float32),
        w_zero_point=np.array([3, -2, 0], np.int8),
    )
    (weight,) = onnx_inventory(model).weights
    assert weight == Weight("encoder", "int8", count=9, zeroed=zeroed, bytes=9)


def test_zero_points_of_a_product_of_integers_lie_along_its_columns():
    node = helper.make_node(
        "MatMulInteger", ["x", "w_quantized", "x_zero", "w_zero_point"], ["y"], name="/classifier/M"
    )
    model = graph_with(node, w_quantized=WEIGHT, w_zero_point=np.array([3, 0, -2], np.int8))
    (weight,) = onnx_inventory(model).weights
    assert weight == Weight("head", "int8", count=9, zeroed=2 + 1 + 2, bytes=9)


def test_a_weight_is_followed_through_nodes_that_only_unwrap_it():
    nodes = [
        helper.make_node("DequantizeLinear", ["w_quantized", "w_scale"], ["w"], name="w_DequantizeLinear"),
        helper.make_node("Transpose", ["w"], ["turned"], name=""),
        helper.make_node("MatMul", ["x", "turned"], ["y"], name="/bert/pooler/dense/MatMul"),
    ]
    stored = {"w_quantized": WEIGHT, "w_scale": np.ones((), np.float32)}
    tensors = [numpy_helper.from_array(np.asarray(numbers), name) for name, numbers in stored.items()]
    model = onnx.helper.make_model(helper.make_graph(nodes, "tiny", [], [], tensors))
    assert counts(onnx_inventory(model)) == {"embeddings": 0, "encoder": 0, "head": 9}
