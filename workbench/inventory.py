"""Inventory: what an encoder is made of, weight by weight, and its sums."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

Part = Literal["embeddings", "encoder", "head"]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Weight:
    """One distinct tensor of parameters, however many places use it.

    ``zeroed`` counts the numbers that are exactly zero. They are there and take their space all the same.
    """

    part: Part
    dtype: str
    count: int
    zeroed: int
    bytes: int

    @classmethod
    def stored(cls, part: Part, numbers: NDArray[Any], zero_point: NDArray[Any] | int = 0) -> Self:
        """Describe numbers as they are stored; in a quantized weight the zero point, by channel or not, means zero."""
        zeroed = numbers.size - int(np.count_nonzero(numbers != zero_point))
        return cls(part, numbers.dtype.name, numbers.size, zeroed, numbers.nbytes)

    @classmethod
    def packed(cls, part: Part, stored: NDArray[np.uint8], bits: int, zero_code: int) -> Self:
        """Describe rows of codes of few bits, as many to a byte as fit, one of which means zero.

        A row that is zero all along was zero; a single zero may be a small number that was rounded, and does not count.
        """
        in_a_byte = 8 // bits
        zero_byte = sum(zero_code << bits * place for place in range(in_a_byte))
        zero_rows = int((stored == zero_byte).all(axis=1).sum())
        count = stored.size * in_a_byte
        return cls(part, f"uint{bits}", count, zero_rows * count // len(stored), stored.nbytes)


@dataclass(frozen=True)
class Inventory:
    """The distinct weights of an encoder; scales and zero points of quantized ones are bookkeeping and left out.

    Only those of a quantized word table are so many that they are listed, as bytes that hold no parameter.
    """

    weights: tuple[Weight, ...]

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return sum(weight.count for weight in self.weights)

    @property
    def zeroed(self) -> int:
        """How many of the numbers are exactly zero."""
        return sum(weight.zeroed for weight in self.weights)

    @property
    def bytes_by_dtype(self) -> dict[str, int]:
        """The space that the numbers of each type take, by the type's name."""
        sums: Counter[str] = Counter()
        for weight in self.weights:
            sums[weight.dtype] += weight.bytes
        return dict(sorted(sums.items()))

    def of(self, part: Part) -> Inventory:
        """The inventory of one part."""
        return Inventory(tuple(weight for weight in self.weights if weight.part == part))
