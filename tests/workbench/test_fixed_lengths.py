"""Texts leave their padding behind, and no text gets a length beyond what a model has positions for."""

import numpy as np
import pytest

from workbench.runtimes.fixed_lengths import LENGTHS, fixed_length, one_by_one

BATCH = {
    "input_ids": np.array([[5, 6, 7, 8], [5, 6, 1, 1]]),
    "attention_mask": np.array([[1, 1, 1, 1], [1, 1, 0, 0]]),
    "token_type_ids": np.array([[0, 0, 1, 1], [0, 1, 0, 0]]),
}


@pytest.mark.parametrize(
    ("length", "most", "fixed"),
    [
        (1, 128, 8),
        (8, 128, 8),
        (9, 128, 16),
        (65, 128, 80),
        (121, 128, 128),
        (61, 61, 61),
        (50, 61, 56),
        (62, 61, None),
    ],
)
def test_the_next_length_is_taken_or_all_the_model_has(length, most, fixed):
    assert fixed_length(length, most) == fixed


def test_lengths_ascend_and_texts_beyond_the_last_have_none():
    assert list(LENGTHS) == sorted(set(LENGTHS))
    assert fixed_length(LENGTHS[-1] + 1, 4096) is None


def test_texts_in_company_are_told_apart_without_their_padding():
    first, second = one_by_one(BATCH)
    assert {name: values.tolist() for name, values in first.items()} == {
        name: [values[0].tolist()] for name, values in BATCH.items()
    }
    assert {name: values.tolist() for name, values in second.items()} == {
        "input_ids": [[5, 6]],
        "attention_mask": [[1, 1]],
        "token_type_ids": [[0, 1]],
    }


@pytest.mark.parametrize("mask", [[0, 0, 1, 1], [1, 0, 1, 1], [0, 0, 0, 0]])
def test_texts_padded_elsewhere_are_left_together(mask):
    assert one_by_one({**BATCH, "attention_mask": np.array([[1, 1, 1, 1], mask])}) == []
