"""Narrowing: heads and neurons are really gone, and what is left is the model's own."""

import numpy as np
import pytest
import torch
from graphs import ROWS, tokens
from tiny import FAMILIES

from workbench.errors import PlanError
from workbench.families import family_of, layers_of, quantity
from workbench.narrowing import counts_of, narrowed, units_of
from workbench.runtimes.torch_runtime import TorchRuntime

BLOCKS = ("attention", "ffn")
ALL = {"attention": 4, "ffn": 64}


def answers(encoder, model):
    return TorchRuntime(model).logits(tokens(encoder).batch(range(len(ROWS))))


def silence(units, place):
    """Let nobody read a head or a neuron."""
    with torch.no_grad():
        units.reader.weight[:, place * units.size : (place + 1) * units.size] = 0


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_keeping_everything_changes_nothing(family, block, lively):
    encoder = lively(family)
    entries = len(layers_of(encoder.model))
    same = narrowed(encoder.model, block, [range(ALL[block])] * entries)
    np.testing.assert_array_equal(answers(encoder, same), answers(encoder, encoder.model))
    assert counts_of(same, block) == [ALL[block]] * entries


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_nobody_reads_can_go_unnoticed_from_each_layer_its_own(family, block, lively):
    encoder = lively(family)
    kept = []
    for layer, units in enumerate(units_of(encoder.model, block)):
        silent = range(1 + layer % 3)
        for place in silent:
            silence(units, place)
        kept.append([place for place in range(units.count) if place not in silent])
    before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
    smaller = narrowed(encoder.model, block, kept)
    np.testing.assert_allclose(answers(encoder, smaller), answers(encoder, encoder.model), atol=1e-5)
    assert counts_of(smaller, block) == [len(stay) for stay in kept]
    after = encoder.model.state_dict()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


@pytest.mark.parametrize("family", FAMILIES)
def test_the_matrices_get_smaller_by_what_is_gone(family, lively):
    encoder = lively(family)
    entries = len(layers_of(encoder.model))

    def lost(block, kept):
        smaller = narrowed(encoder.model, block, [kept] * entries)
        return TorchRuntime(encoder.model).parameters() - TorchRuntime(smaller).parameters()

    # A head of 8 numbers: three maps from 32 with biases, and one to 32. A neuron: the same with one map and one.
    assert lost("attention", [0, 3]) == entries * 2 * 8 * (3 * 33 + 32)
    assert lost("ffn", range(60)) == entries * 4 * (33 + 32)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_configuration_tells_what_all_layers_have_in_common(family, lively):
    model = lively(family).model
    entries = len(layers_of(model))
    assert quantity(narrowed(model, "ffn", [range(16)] * entries).config, "intermediate_size") == 16
    assert quantity(narrowed(model, "attention", [[1]] * entries).config, "num_attention_heads") == 1
    assert quantity(model.config, "intermediate_size") == 64
    if entries > 1:
        uneven = narrowed(model, "ffn", [range(16)] * (entries - 1) + [range(17)])
        assert quantity(uneven.config, "intermediate_size") == 64


@pytest.mark.parametrize("family", FAMILIES)
def test_it_can_be_done_again_to_what_is_left(family, lively):
    encoder = lively(family)
    entries = len(layers_of(encoder.model))
    twice = narrowed(narrowed(encoder.model, "attention", [[0, 2, 3]] * entries), "attention", [[1, 2]] * entries)
    once = narrowed(encoder.model, "attention", [[2, 3]] * entries)
    np.testing.assert_array_equal(answers(encoder, twice), answers(encoder, once))


def test_a_half_that_is_no_longer_one_matrix_is_refused(lively):
    model = lively("bert").model
    path = f"{family_of(model.config).layers}.1.output.dense"
    model.set_submodule(path, torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.Linear(4, 32)))
    with pytest.raises(PlanError, match=r"output\.dense is no longer one matrix"):
        narrowed(model, "ffn", [[0]] * 4)


def test_an_albert_with_several_layers_in_a_group_is_refused(lively):
    model = lively("albert").model
    model.config.inner_group_num = 2
    with pytest.raises(PlanError, match="only groups of one layer"):
        counts_of(model, "ffn")
