"""Refit: least squares in closed form, nearer to the original than a plain cut, and no change where nothing lacks."""

import copy

import numpy as np
import pytest
import torch
from tiny import FAMILIES
from torch import nn

from workbench.families import layers_of
from workbench.importance import importance
from workbench.narrowing import narrowed, units_of
from workbench.pruning import most_important
from workbench.refit import Moments, refit
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.tokens import Tokens, tokenize
from workbench.training import lesson

BLOCKS = ("attention", "ffn")
ALL = {"attention": 4, "ffn": 64}


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def added_up(given, result, wanted, parts=3):
    moments = Moments.of(nn.Linear(given.shape[1], wanted.shape[1]))
    for chunk in zip(*(tensor.chunk(parts) for tensor in (given, result, wanted)), strict=True):
        moments.add(*chunk)
    return moments


@pytest.mark.parametrize("ridge", [1e-9, 0.01, 10.0])
def test_the_change_is_the_ridge_regression_of_what_lacks(ridge):
    given = numbers(200, 5) @ numbers(5, 5, seed=1) + 3
    result, wanted = numbers(200, 4, seed=2), numbers(200, 4, seed=3) + given @ numbers(5, 4, seed=4) - 7
    change, shift, misfit = added_up(given, result, wanted).solve(ridge)
    centred, lack = (found - found.mean(dim=0) for found in (given, wanted - result))
    held = ridge * float(centred.square().sum(dim=0).mean())
    stacked = np.vstack([centred, np.sqrt(held) * np.eye(5)])
    expected = np.linalg.lstsq(stacked, np.vstack([lack, np.zeros((5, 4))]), rcond=None)[0]
    np.testing.assert_allclose(change, expected, rtol=1e-6, atol=1e-9)
    left = wanted - (result + given @ change + shift)
    np.testing.assert_allclose(left.mean(dim=0), np.zeros(4), atol=1e-9)
    length = float(wanted.square().sum().sqrt())
    assert misfit.cut == pytest.approx(float((wanted - result).square().sum().sqrt()) / length)
    assert misfit.refit == pytest.approx(float(left.square().sum().sqrt()) / length)
    assert misfit.refit < misfit.cut


def test_an_exact_map_is_found_and_a_firm_ridge_moves_the_bias_alone():
    given = numbers(50, 3)
    matrix, bias = numbers(3, 2, seed=1), torch.tensor([5.0, -5.0], dtype=torch.float64)
    moments = added_up(given, torch.zeros(50, 2), given @ matrix + bias)
    change, shift, misfit = moments.solve(1e-12)
    torch.testing.assert_close(change, matrix)
    torch.testing.assert_close(shift, bias)
    assert misfit.refit < 1e-5
    change, shift, _ = moments.solve(1e12)
    assert float(change.abs().max()) < 1e-9
    torch.testing.assert_close(shift, (given @ matrix + bias).mean(dim=0))


def test_inputs_that_never_vary_or_are_too_few_leave_finite_numbers():
    still = added_up(torch.ones(6, 4), numbers(6, 2), numbers(6, 2, seed=1)).solve(0.01)
    assert float(still[0].abs().max()) == 0
    few = added_up(numbers(3, 8), numbers(3, 2, seed=1), numbers(3, 2, seed=2)).solve(0.01)
    assert all(bool(found.isfinite().all()) for found in few[:2])


@pytest.fixture
def cut(lively, make_bench):
    """Gives a lively encoder, its model cut to half by importance, and tokens to refit on and others to look at."""

    def give(family, block):
        encoder = lively(family)
        bench = make_bench(encoder)
        rows = bench.data.train
        learn = lesson(tokenize(encoder.tokenizer, rows[:100]), rows[:100])
        weights = importance(encoder.model, block, learn, bench.data.kind)
        model = narrowed(encoder.model, block, most_important(weights, [ALL[block] // 2] * len(weights)))
        return encoder, model, learn.tokens, tokenize(encoder.tokenizer, rows[100:])

    return give


class InOneBatch(Tokens):
    """Tokens whose short examples carry padding."""

    def buckets(self, budget=1024):
        yield np.arange(len(self))


def last_states(model, tokens):
    batch = {name: torch.from_numpy(values) for name, values in tokens.batch(range(len(tokens))).items()}
    with torch.no_grad():
        states = model(**TorchRuntime(model).accepted(batch), output_hidden_states=True).hidden_states[-1]
    return states[batch["attention_mask"].bool()]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_it_beats_a_plain_cut_in_every_layer_and_on_rows_it_did_not_see(family, block, cut):
    encoder, model, seen, unseen = cut(family, block)
    before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
    wanted = last_states(encoder.model, unseen)
    far = (last_states(model, unseen) - wanted).square().sum()
    misfits = refit(model, encoder.model, block, seen, 0.01)
    near = (last_states(model, unseen) - wanted).square().sum()
    assert len(misfits) == len(layers_of(model))
    assert all(0 < found.refit < found.cut for found in misfits)
    assert near < 0.9 * far
    after = encoder.model.state_dict()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_with_everything_kept_the_weights_stay_as_they_are(family, block, cut):
    encoder, _, seen, _ = cut(family, block)
    same = copy.deepcopy(encoder.model)
    assert {round(found.cut, 6) for found in refit(same, encoder.model, block, seen, 1e-4)} == {0}
    for ours, theirs in zip(same.state_dict().values(), encoder.model.state_dict().values(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_only_the_maps_that_read_are_changed(cut):
    encoder, model, seen, _ = cut("bert", "ffn")
    before = copy.deepcopy(model).state_dict()
    refit(model, encoder.model, "ffn", seen, 0.01)
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    layers = range(len(units_of(model, "ffn")))
    names = [f"bert.encoder.layer.{layer}.output.dense" for layer in layers]
    assert changed == {f"{name}.{part}" for name in names for part in ("weight", "bias")}


def test_padding_does_not_matter(cut):
    encoder, model, seen, _ = cut("bert", "ffn")
    twin = copy.deepcopy(model)
    wider = InOneBatch(seen.ids, seen.types, seen.starts, seen.pad_id)
    one, other = (refit(found, encoder.model, "ffn", given, 0.01) for found, given in ((model, seen), (twin, wider)))
    np.testing.assert_allclose(one, other, rtol=1e-4)
    assert [name for name, module in model.named_modules() if module._forward_pre_hooks] == []
