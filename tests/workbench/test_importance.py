"""Importance: the squared gradient of every row's own loss by a mask, whatever the family and the order of rows."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import FAMILIES

from workbench.importance import importance
from workbench.narrowing import units_of
from workbench.tasks.data import read_task
from workbench.tokens import tokenize
from workbench.training import Collator, lesson

BLOCKS = ("attention", "ffn")


def calibration(encoder, bench, count=6):
    rows = bench.data.calibrate[:count]
    return lesson(tokenize(encoder.tokenizer, rows), rows)


def by_hand(model, block, learn, kind):
    """Row by row, from the gradient of the matrix: to mask an input is to scale a column."""
    twin = copy.deepcopy(model)
    units = units_of(twin, block)
    collate = Collator(twin, kind)
    squares = []
    for row in range(len(learn.tokens)):
        twin.zero_grad()
        twin(**collate([(learn, row)])).loss.backward()
        squares.append([scaling(found).double().numpy() ** 2 for found in units])
    return [sum(rows) for rows in zip(*squares, strict=True)]


def scaling(units):
    """The gradient by a factor on the columns of each head or neuron."""
    weight = units.reader.weight
    return (weight * weight.grad).detach().sum(dim=0).view(units.count, units.size).sum(dim=1)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_the_squared_gradient_of_each_rows_own_loss(family, block, lively, make_bench):
    encoder = lively(family)
    bench = make_bench(encoder)
    learn = calibration(encoder, bench)
    found = importance(encoder.model, block, learn, bench.data.kind)
    expected = by_hand(encoder.model, block, learn, bench.data.kind)
    # ALBERT has one entry, whose mask all turns have in common.
    assert [len(weights) for weights in found] == ([4] if block == "attention" else [64]) * len(expected)
    assert len(found) == (1 if family == "albert" else 4)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.min() > 0
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def test_scores_are_judged_by_their_squared_distance(tiny_encoder, tiny_regression, make_bench):
    encoder = tiny_encoder("bert", tiny_regression)
    bench = make_bench(encoder, tiny_regression)
    learn = calibration(encoder, bench)
    found = importance(encoder.model, "ffn", learn, bench.data.kind)
    for ours, theirs in zip(found, by_hand(encoder.model, "ffn", learn, bench.data.kind), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def test_the_order_of_rows_does_not_matter(lively, tiny_task):
    encoder = lively("bert")
    data = read_task(tiny_task.declared(Path()))
    rows = data.calibrate[:20]
    found = [
        importance(encoder.model, "ffn", lesson(tokenize(encoder.tokenizer, given), given), data.kind)
        for given in (rows, rows[::-1])
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


@pytest.mark.parametrize("block", BLOCKS)
def test_what_nobody_reads_has_none(block, lively, make_bench):
    encoder = lively("bert")
    bench = make_bench(encoder)
    units = units_of(encoder.model, block)[2]
    with torch.no_grad():
        units.reader.weight[:, units.size : 2 * units.size] = 0
    found = importance(encoder.model, block, calibration(encoder, bench), bench.data.kind)
    assert [index for weights in found for index, weight in enumerate(weights) if weight == 0] == [1]
    assert found[2][1] == 0


def test_the_model_is_left_without_gradients_and_hooks_and_rows_are_counted(lively, make_bench):
    encoder = lively("distilbert")
    bench = make_bench(encoder)
    told = []
    importance(encoder.model, "attention", calibration(encoder, bench), bench.data.kind, told.append)
    assert told[-1] == 6
    assert [name for name, parameter in encoder.model.named_parameters() if parameter.grad is not None] == []
    assert [name for name, module in encoder.model.named_modules() if module._forward_pre_hooks] == []
