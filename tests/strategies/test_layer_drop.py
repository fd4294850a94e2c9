"""Layer dropping keeps what its policy says, and what it keeps is the model's own."""

import numpy as np
import pytest
import torch
from tiny import FAMILIES, LAYERS, study_of, write_base

from strategies.layer_drop import LayerDrop, fixed_choice
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import layers_of
from workbench.finetuned import OpenedBase
from workbench.plan import sketch_of
from workbench.sketch import Sketch
from workbench.strategy import check_fit


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("top", (0, 1, 2, 3, 4, 5)),
        ("bottom", (6, 7, 8, 9, 10, 11)),
        ("alternate", (0, 2, 4, 6, 8, 10)),
        ("symmetric", (0, 1, 2, 9, 10, 11)),
        ("distilbert", (0, 2, 4, 7, 9, 11)),
    ],
)
def test_six_of_twelve_are_the_published_choices(policy, kept):
    assert fixed_choice(policy, 12, 6) == kept


@pytest.mark.parametrize("policy", ["top", "bottom", "alternate", "symmetric", "distilbert"])
@pytest.mark.parametrize("wanted", [1, 2, 3, 4, 5, 6])
def test_a_fixed_choice_names_as_many_layers_as_wanted_in_order(policy, wanted):
    chosen = fixed_choice(policy, 6, wanted)
    assert len(chosen) == wanted
    assert list(chosen) == sorted(set(chosen))
    assert set(chosen) <= set(range(6))


@pytest.mark.parametrize("family", FAMILIES)
def test_keeping_all_layers_is_exact(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    bench = make_bench(encoder)
    same = LayerDrop(keep=tuple(range(LAYERS))).apply(encoder, bench)
    tokens = bench.tokens(encoder, bench.data.select)
    np.testing.assert_array_equal(same.logits(tokens), encoder.logits(tokens))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_the_kept_layers_are_the_named_ones(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    dropped = LayerDrop(keep=(1, 3)).apply(encoder, make_bench(encoder))
    for kept, original in zip(
        layers_of(dropped.model), [layers_of(encoder.model)[index] for index in (1, 3)], strict=True
    ):
        for ours, theirs in zip(kept.parameters(), original.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("policy", ["contribution", "search"])
def test_a_layer_that_does_nothing_is_the_first_to_go(policy, tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    idle = layers_of(encoder.model)[2]
    with torch.no_grad():
        for linear in (idle.attention.output.dense, idle.output.dense):
            linear.weight.zero_()
            linear.bias.zero_()
    dropped = LayerDrop(layers=LAYERS - 1, policy=policy).apply(encoder, make_bench(encoder))
    assert tuple(dropped.lineage.steps[-1].detail["keep"]) == (0, 1, 3)


def test_the_search_finds_the_least_divergent_of_all_subsets(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    bench = make_bench(encoder)
    tokens = bench.tokens(encoder, bench.data.calibrate)
    reference = encoder.logits(tokens)
    found = LayerDrop(layers=2, policy="search").apply(encoder, bench)
    divergences = {}
    for first in range(LAYERS):
        for second in range(first + 1, LAYERS):
            other = LayerDrop(keep=(first, second)).apply(encoder, bench)
            divergences[first, second] = bench.data.kind.divergence(other.logits(tokens), reference)
    detail = found.lineage.steps[-1].detail
    assert tuple(detail["keep"]) == min(divergences, key=divergences.__getitem__)
    assert detail["subsets_scored"] == len(divergences)


def test_a_deep_model_is_searched_with_a_beam(tiny_task, make_bench, tmp_path):
    base = write_base("bert", tmp_path, num_hidden_layers=9)
    encoder = OpenedBase.open(study_of(base, tiny_task)).untrained(tiny_task.declared(tmp_path), 0)
    found = LayerDrop(layers=4, policy="search", rows=8).apply(encoder, make_bench(encoder))
    detail = found.lineage.steps[-1].detail
    assert len(detail["keep"]) == 4
    assert detail["subsets_scored"] < 9 + 4 * (8 + 7 + 6 + 5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("policy", ["contribution", "search"])
def test_chosen_layers_survive_saving(family, policy, tiny_encoder, make_bench, tmp_path):
    encoder = tiny_encoder(family)
    bench = make_bench(encoder)
    dropped = LayerDrop(layers=2, policy=policy).apply(encoder, bench)
    dropped.save(tmp_path)
    tokens = bench.tokens(encoder, bench.data.select)
    np.testing.assert_array_equal(Encoder.load(tmp_path).logits(tokens), dropped.logits(tokens))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keep": (0, 9)}, "layer 9 does not exist; the encoder has layers 0 to 3"),
        ({"keep": (2, 1)}, "ascending order"),
        ({"layers": 7}, "7 cannot stay, the encoder has 4"),
    ],
)
def test_impossible_choices_are_refused_before_work(options, words, tiny_encoder, tiny_task, tmp_path):
    sketch = sketch_of(tiny_encoder("bert").model.config, tiny_task.declared(tmp_path))
    with pytest.raises(PlanError, match=words):
        check_fit(LayerDrop(**options), sketch)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_refitted_layers_come_closer_to_what_they_stand_in_for(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    bench = make_bench(encoder)
    tokens = bench.tokens(encoder, bench.data.select)
    wanted = encoder.logits(tokens)
    plain, refitted = (LayerDrop(keep=(0, 2), refit=refit).apply(encoder, bench) for refit in (False, True))
    kind = bench.data.kind
    assert kind.divergence(refitted.logits(tokens), wanted) < 0.5 * kind.divergence(plain.logits(tokens), wanted)
    detail = refitted.lineage.steps[-1].detail
    assert all(after < before for before, after in zip(detail["error_cut"], detail["error_refit"], strict=True))
    assert refitted.lineage.stands_for == [1, 3]
    assert plain.lineage.stands_for is None
    np.testing.assert_array_equal(encoder.logits(tokens), wanted)
    refitted.save(tmp_path)
    np.testing.assert_array_equal(Encoder.load(tmp_path).logits(tokens), refitted.logits(tokens))


def test_layers_can_be_refitted_only_where_classes_are_asked_for(tiny_encoder, tiny_task, tiny_regression, make_bench):
    refitted = {}
    for task in (tiny_task, tiny_regression):
        encoder = tiny_encoder("bert", task)
        dropped = LayerDrop(keep=(0, 2), refit="classes").apply(encoder, make_bench(encoder, task))
        refitted[task.kind] = "error_refit" in dropped.lineage.steps[-1].detail
    assert refitted == {"classification": True, "regression": False}
    with pytest.raises(ValueError, match="refit"):
        LayerDrop(refit="numbers")


def test_refitting_layers_that_miss_nobody_changes_nothing(lively, make_bench):
    encoder = lively("bert")
    bench = make_bench(encoder)
    tokens = bench.tokens(encoder, bench.data.select)
    idle = layers_of(encoder.model)[2]
    for module in (idle.attention.output.dense, idle.output.dense):
        torch.nn.init.zeros_(module.weight)
        torch.nn.init.zeros_(module.bias)
    # Norms of unit weight leave alone what was just normed.
    for norm in (layers_of(encoder.model)[1].output.LayerNorm, idle.attention.output.LayerNorm, idle.output.LayerNorm):
        torch.nn.init.ones_(norm.weight)
        torch.nn.init.zeros_(norm.bias)
    dropped = LayerDrop(keep=(0, 1, 3), refit=True).apply(encoder, bench)
    np.testing.assert_allclose(dropped.logits(tokens), encoder.logits(tokens), atol=1e-4)


def test_layers_refitted_after_others_went_do_not_say_what_of_the_base_they_stand_for(lively, make_bench):
    encoder = lively("bert")
    bench = make_bench(encoder)
    shorter = LayerDrop(keep=(0, 1, 3)).apply(encoder, bench)
    assert LayerDrop(keep=(0, 2), refit=True).apply(shorter, bench).lineage.stands_for is None


def test_layers_that_share_their_weights_are_not_refitted_and_say_so(lively, make_bench):
    encoder = lively("albert")
    bench = make_bench(encoder)
    plain, asked = (LayerDrop(layers=2, refit=refit).apply(encoder, bench) for refit in (False, True))
    tokens = bench.tokens(encoder, bench.data.select)
    np.testing.assert_array_equal(asked.logits(tokens), plain.logits(tokens))
    assert "share their weights" in asked.lineage.steps[-1].detail["remark"]


def test_list_number_and_share_exclude_each_other():
    for several in ({"keep": (0,), "layers": 1}, {"keep": (0,), "share": 0.5}, {"layers": 1, "share": 0.5}):
        with pytest.raises(ValueError, match="not several"):
            LayerDrop(**several)


@pytest.mark.parametrize(
    ("share", "count", "left"), [(0.67, 6, 4), (0.67, 12, 8), (0.5, 6, 3), (0.5, 5, 2), (0.01, 6, 1), (1.0, 6, 6)]
)
def test_a_share_of_the_layers_stays(share, count, left):
    sketch = Sketch(family="bert", layers=count, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")
    assert LayerDrop(share=share).check(sketch).layers == left
