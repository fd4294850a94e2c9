"""An encoder turned into an ONNX graph in float is the same encoder on another runtime."""

import numpy as np
import onnx
import pytest
from graphs import ROWS, answers, lively_encoder, pairs
from tiny import FAMILIES

from strategies.embedding_factorization import EmbeddingFactorization
from strategies.int8_dynamic import Int8Dynamic
from strategies.layer_sharing import LayerSharing
from strategies.onnx_graph import OnnxGraph
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.onnx_export import export_onnx
from workbench.sketch import GRAPH, Sketch
from workbench.strategy import check_fit

SKETCH = Sketch("bert", layers=2, hidden=32, heads=4, ffn=64, vocabulary=100, kind="classification")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_graph_answers_as_the_model_for_many_rows_and_for_one(family, tiny_task, make_bench, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_task)
    graph = OnnxGraph().apply(encoder, make_bench(encoder))
    assert graph.runtime.name == "onnxruntime"
    np.testing.assert_allclose(answers(graph), answers(encoder), atol=1e-4)
    np.testing.assert_allclose(answers(graph, ROWS[:1]), answers(encoder, ROWS[:1]), atol=1e-4)


@pytest.mark.parametrize("family", ["albert", "distilbert"])
def test_the_graph_scores_pairs_as_the_model(family, tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_regression)
    graph = OnnxGraph().apply(encoder, make_bench(encoder))
    np.testing.assert_allclose(answers(graph, pairs(5)), answers(encoder, pairs(5)), atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_graph_has_the_parameters_of_the_model(family, tiny_task, make_bench, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_task)
    graph = OnnxGraph().apply(encoder, make_bench(encoder))
    assert graph.runtime.parameters() == encoder.runtime.parameters()


@pytest.mark.parametrize("family", ["bert", "distilbert"])
def test_replaced_and_shared_modules_keep_their_answers_and_stand_in_the_file_once(
    family, tiny_task, make_bench, tmp_path
):
    encoder = lively_encoder(family, tmp_path / "base", tiny_task)
    for step in (EmbeddingFactorization(rank=8), LayerSharing(groups=1, untie=False)):
        encoder = step.apply(encoder, make_bench(encoder))
    graph = OnnxGraph().apply(encoder, make_bench(encoder))
    np.testing.assert_allclose(answers(graph), answers(encoder), atol=1e-4)
    assert graph.runtime.parameters() == encoder.runtime.parameters()


def test_every_node_names_a_shared_weight_itself(tiny_task, tmp_path):
    encoder = lively_encoder("albert", tmp_path / "base", tiny_task)
    graph = onnx.load(export_onnx(encoder, tmp_path / "graph") / "model.onnx").graph
    assert [node.name for node in graph.node if node.op_type == "Identity"] == []
    uses = [node.input[1] for node in graph.node if node.name.rpartition("/")[0].endswith(("/ffn", "/ffn_1"))]
    assert len(uses) == 2 + 2 and len({name for name in uses if name.startswith("onnx::MatMul")}) == 1


def test_a_saved_graph_answers_as_before(tiny_encoder, make_bench, tmp_path):
    encoder = tiny_encoder("bert")
    graph = OnnxGraph().apply(encoder, make_bench(encoder))
    graph.save(tmp_path)
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path)), answers(graph))


def test_nothing_can_be_done_to_a_graph():
    graph = check_fit(OnnxGraph(), SKETCH)
    assert GRAPH in graph.traits
    for step in (OnnxGraph(), Int8Dynamic(), LayerSharing()):
        with pytest.raises(PlanError, match="already turned into a runtime graph"):
            check_fit(step, graph)
