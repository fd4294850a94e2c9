"""Layer sharing: layers of a group hold the same tensors, in memory, in the checkpoint and in the graph."""

import copy
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch
from pydantic import ValidationError
from tiny import FAMILIES, LAYERS, sentences

from strategies.embedding_factorization import EmbeddingFactorization
from strategies.int8_dynamic import Int8Dynamic
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing, grouped, spread
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import block_parameters, layers_of
from workbench.onnx_export import export_onnx
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.sketch import Sketch
from workbench.strategy import check_fit
from workbench.study import Training
from workbench.tasks.task import Row
from workbench.tokens import tokenize
from workbench.training import Job, lesson, train

SERVED = ("bert", "roberta", "distilbert")
ROWS = [Row(str(index), (text,), 0) for index, (text, _) in enumerate(sentences(9, 8))]
BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")
# Of a tiny layer, which is 32 wide and 64 in its middle: four square and two oblong matrices; biases and norms.
MATRICES = {"attention": 4 * 32 * 32, "ffn": 2 * 32 * 64}
VECTORS = {"attention": 4 * 32 + 2 * 32, "ffn": 64 + 32 + 2 * 32}


def answers(encoder):
    return np.asarray(encoder.logits(tokenize(encoder.tokenizer, ROWS)))


def parameters(encoder, layer):
    return {**block_parameters(encoder.model, layer, "attention"), **block_parameters(encoder.model, layer, "ffn")}


def common(encoder, one, other):
    """The names of the parameters that two layers share."""
    theirs = parameters(encoder, other)
    return {name for name, parameter in parameters(encoder, one).items() if parameter is theirs[name]}


def matrices(encoder):
    return {name for name, parameter in parameters(encoder, 0).items() if parameter.dim() == 2}


def file_size(encoder, folder):
    folder.mkdir()
    encoder.save(folder)
    return (folder / "model.safetensors").stat().st_size


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_of_a_layer_belongs_to_one_of_its_two_blocks(family, tiny_encoder):
    model = tiny_encoder(family).model
    attention, ffn = block_parameters(model, 0, "attention"), block_parameters(model, 0, "ffn")
    assert not set(attention) & set(ffn)
    assert {**attention, **ffn} == dict(layers_of(model)[0].named_parameters())
    for block, found in (("attention", attention), ("ffn", ffn)):
        assert sum(tensor.numel() for tensor in found.values() if tensor.dim() == 2) == MATRICES[block]
        assert sum(tensor.numel() for tensor in found.values() if tensor.dim() == 1) == VECTORS[block]


@pytest.mark.parametrize("family", SERVED)
@pytest.mark.parametrize("init", ["layer", "mean"])
def test_as_many_groups_as_layers_change_nothing(family, init, lively, make_bench):
    encoder = lively(family)
    for order in ("sequence", "cycle"):
        strategy = LayerSharing(groups=LAYERS, order=order, init=init, untie=False)
        same = strategy.apply(encoder, make_bench(encoder))
        np.testing.assert_array_equal(answers(same), answers(encoder))
        assert same.runtime.parameters() == encoder.runtime.parameters()


@pytest.mark.parametrize("family", SERVED)
@pytest.mark.parametrize("init", ["layer", "mean"])
def test_the_given_encoder_stays_as_it_was(family, init, lively, make_bench):
    encoder = lively(family)
    before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
    LayerSharing(groups=1, init=init, untie=False).apply(encoder, make_bench(encoder))
    after = encoder.model.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert not common(encoder, 0, 1)


@pytest.mark.parametrize("family", SERVED)
@pytest.mark.parametrize("share", ["all", "attention", "ffn"])
def test_parameters_go_down_by_what_the_layers_no_longer_have_alone(family, share, lively, make_bench):
    encoder = lively(family)
    blocks = ("attention", "ffn") if share == "all" else (share,)
    for groups in (1, 3):
        for untie in (True, False):
            shared = LayerSharing(groups=groups, share=share, untie=untie).apply(encoder, make_bench(encoder))
            each = sum(MATRICES[block] + (0 if untie else VECTORS[block]) for block in blocks)
            saved = (LAYERS - groups) * each
            assert encoder.runtime.parameters() - shared.runtime.parameters() == saved


def test_only_layers_of_a_group_share_and_norms_and_biases_stay_untied(lively, make_bench):
    encoder = lively("bert")
    pairs = LayerSharing(groups=2).apply(encoder, make_bench(encoder))
    turns = LayerSharing(groups=2, order="cycle").apply(encoder, make_bench(encoder))
    assert common(pairs, 0, 1) == common(pairs, 2, 3) == matrices(encoder)
    assert common(turns, 0, 2) == common(turns, 1, 3) == matrices(encoder)
    assert not common(pairs, 1, 2)
    assert not common(turns, 0, 1)


def test_one_block_alone_can_be_shared_with_its_norms_and_biases(lively, make_bench):
    encoder = lively("distilbert")
    for share in ("attention", "ffn"):
        shared = LayerSharing(groups=1, share=share, untie=False).apply(encoder, make_bench(encoder))
        assert common(shared, 0, 3) == set(block_parameters(encoder.model, 0, share))


def test_a_group_begins_as_the_layer_its_record_names_with_each_layers_own_biases(lively, make_bench):
    encoder = lively("roberta")
    shared = LayerSharing(groups=2).apply(encoder, make_bench(encoder))
    detail = shared.lineage.steps[-1].detail
    assert detail == {"groups": [[0, 1], [2, 3]], "sources": [[0], [3]]}
    for layer, source in ((0, 0), (1, 0), (2, 3), (3, 3)):
        now, own, origin = parameters(shared, layer), parameters(encoder, layer), parameters(encoder, source)
        for name, parameter in now.items():
            assert torch.equal(parameter, (origin if parameter.dim() == 2 else own)[name])


def test_a_group_can_begin_as_the_mean_of_its_layers(lively, make_bench):
    encoder = lively("bert")
    shared = LayerSharing(groups=2, order="cycle", init="mean", untie=False).apply(encoder, make_bench(encoder))
    assert shared.lineage.steps[-1].detail["sources"] == [[0, 2], [1, 3]]
    for name, parameter in parameters(shared, 3).items():
        mean = (parameters(encoder, 1)[name] + parameters(encoder, 3)[name]) / 2
        torch.testing.assert_close(parameter, torch.nn.Parameter(mean))


def test_without_options_neighbours_pair_up(lively, make_bench):
    encoder = lively("bert")
    shared = LayerSharing().apply(encoder, make_bench(encoder))
    assert shared.lineage.steps[-1].detail["groups"] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("layers", "groups", "order", "expected"),
    [
        (6, 3, "sequence", [[0, 1], [2, 3], [4, 5]]),
        (6, 3, "cycle", [[0, 3], [1, 4], [2, 5]]),
        (7, 3, "sequence", [[0, 1, 2], [3, 4], [5, 6]]),
        (7, 3, "cycle", [[0, 3, 6], [1, 4], [2, 5]]),
        (5, 4, "sequence", [[0, 1], [2], [3], [4]]),
    ],
)
def test_layers_are_divided_as_evenly_as_can_be(layers, groups, order, expected):
    assert grouped(layers, groups, order) == expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([[0, 1], [2, 3], [4, 5]], [0, 2, 5]),
        ([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], [0, 5, 11]),
        ([[0, 2, 4], [1, 3, 5]], [0, 5]),
        ([[0, 1, 2, 3, 4, 5]], [2]),
        ([[0], [1], [2]], [0, 1, 2]),
    ],
)
def test_the_layers_groups_begin_as_are_spread_over_the_depth(groups, expected):
    assert spread(groups) == expected


@pytest.mark.parametrize("family", SERVED)
def test_a_saved_one_answers_as_before_is_smaller_and_still_shares(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    shared = LayerSharing(groups=2, order="cycle").apply(encoder, make_bench(encoder))
    saved = file_size(encoder, tmp_path / "base") - file_size(shared, tmp_path / "shared")
    # The file's own header names fewer tensors as well.
    assert 0 <= saved - 4 * 2 * sum(MATRICES.values()) < 2500
    again = Encoder.load(tmp_path / "shared")
    assert common(again, 0, 2) == common(again, 1, 3) == matrices(encoder)
    assert again.runtime.parameters() == shared.runtime.parameters()
    np.testing.assert_array_equal(answers(again), answers(shared))


@pytest.mark.parametrize("family", SERVED)
def test_after_training_layers_still_share_and_a_saved_one_answers_as_before(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    bench = make_bench(encoder)
    shared = LayerSharing(groups=2).apply(encoder, bench)
    learn, select = (lesson(bench.tokens(encoder, rows), rows) for rows in (bench.data.train, bench.data.select))
    job = Job(bench.data.task, Training(epochs=0.2, learning_rate=1e-3, batch_size=16, evaluations=2), 0, "tiny")
    model = train(copy.deepcopy(shared.model), learn, select, job, tmp_path / "workplace", bench.progress).model
    trained = shared.evolve(model, by=LayerSharing(groups=2), detail=shared.lineage.steps[-1].detail)
    assert common(trained, 0, 1) == common(trained, 2, 3) == matrices(encoder)
    before, after = parameters(shared, 1), parameters(trained, 1)
    assert not any(torch.equal(after[name], before[name]) for name in matrices(encoder))
    file_size(trained, tmp_path / "saved")
    again = Encoder.load(tmp_path / "saved")
    np.testing.assert_array_equal(answers(again), answers(trained))


def test_a_copy_still_shares(lively, make_bench):
    encoder = lively("bert")
    shared = LayerSharing(groups=2).apply(encoder, make_bench(encoder))
    twin = replace(shared, runtime=type(shared.runtime)(copy.deepcopy(shared.model)))
    assert common(twin, 0, 1) == matrices(encoder)
    assert twin.runtime.parameters() == shared.runtime.parameters()
    assert parameters(twin, 0)["output.dense.weight"] is not parameters(shared, 0)["output.dense.weight"]


@pytest.mark.parametrize("family", SERVED)
def test_its_graph_agrees_with_it_and_holds_shared_matrices_once(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    shared = LayerSharing(groups=1, order="cycle").apply(encoder, make_bench(encoder))
    graph = replace(shared, runtime=OnnxRuntime(export_onnx(shared, tmp_path / "shared")))
    np.testing.assert_allclose(answers(graph), answers(shared), atol=1e-4)
    export_onnx(encoder, tmp_path / "base")
    base_file, shared_file = (tmp_path / name / "model.onnx" for name in ("base", "shared"))
    base_held, held = (len(onnx.load(path).graph.initializer) for path in (base_file, shared_file))
    # Six matrices of each of the three layers that hold none of their own any more.
    assert base_held - held == 3 * 6
    saved = base_file.stat().st_size - shared_file.stat().st_size
    assert saved == pytest.approx(4 * 3 * sum(MATRICES.values()), rel=0.03)
    assert OnnxRuntime(tmp_path / "base").parameters() - graph.runtime.parameters() == 3 * sum(MATRICES.values())


def test_dropping_layers_of_a_shared_encoder_leaves_the_others_sharing_and_reloads(lively, make_bench, tmp_path):
    encoder = lively("bert")
    bench = make_bench(encoder)
    shorter = LayerDrop(keep=(1, 2, 3)).apply(LayerSharing(groups=2).apply(encoder, bench), bench)
    shorter.save(tmp_path)
    again = Encoder.load(tmp_path)
    assert common(again, 1, 2) == matrices(encoder)
    assert not common(again, 0, 1)
    np.testing.assert_array_equal(answers(again), answers(shorter))


def test_dropped_then_shared_then_factorized_reloads_and_int8_on_top_does_too(lively, make_bench, tmp_path):
    encoder = lively("bert")
    steps = (LayerDrop(keep=(0, 1, 3)), LayerSharing(groups=2), EmbeddingFactorization(rank=8))
    sketch, made = BERT, encoder
    for step in steps:
        sketch = check_fit(step, sketch)
        made = step.apply(made, make_bench(encoder))
    file_size(made, tmp_path / "torch")
    again = Encoder.load(tmp_path / "torch")
    assert [step.use for step in again.lineage.steps] == ["layer-drop", "layer-sharing", "embedding-factorization"]
    assert (sketch.layers, sketch.traits) == (3, {"shared", "factorized"})
    np.testing.assert_array_equal(answers(again), answers(made))
    check_fit(Int8Dynamic(), sketch)
    graph = Int8Dynamic().apply(again, make_bench(encoder))
    (tmp_path / "int8").mkdir()
    graph.save(tmp_path / "int8")
    reloaded = Encoder.load(tmp_path / "int8")
    assert reloaded.runtime.name == "onnxruntime"
    np.testing.assert_array_equal(answers(reloaded), answers(graph))
    np.testing.assert_allclose(answers(reloaded), answers(made), atol=0.1 * np.abs(answers(made)).max())


def test_more_groups_than_layers_are_refused_at_plan_time():
    assert check_fit(LayerSharing(groups=4), BERT).traits == {"shared"}
    with pytest.raises(PlanError, match="groups: 4 layers cannot make 5 groups; give at most 4"):
        check_fit(LayerSharing(groups=5), BERT)
    shorter = check_fit(LayerDrop(keep=(0, 3)), BERT)
    with pytest.raises(PlanError, match="groups: 2 layers cannot make 3 groups"):
        check_fit(LayerSharing(groups=3), shorter)


def test_sharing_what_is_already_shared_is_refused():
    with pytest.raises(PlanError, match="already shared"):
        check_fit(LayerSharing(), check_fit(LayerSharing(), BERT))
    with pytest.raises(PlanError, match="cannot handle family 'albert'; it handles bert, roberta, distilbert"):
        check_fit(LayerSharing(), replace(BERT, family="albert", groups=1))


def test_a_graph_has_no_layers_to_share():
    with pytest.raises(PlanError, match="already turned into a runtime graph"):
        check_fit(LayerSharing(), BERT.with_traits("graph"))


@pytest.mark.parametrize("options", [{"groups": 0}, {"order": "reverse"}, {"share": "norms"}, {"init": "first"}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ValidationError):
        LayerSharing(**options)
