"""Head pruning: the least important heads are gone, layer by layer, in torch, after reloading, and in graphs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from graphs import answers
from pydantic import ValidationError
from tiny import FAMILIES

from strategies.distillation import Distillation
from strategies.embedding_factorization import EmbeddingFactorization
from strategies.ffn_pruning import FfnPruning
from strategies.finetune import Finetune
from strategies.head_pruning import HeadPruning
from strategies.last_layer_cls_only import LastLayerClsOnly
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import family_of, layers_of, part, quantity
from workbench.narrowing import counts_of, units_of
from workbench.sketch import Sketch
from workbench.strategy import check_fit

BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")


def detail(encoder):
    return encoder.lineage.steps[-1].detail


@pytest.mark.parametrize("family", FAMILIES)
def test_keeping_every_head_is_exact_to_rounding_and_said(family, lively, stepped):
    before = answers(lively(family))
    same = stepped(family, HeadPruning(share=1.0))
    np.testing.assert_allclose(answers(same), before, atol=1e-5)
    assert detail(same)["remark"] == "nothing was pruned: every head stays"
    assert detail(same)["importance_kept"] == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_a_head_that_does_nothing_goes_first(family, lively, make_bench):
    encoder = lively(family)
    silent = [(2 * entry + 1) % 4 for entry in range(len(layers_of(encoder.model)))]
    for units, head in zip(units_of(encoder.model, "attention"), silent, strict=True):
        with torch.no_grad():
            units.reader.weight[:, head * units.size : (head + 1) * units.size] = 0
    smaller = HeadPruning(heads=3).apply(encoder, make_bench(encoder))
    assert detail(smaller)["kept"] == [[head for head in range(4) if head != gone] for gone in silent]
    assert detail(smaller)["importance_kept"] == 1
    np.testing.assert_allclose(answers(smaller), answers(encoder), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_heads_are_really_gone_and_each_layer_knows_how_many_it_has(family, stepped):
    smaller = stepped(family, HeadPruning(heads=1))
    family_map = family_of(smaller.model.config)
    for layer in layers_of(smaller.model):
        attention = part(layer, family_map.attention)
        assert [getattr(attention, name) for name in family_map.head_numbers] == [1, 8]
        assert {part(attention, name).weight.shape for name in family_map.projections} == {(8, 32)}
        assert part(layer, family_map.attention_output).weight.shape == (32, 8)
    assert quantity(smaller.model.config, "num_attention_heads") == 1
    assert not smaller.lineage.portable


def test_globally_layers_keep_what_the_loss_minds_most_and_never_nothing(lively, make_bench):
    encoder = lively("bert")
    with torch.no_grad():
        units_of(encoder.model, "attention")[1].reader.weight.mul_(1e-3)
    smaller = HeadPruning(share=0.5, spread="global").apply(encoder, make_bench(encoder))
    heads = detail(smaller)["heads"]
    assert heads == counts_of(smaller.model, "attention")
    assert (sum(heads), heads[1]) == (8, 1)
    assert quantity(smaller.model.config, "num_attention_heads") == 4


def test_refitting_makes_up_for_missing_heads(stepped):
    made = detail(stepped("bert", HeadPruning(heads=2)))
    assert all(after < before for before, after in zip(made["error_cut"], made["error_refit"], strict=True))
    assert not {"error_cut", "error_refit"} & set(detail(stepped("bert", HeadPruning(heads=2, refit=False))))


def test_in_several_passes_heads_go_one_by_one_and_are_named_by_their_first_places(stepped):
    once, thrice = (stepped("bert", HeadPruning(heads=1, passes=passes)) for passes in (1, 3))
    assert detail(once)["heads"] == detail(thrice)["heads"] == [1] * 4
    assert all(0 <= head < 4 for (head,) in detail(thrice)["kept"])
    assert not np.array_equal(answers(once), answers(thrice))


@pytest.mark.parametrize("family", FAMILIES)
def test_uneven_layers_answer_as_before_after_reloading(family, stepped, tmp_path):
    smaller = stepped(family, HeadPruning(share=0.6, spread="global", refit=False), HeadPruning(share=0.9))
    smaller.save(tmp_path)
    again = Encoder.load(tmp_path)
    assert counts_of(again.model, "attention") == counts_of(smaller.model, "attention")
    np.testing.assert_array_equal(answers(again), answers(smaller))


def test_uneven_layers_can_be_dropped_and_trained_and_reload(stepped, tmp_path):
    uneven = HeadPruning(share=0.5, spread="global", refit=False)
    steps = (uneven, LayerDrop(keep=(1, 3)), Finetune(epochs=0.2, learning_rate=1e-3, evaluations=1))
    shorter = stepped("bert", *steps)
    heads = shorter.lineage.steps[0].detail["heads"]
    assert counts_of(shorter.model, "attention") == [heads[1], heads[3]]
    shorter.save(tmp_path)
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path)), answers(shorter))


@pytest.mark.parametrize("heads", [1, 3])
def test_a_student_without_all_its_heads_can_learn_the_relations_of_a_teacher_that_has_them(heads, lively, make_bench):
    encoder = lively("bert")
    fewer = HeadPruning(heads=heads).apply(encoder, make_bench(encoder))
    lesson = Distillation(epochs=0.2, evaluations=1, soft=0, hard=0, relations=1.0)
    for student, teacher in ((fewer, encoder), (encoder, fewer)):
        taught = lesson.apply(student, make_bench(teacher))
        assert not np.array_equal(answers(taught), answers(student))


@pytest.mark.parametrize("family", ["bert", "distilbert", "albert"])
def test_after_all_other_steps_it_reloads_and_both_graphs_agree(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    bench = make_bench(encoder)
    steps = [
        LayerDrop(layers=3),
        HeadPruning(share=0.6, spread="global"),
        FfnPruning(share=0.6, spread="global", multiple=8),
        EmbeddingFactorization(rank=8),
        Finetune(epochs=0.2, learning_rate=1e-3, evaluations=1),
        LastLayerClsOnly(),
    ]
    sketch, made = replace(BERT, family=family, groups=int(family == "albert")), encoder
    for step in steps:
        sketch = check_fit(step, sketch)
        made = step.apply(made, bench)
    made.save(tmp_path)
    again = Encoder.load(tmp_path)
    np.testing.assert_array_equal(answers(again), answers(made))
    for graph in (OnnxGraph(), OpenVinoGraph()):
        check_fit(graph, sketch)
        np.testing.assert_allclose(answers(graph.apply(again, make_bench(encoder))), answers(made), atol=1e-4)


def test_even_layers_can_be_shared_afterwards_and_uneven_ones_are_refused(stepped, tmp_path):
    shared = stepped("bert", HeadPruning(heads=2), LayerSharing(groups=2))
    shared.save(tmp_path)
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path)), answers(shared))
    check_fit(LayerSharing(), check_fit(HeadPruning(heads=2), BERT))
    with pytest.raises(PlanError, match="already uneven in heads; move it before that step"):
        check_fit(LayerSharing(), check_fit(HeadPruning(spread="global"), BERT))


@pytest.mark.parametrize(
    ("trait", "said"),
    [
        ("graph", "turned into a runtime graph"),
        ("quantized", "quantized"),
        ("shared", "shared"),
        ("cls-only", "cls-only"),
        ("zeroed", "zeroed"),
    ],
)
def test_what_pruning_would_undo_or_cannot_see_is_refused(trait, said):
    for step in (HeadPruning(), FfnPruning()):
        with pytest.raises(PlanError, match=f"already {said}"):
            check_fit(step, BERT.with_traits(trait))


def test_the_outline_tells_how_many_heads_stay():
    assert check_fit(HeadPruning(), BERT).heads == 2
    assert check_fit(HeadPruning(heads=3), BERT).heads == 3
    assert check_fit(HeadPruning(share=0.01), BERT).heads == 1
    with pytest.raises(PlanError, match="heads: 5 heads cannot stay, each layer has 4"):
        check_fit(HeadPruning(heads=5), BERT)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"heads": 0}, "heads"),
        ({"share": 0}, "share"),
        ({"share": 1.1}, "share"),
        ({"passes": 0}, "passes"),
        ({"ridge": 0}, "ridge"),
        ({"ridge": float("inf")}, "ridge"),
        ({"rows": 1}, "rows"),
        ({"spread": "random"}, "spread"),
        ({"heads": 2, "share": 0.5}, "not both"),
        ({"heads": 2, "spread": "global"}, "not both"),
    ],
)
def test_senseless_options_are_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        HeadPruning(**options)
