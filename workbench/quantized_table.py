"""A table of embeddings in few bits: rows are looked up as they are stored, and only what was looked up becomes float.

A row is cut into groups of numbers. Each number is kept as a code of 8 or 4 bits: how many steps it lies from the
middle code, which means zero. The step is the group's own, just wide enough that no number is further than half of it
from what its code means. There is one code more below the middle than above it, so the sign of a step turns the side
on which its group reaches further that way; this errs less than an offset of the same cost. Two codes of 4 bits share
a byte: the low halves of a row's bytes hold the first half of the row, the high halves the second.

A step takes two bytes, a mantissa and an exponent of two. Nothing that is stored is float, so nobody who quantizes a
graph afterwards takes it for a table of weights; and arithmetic on what was looked up is float alone, because
runtimes differ in what they make of shifted and divided bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from workbench.inventory import Part, Weight

Bits = Literal[8, 4]
# Graphs are exported with these names, and say by them what is stored: bytes as such, or two numbers in each.
CODES: dict[Bits, str] = {8: "codes_8bit", 4: "codes_4bit"}
MANTISSAS = "step_mantissas"
EXPONENTS = "step_exponents"
# Mantissas and exponents are signed, and stored from here on.
MIDDLE = 128
LARGEST_MANTISSA = 127
# What is further from zero than this has no power of two in 32 bits.
LARGEST_EXPONENT = 100

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Stored:
    """A table as it is stored, row by row: the codes, and mantissa and exponent of every group's step."""

    codes: Bytes
    mantissas: Bytes
    exponents: Bytes


class QuantizedTable(nn.Module):
    """Takes the place of an ``nn.Embedding``. It does not learn: all that is stored are buffers, and no parameters.

    Nothing is computed before the look-up, so an exporter that folds constants finds nothing to unfold the table by.
    """

    group_of: torch.Tensor

    def __init__(self, words: int, width: int, bits: Bits, group: int, padding_idx: int | None = None) -> None:
        super().__init__()
        self.num_embeddings = words
        self.embedding_dim = width
        self.padding_idx = padding_idx
        self.bits = bits
        groups = math.ceil(width / group)
        for name, size in ((CODES[bits], math.ceil(width * bits / 8)), (MANTISSAS, groups), (EXPONENTS, groups)):
            self.register_buffer(name, torch.zeros(words, size, dtype=torch.uint8))
        self.register_buffer("group_of", torch.arange(width) // group, persistent=False)

    @classmethod
    def of(cls, table: nn.Embedding, bits: Bits, group: int) -> QuantizedTable:
        """Quantize a table in groups of so many numbers; a row's last group may be shorter."""
        module = cls(table.num_embeddings, table.embedding_dim, bits, group, table.padding_idx)
        stored = quantized(table.weight.detach().cpu().float().numpy(), bits, group)
        for name, numbers in zip((CODES[bits], MANTISSAS, EXPONENTS), vars(stored).values(), strict=True):
            getattr(module, name).copy_(torch.from_numpy(numbers))
        return module.to(table.weight.device)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Give the embeddings of some tokens in float32."""
        mantissas = self._found(MANTISSAS, input_ids) - MIDDLE
        steps = mantissas * torch.pow(2.0, self._found(EXPONENTS, input_ids) - MIDDLE)
        if steps.shape[-1] > 1:
            steps = steps.index_select(-1, self.group_of)
        codes = self._unpacked(self._found(CODES[self.bits], input_ids))
        return (codes - _zero_code(self.bits)) * steps

    def _found(self, name: str, input_ids: torch.Tensor) -> torch.Tensor:
        return functional.embedding(input_ids, getattr(self, name)).float()

    def _unpacked(self, codes: torch.Tensor) -> torch.Tensor:
        if self.bits == 8:
            return codes
        high = torch.floor(codes / 16)
        both = torch.cat([codes - high * 16, high], dim=-1)
        return both[..., : self.embedding_dim] if self.embedding_dim % 2 else both


def quantized(rows: NDArray[np.float32], bits: Bits, group: int) -> Stored:
    """Store the rows of a table in few bits."""
    words, width = rows.shape
    zero = _zero_code(bits)
    groups = np.pad(rows, ((0, 0), (0, -width % group))).reshape(words, -1, group)
    mantissas, exponents = _steps(groups, zero)
    steps = np.ldexp(mantissas, exponents).astype(np.float32)[..., None]
    counts = np.rint(np.divide(groups, steps, out=np.zeros_like(groups), where=steps != 0))
    codes = _bytes(np.clip(counts, -zero, zero - 1), zero).reshape(words, -1)[:, :width]
    return Stored(_packed(codes, bits), _bytes(mantissas, MIDDLE), _bytes(exponents, MIDDLE))


def table_weight(name: str, part: Part, numbers: NDArray[Any]) -> Weight | None:
    """How a tensor of a model or graph counts if its name tells that it belongs to a quantized table.

    Every code is a parameter, whatever part of a byte it takes. Steps are none, but take their bytes.
    """
    if name.endswith((MANTISSAS, EXPONENTS)):
        return Weight(part, numbers.dtype.name, count=0, zeroed=0, bytes=numbers.nbytes)
    for bits, codes in CODES.items():
        if name.endswith(codes):
            return Weight.packed(part, numbers, bits, _zero_code(bits))
    return None


def _zero_code(bits: Bits) -> int:
    return 1 << (bits - 1)


def _steps(groups: NDArray[np.float32], zero: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The least steps that take every group in; the outermost codes reach half a step further than what they mean."""
    above, below = groups.max(axis=-1), -groups.min(axis=-1)
    far, near = np.maximum(above, below), np.minimum(above, below)
    least = np.maximum(far / (zero + 0.5), near / (zero - 0.5))
    _, exponents = np.frexp(least / LARGEST_MANTISSA)
    exponents = np.clip(exponents, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    mantissas = np.ceil(np.ldexp(least, -exponents))
    return np.where(above > below, -mantissas, mantissas), exponents


def _bytes(numbers: NDArray[Any], middle: int) -> Bytes:
    return (numbers + middle).astype(np.uint8)


def _packed(codes: Bytes, bits: Bits) -> Bytes:
    if bits == 8:
        return codes
    # A row of odd length ends in the code for zero, which nobody reads.
    even = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)), constant_values=_zero_code(4))
    low, high = np.split(even, 2, axis=1)
    return low | high << np.uint8(4)
