"""Magnitude pruning: the smallest weights are zero, everything else is as it was, and every record says so."""

import math

import numpy as np
import pytest
import torch
from graphs import WIDE, answers, bench_for, lively_encoder
from kept_runs import keep_run
from pydantic import ValidationError
from tiny import FAMILIES

from strategies.distillation import Distillation
from strategies.embedding_factorization import EmbeddingFactorization
from strategies.finetune import Finetune
from strategies.int8_dynamic import Int8Dynamic
from strategies.int8_static import Int8Static
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.magnitude_pruning import MagnitudePruning
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from strategies.openvino_int8 import OpenVinoInt8
from workbench.cache import Cache
from workbench.compare import Comparison
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import word_table
from workbench.probes.probe import Subject
from workbench.probes.size import Size
from workbench.runtimes.parts import part_named
from workbench.sketch import QUANTIZED_TABLE, Sketch
from workbench.store import RunStore
from workbench.strategy import check_fit

BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")
GRAPHS = (OnnxGraph(), OpenVinoGraph())
INT8 = (Int8Dynamic(), Int8Static(rows=16), OpenVinoInt8(rows=16))


def pruned(encoder, make_bench, **options):
    return MagnitudePruning(**options).apply(encoder, make_bench(encoder))


def zeroed(tensor):
    return int((tensor == 0).sum())


def matrices(encoder, part="encoder"):
    """The matrices of a part by name; shared ones once."""
    named = encoder.model.named_parameters()
    return {name: tensor.detach() for name, tensor in named if tensor.dim() == 2 and part_named(name) == part}


def sizes(tensors):
    return torch.cat([tensor.abs().flatten() for tensor in tensors])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_share_of_all_matrices_together_is_zero_and_nothing_else_changed(family, share, lively, make_bench):
    encoder = lively(family)
    small = pruned(encoder, make_bench, share=share)
    before, after = encoder.model.state_dict(), small.model.state_dict()
    chosen = matrices(small)
    total = sum(tensor.numel() for tensor in chosen.values())
    assert sum(map(zeroed, chosen.values())) == int(share * total)
    for name, tensor in after.items():
        left = tensor != 0 if name in chosen else torch.ones_like(tensor, dtype=torch.bool)
        assert torch.equal(tensor[left], before[name][left])


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_zero_was_smaller_than_what_is_not(family, lively, make_bench):
    encoder = lively(family)
    before, after = matrices(encoder), matrices(pruned(encoder, make_bench, share=0.3))
    gone = sizes(before[name][after[name] == 0] for name in before)
    left = sizes(before[name][after[name] != 0] for name in before)
    assert gone.max() < left.min()


@pytest.mark.parametrize("family", FAMILIES)
def test_by_layer_every_matrix_loses_the_same_share_of_its_smallest(family, lively, make_bench):
    encoder = lively(family)
    before, after = matrices(encoder), matrices(pruned(encoder, make_bench, share=0.25, scope="layer"))
    for name, tensor in after.items():
        assert zeroed(tensor) == tensor.numel() // 4
        assert before[name][tensor == 0].abs().max() < before[name][tensor != 0].abs().min()


def test_globally_a_matrix_of_small_weights_loses_more_and_the_record_says_how_much(lively, make_bench):
    encoder = lively("bert")
    with torch.no_grad():
        encoder.model.bert.encoder.layer[0].attention.self.query.weight.mul_(0.01)
    small = pruned(encoder, make_bench, share=0.2)
    detail = small.lineage.steps[-1].detail
    shares = [zeroed(tensor) / tensor.numel() for tensor in matrices(small).values()]
    assert (detail["lowest_share"], detail["highest_share"]) == (min(shares), max(shares))
    assert max(shares) > 0.95
    assert min(shares) < 0.25


@pytest.mark.parametrize("family", FAMILIES)
def test_embeddings_are_chosen_from_only_if_asked_for(family, lively, make_bench):
    encoder = lively(family)
    without = pruned(encoder, make_bench, scope="layer")
    assert sum(map(zeroed, matrices(without, "embeddings").values())) == 0
    having = pruned(encoder, make_bench, scope="layer", embeddings=True)
    tables = matrices(having, "embeddings")
    assert len(tables) >= 2
    assert all(zeroed(table) == table.numel() // 2 for table in tables.values())
    assert sum(map(zeroed, matrices(having, "head").values())) == 0


def test_the_record_says_zeroed_not_removed(lively, make_bench):
    encoder = lively("bert")
    detail = pruned(encoder, make_bench).lineage.steps[-1].detail
    # Four layers of four square and two oblong matrices.
    weights = 4 * (4 * 32 * 32 + 2 * 32 * 64)
    assert detail["effect"] == "zeroed, not removed"
    assert (detail["zeroed"], detail["weights"]) == (weights // 2, weights)


@pytest.mark.parametrize("family", FAMILIES)
def test_neither_the_file_nor_the_parameters_get_fewer(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    found = {}
    for name, made in {"given": encoder, "pruned": pruned(encoder, make_bench)}.items():
        (tmp_path / name).mkdir()
        made.save(tmp_path / name)
        found[name] = (tmp_path / name / "model.safetensors").stat().st_size, made.runtime.parameters()
    assert found["given"] == found["pruned"]


def test_shared_matrices_are_counted_once_and_stay_shared(lively, make_bench, tmp_path):
    encoder = lively("bert")
    shared = LayerSharing(groups=2).apply(encoder, make_bench(encoder))
    small = pruned(shared, make_bench)
    weights = 2 * (4 * 32 * 32 + 2 * 32 * 64)
    assert small.lineage.steps[-1].detail["weights"] == weights
    assert small.runtime.inventory().zeroed - shared.runtime.inventory().zeroed == weights // 2
    assert small.runtime.parameters() == shared.runtime.parameters()
    small.save(tmp_path)
    again = Encoder.load(tmp_path)
    assert again.runtime.inventory() == small.runtime.inventory()
    np.testing.assert_array_equal(answers(again), answers(small))


def test_pruning_twice_comes_to_the_larger_share(lively, make_bench):
    encoder = lively("bert")
    once = pruned(encoder, make_bench, share=0.6)
    for first, second in ((0.3, 0.6), (0.6, 0.3)):
        twice = pruned(pruned(encoder, make_bench, share=first), make_bench, share=second)
        np.testing.assert_array_equal(answers(twice), answers(once))


def test_a_share_too_small_for_one_weight_zeroes_none(lively, make_bench):
    encoder = lively("bert")
    same = pruned(encoder, make_bench, share=1e-6)
    assert same.runtime.inventory() == encoder.runtime.inventory()


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, math.nan])
def test_shares_that_are_none_are_refused(share):
    with pytest.raises(ValidationError, match="share"):
        MagnitudePruning(share=share)


@pytest.mark.parametrize("step", [Finetune(), Distillation()], ids=lambda step: step.name)
def test_training_after_it_is_refused_because_it_would_fill_the_zeroes(step):
    sketch = check_fit(MagnitudePruning(), BERT)
    with pytest.raises(PlanError, match=r"already zeroed \(its zeroes would be filled again\); move it before"):
        check_fit(step, sketch)


def test_a_word_table_in_few_bits_is_not_chosen_from():
    sketch = BERT.with_traits(QUANTIZED_TABLE)
    check_fit(MagnitudePruning(), sketch)
    with pytest.raises(PlanError, match="embeddings: the word table is already quantized"):
        check_fit(MagnitudePruning(embeddings=True), sketch)


def test_after_other_steps_it_reloads_in_every_runtime_with_its_zeroes(lively, make_bench, tmp_path):
    encoder = lively("roberta")
    sketch, small = Sketch(**{**vars(BERT), "family": "roberta"}), encoder
    for step in (LayerDrop(keep=(0, 3)), EmbeddingFactorization(rank=8), MagnitudePruning(embeddings=True)):
        sketch, small = check_fit(step, sketch), step.apply(small, make_bench(encoder))
    assert zeroed(word_table(small.model).narrow.weight) > 0
    for name, form in {"torch": None, **{form.name: form for form in GRAPHS}}.items():
        (tmp_path / name).mkdir()
        (form.apply(small, make_bench(encoder)) if form else small).save(tmp_path / name)
        again = Encoder.load(tmp_path / name)
        np.testing.assert_allclose(answers(again), answers(small), atol=1e-4)
        assert again.runtime.inventory().zeroed == small.runtime.inventory().zeroed
        assert again.runtime.parameters() == small.runtime.parameters()


@pytest.mark.parametrize("form", INT8, ids=lambda form: form.name)
@pytest.mark.parametrize("family", ["bert", "albert"])
def test_zeroes_stay_zeroes_in_int8(family, form, tiny_task, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_task, **WIDE)
    small = MagnitudePruning().apply(encoder, bench_for(encoder, tiny_task, tmp_path / "pruned"))
    graph = form.apply(small, bench_for(encoder, tiny_task, tmp_path / "int8")).runtime.inventory()
    zeroes = small.runtime.inventory().of("encoder").zeroed
    # Rounding to whole steps may make some more of them, never less.
    assert zeroes <= graph.of("encoder").zeroed <= 1.01 * zeroes


def weighed(encoder, data, folder):
    """What the size probe says of a saved and reloaded encoder."""
    (folder / "artifact").mkdir(parents=True)
    encoder.save(folder / "artifact")
    again = Encoder.load(folder / "artifact")
    subject = Subject(again, folder / "artifact", data.task, data.tests, None, folder, Cache(folder / "cache"))
    return [found.model_dump(mode="json") for found in Size().measure(subject)]


def test_the_records_of_real_encoders_make_a_comparison_say_zeroed_not_removed(lively, make_bench, tmp_path):
    encoder = lively("bert")
    data = make_bench(encoder).data
    store = RunStore(tmp_path / "store")
    store.prepare()
    made = {
        "baseline": encoder,
        "pruned": pruned(encoder, make_bench),
        "hardly": pruned(encoder, make_bench, share=0.01),
        "short": LayerDrop().apply(encoder, make_bench(encoder)),
    }
    for name, variant in made.items():
        keep_run(store, variant, name, data, measurements=weighed(variant, data, tmp_path / name))
    runs, _ = store.runs()
    (step,) = next(run.steps for run in runs if run.recipe.name == "pruned")
    assert step.detail["effect"] == "zeroed, not removed"
    lines = {line.recipe: line for line in Comparison.of(runs[0].study, runs).lines}
    inventory = made["pruned"].runtime.inventory()
    share = inventory.zeroed / inventory.total
    assert lines["pruned"].zeroed == share > 0.3
    told = {name: text for name, line in lines.items() for text in line.caveats if "zeroed" in text}
    warned = (
        f"{100 * share:.0f} % of its parameters are zeroed, not removed: they take their space and time all the same"
    )
    assert told == {"pruned": warned}
