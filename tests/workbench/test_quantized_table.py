"""A quantized table: no number further than half a step from its own, looked up as it is stored, and told as it is."""

import numpy as np
import pytest
import torch
from torch import nn

from workbench.inventory import Weight
from workbench.quantized_table import CODES, EXPONENTS, MANTISSAS, QuantizedTable, quantized, table_weight

# Rows of whole groups, of a shorter last group, of odd length, and shorter than a group.
SHAPES = [(64, 16), (40, 16), (33, 8), (5, 64), (8, 8)]


def a_table(width, words=50, seed=0, padding_idx=None):
    """A table whose rows are of very different sizes and lean to either side."""
    generator = torch.Generator().manual_seed(seed)
    table = nn.Embedding(words, width, padding_idx=padding_idx)
    sizes = torch.logspace(-4, 2, words)[:, None]
    rows = sizes * (torch.randn(words, width, generator=generator) + torch.randn(words, 1, generator=generator))
    table.weight.data.copy_(rows)
    return table


def steps_of(module, group):
    """The step of each number of a table, with the sign of its group, by the definition."""
    mantissas, exponents = (getattr(module, name).double().numpy() - 128 for name in (MANTISSAS, EXPONENTS))
    return np.repeat(mantissas * 2.0**exponents, group, axis=1)[:, : module.embedding_dim]


def looked_up(module):
    return module(torch.arange(module.num_embeddings)).numpy()


def written_out(module, group):
    """The stored table by the definition: each code less the middle one, times the step of its group."""
    stored = getattr(module, CODES[module.bits]).numpy()
    codes = stored if module.bits == 8 else np.concatenate([stored % 16, stored // 16], axis=1)
    signed = codes[:, : module.embedding_dim].astype(np.float32) - {8: 128, 4: 8}[module.bits]
    return (signed * steps_of(module, group)).astype(np.float32)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("width", "group"), SHAPES)
def test_no_number_is_further_than_half_a_step_from_its_own(bits, width, group):
    table = a_table(width)
    module = QuantizedTable.of(table, bits, group)
    steps = np.abs(steps_of(module, group))
    missed = np.abs(looked_up(module) - table.weight.detach().numpy())
    assert (missed <= 0.5001 * steps).all()
    reach = np.abs(table.weight.detach().numpy()).max(axis=1)
    # A mantissa has seven bits and is rounded up.
    assert (steps.max(axis=1) <= (1 + 1 / 64) * reach / {8: 127.5, 4: 7.5}[bits]).all()


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("width", "group"), SHAPES)
def test_what_is_looked_up_are_rows_of_the_stored_table(bits, width, group):
    module = QuantizedTable.of(a_table(width), bits, group)
    whole = written_out(module, group)
    np.testing.assert_array_equal(looked_up(module), whole)
    ids = torch.tensor([[3, 49, 0], [7, 7, 12]])
    found = module(ids)
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(found.numpy(), whole[ids.numpy()])


def test_a_group_that_leans_to_one_side_has_the_code_more_on_that_side():
    rows = np.array([[8.0, -7.0, 1.0, 0.0], [-8.0, 7.0, -1.0, 0.0]], np.float32)
    module = QuantizedTable.of(nn.Embedding.from_pretrained(torch.from_numpy(rows)), 4, 4)
    # Eight and a half steps on the far side, seven and a half on the other.
    np.testing.assert_allclose(steps_of(module, 4)[:, 0], [-8 / 8.5, 8 / 8.5], rtol=1 / 64)


@pytest.mark.parametrize("bits", [8, 4])
def test_zero_stays_zero_and_so_does_a_row_of_zeroes(bits):
    table = a_table(32, padding_idx=4)
    table.weight.data[4] = 0
    table.weight.data[9, 5:20] = 0
    module = QuantizedTable.of(table, bits, 16)
    assert module.padding_idx == 4
    assert not looked_up(module)[4].any()
    assert not looked_up(module)[9, 5:20].any()
    empty = QuantizedTable.of(nn.Embedding.from_pretrained(torch.zeros(3, 32)), bits, 16)
    assert not looked_up(empty).any()


@pytest.mark.parametrize("width", [1, 2, 7, 8])
def test_two_codes_share_a_byte_and_come_out_as_they_went_in(width):
    # Every row reaches seven and a half steps of one, so that every whole number is its own count of steps.
    counts = np.arange(6 * width).reshape(6, width) % 15 - 7
    rows = np.concatenate([counts, np.full((6, 1), 7.5), np.full((6, 1), -7.5)], axis=1).astype(np.float32)
    module = QuantizedTable.of(nn.Embedding.from_pretrained(torch.from_numpy(rows)), 4, width + 2)
    stored = getattr(module, CODES[4]).numpy()
    assert stored.shape == (6, -(-(width + 2) // 2))
    codes = np.concatenate([stored % 16, stored // 16], axis=1)
    np.testing.assert_array_equal(codes[:, :width], counts + 8)
    np.testing.assert_array_equal(looked_up(module)[:, :width], counts)


def test_it_is_stored_in_as_many_bits_as_it_says():
    for bits, group, expected in ((8, 64, 8 + 16 / 64), (4, 64, 4 + 16 / 64), (4, 32, 4 + 16 / 32)):
        module = QuantizedTable.of(a_table(128), bits, group)
        assert 8 * sum(tensor.nbytes for tensor in module.state_dict().values()) == 50 * 128 * expected
    assert list(QuantizedTable(5, 16, 4, 8).parameters()) == []


@pytest.mark.parametrize("size", [1e-37, 1e-20, 1e20])
def test_numbers_of_any_size_have_steps(size):
    rows = np.array([[1.0, -0.9, 0.3, 0.0]], np.float32) * np.float32(size)
    module = QuantizedTable.of(nn.Embedding.from_pretrained(torch.from_numpy(rows)), 4, 4)
    assert (np.abs(looked_up(module) - rows) <= 0.5001 * np.abs(steps_of(module, 4))).all()


def test_every_code_counts_as_a_parameter_and_steps_as_bytes_alone():
    # Two rows are zero; in the third a zero may have been rounded, as far as anybody can tell.
    rows = np.array([[0.0, 0.0, 4.0, -1.0], [0.0] * 4, [0.0] * 4], np.float32)
    for bits, sort, size in ((8, "uint8", 12), (4, "uint4", 6)):
        stored = quantized(rows, bits, 2)
        codes = table_weight(f"bert.embeddings.word_embeddings.{CODES[bits]}", "embeddings", stored.codes)
        assert codes == Weight("embeddings", sort, count=12, zeroed=8, bytes=size)
        for name, numbers in ((MANTISSAS, stored.mantissas), (EXPONENTS, stored.exponents)):
            steps = table_weight(f"self.model.bert.embeddings.word_embeddings.{name}", "embeddings", numbers)
            assert steps == Weight("embeddings", "uint8", count=0, zeroed=0, bytes=3 * 2)
    assert table_weight("bert.embeddings.word_embeddings.weight", "embeddings", rows) is None
