"""Pruning: how many stay, which they are, and what is known of it before."""

from dataclasses import replace

import numpy as np
import pytest

from workbench.errors import PlanError
from workbench.pruning import Quota, foretold, most_important
from workbench.sketch import Sketch

BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")


def weights(*values):
    return [np.asarray(found, np.float64) for found in values]


@pytest.mark.parametrize(
    ("share", "multiple", "given", "kept"),
    [
        (0.5, 1, 12, 6),
        (0.5, 32, 1536, 768),
        (0.51, 32, 1536, 768),
        (0.3, 64, 1536, 448),
        (0.01, 1, 12, 1),
        (0.01, 32, 1536, 32),
        (0.5, 128, 64, 64),
        # The last lot of a width that is no multiple is short.
        (1.0, 32, 100, 100),
        (0.99, 32, 100, 100),
        (0.75, 32, 100, 96),
    ],
)
def test_a_share_of_a_layer_is_whole_lots_and_at_least_one(share, multiple, given, kept):
    assert Quota(share=share, multiple=multiple).even(given) == kept


def test_a_number_is_that_number_in_every_layer_and_passes_approach_it():
    quota = Quota(number=5, multiple=32)
    assert quota.counts([12, 12], []) == [5, 5]
    assert [quota.even(12, done) for done in (0.25, 0.5, 0.75, 1.0)] == [10, 8, 7, 5]
    assert [Quota(share=0.25, multiple=32).even(256, done) for done in (0.5, 1.0)] == [160, 64]


def test_globally_the_most_important_stay_wherever_they_are():
    found = weights([9, 8, 7, 1], [3, 2, 6, 5], [0.3, 0.2, 0.1, 0.4])
    assert Quota(share=0.5, spread="global").counts([4, 4, 4], found) == [3, 2, 1]
    assert Quota(share=1.0, spread="global").counts([4, 4, 4], found) == [4, 4, 4]
    # However small the share, every layer keeps one.
    assert Quota(share=0.01, spread="global").counts([4, 4, 4], found) == [1, 1, 1]


def test_globally_lots_are_judged_by_their_mean_and_a_short_one_is_not_wronged():
    found = weights([9, 1, 1, 1, 5], [6, 5, 4, 4, 0])
    # The lots are (9, 5), (1, 1), (1) and (6, 5), (4, 4), (0).
    assert Quota(share=0.5, spread="global", multiple=2).counts([5, 5], found) == [2, 4]
    assert Quota(share=0.67, spread="global", multiple=2).counts([5, 5], found) == [4, 4]
    assert Quota(share=0.84, spread="global", multiple=2).counts([5, 5], found) == [5, 4]


def test_in_later_passes_a_share_is_still_one_of_what_there_was_at_first():
    left = weights([9, 8, 7], [3, 2])
    assert Quota(share=0.25, spread="global").counts([4, 4], left, done=2 / 3) == [3, 1]
    assert Quota(share=0.25, spread="global").counts([4, 4], left) == [1, 1]


def test_the_most_important_of_each_layer_keep_their_order_and_the_first_of_equals_stays():
    assert most_important(weights([1, 9, 5, 7], [2, 2, 2, 2]), [2, 3]) == [[1, 3], [0, 1, 2]]


@pytest.mark.parametrize(("block", "size"), [("attention", "heads"), ("ffn", "ffn")])
def test_an_even_share_is_foretold_in_the_outline(block, size):
    there = getattr(BERT, size)
    assert foretold(BERT, block, Quota(share=0.5), "number") == replace(BERT, **{size: there // 2})
    assert foretold(BERT, block, Quota(number=3), "number") == replace(BERT, **{size: 3})
    assert foretold(BERT, block, Quota(number=there), "number") == BERT


def test_a_global_share_leaves_layers_uneven_unless_there_is_one_set_of_them():
    quota = Quota(share=0.5, spread="global")
    assert foretold(BERT, "ffn", quota, "width") == BERT.with_traits("uneven in neurons")
    assert foretold(BERT, "attention", quota, "heads") == BERT.with_traits("uneven in heads")
    albert = replace(BERT, family="albert", groups=1)
    assert foretold(albert, "ffn", quota, "width") == replace(albert, ffn=32)


def test_more_than_there_are_are_refused_and_of_uneven_layers_any_number():
    with pytest.raises(PlanError, match="heads: 5 heads cannot stay, each layer has 4"):
        foretold(BERT, "attention", Quota(number=5), "heads")
    with pytest.raises(PlanError, match="width: layers already differ in their neurons; give share"):
        foretold(BERT.with_traits("uneven in neurons"), "ffn", Quota(number=5), "width")
    uneven = BERT.with_traits("uneven in neurons")
    assert foretold(uneven, "ffn", Quota(share=0.5), "width") == uneven
    assert foretold(uneven, "attention", Quota(number=2), "heads") == replace(uneven, heads=2)
