"""Timed answers are held against judged ones: the same, a change of mind on the fence, or another model."""

import math

import numpy as np
import pytest

from workbench.answers import compare_answers
from workbench.campaign import Answers


def compared(timed, judged) -> tuple[int, int]:
    found = compare_answers(timed, [np.asarray(row, np.float32) for row in judged])
    assert found.timed == len(timed)
    return found.differing, found.beyond_rounding


def test_the_same_outputs_are_the_same_answers():
    rows = [[2.0, -1.0], [-3.0, 0.5]]
    assert compare_answers(rows, rows) == Answers(timed=2, differing=0, beyond_rounding=0)


def test_outputs_that_moved_without_changing_the_answer_are_the_same_answers():
    assert compared([[0.1, 0.0], [-9.0, 5.0]], [[2.0, -1.0], [-3.0, 0.5]]) == (0, 0)


def test_a_change_of_mind_on_the_fence_is_rounding():
    judged = [[2.0, -2.0], [-2.0, 2.0], [0.05, 0.0]]
    assert compared([[2.0, -2.0], [-2.0, 2.0], [0.0, 0.01]], judged) == (1, 0)


def test_a_change_of_mind_from_a_firm_answer_is_not_rounding():
    judged = [[2.0, -2.0], [-2.0, 2.0], [0.05, 0.0]]
    assert compared([[-2.0, 2.0], [-2.0, 2.0], [0.0, 0.01]], judged) == (2, 1)


def test_the_margin_is_that_of_the_two_highest_of_several():
    judged = [[5.0, 4.9, -5.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0]]
    flipped = [[4.9, 5.0, -5.0], *judged[1:]]
    assert compared(flipped, judged) == (1, 0)
    assert compared([judged[0], judged[2], judged[2]], judged) == (1, 1)


def test_scores_that_differ_in_the_last_digits_are_the_same():
    judged = [[0.0], [1.0], [2.0], [3.0]]
    assert compared([[value + 1e-4] for (value,) in judged], judged) == (0, 0)


def test_scores_differ_and_go_beyond_rounding_by_a_share_of_their_spread():
    judged = [[0.0], [1.0], [2.0], [3.0]]
    spread = math.sqrt(1.25)
    timed = [[0.0], [1.0 + 0.02 * spread], [2.0 - 0.09 * spread], [3.0 + 0.11 * spread]]
    assert compared(timed, judged) == (3, 1)


def test_one_score_alone_is_held_against_one():
    assert compared([[5.0005]], [[5.0]]) == (0, 0)
    assert compared([[5.5]], [[5.0]]) == (1, 1)


@pytest.mark.parametrize("judged", [[[2.0, -2.0], [-2.0, 2.0]], [[0.0], [1.0]]])
def test_what_is_no_number_is_never_the_same_answer(judged):
    lost = [[math.nan] * len(judged[0]), judged[1]]
    assert compared(lost, judged) == (1, 1)
    assert compared(judged, judged) == (0, 0)


def test_a_quality_run_that_gave_no_number_either_is_answered_alike():
    judged = [[math.nan, math.nan], [-2.0, 2.0]]
    assert compared(judged, judged) == (0, 0)
