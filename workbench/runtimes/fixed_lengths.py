"""Fixed lengths: texts go through one of a few lengths, so that the graph of a length need not fit any other.

OpenVINO prepares a graph of open shape anew whenever the length changes. Of a small encoder that takes a third to a
half of a call: three layers of 384 answered a text of 31 tokens in 1.2 ms by an open graph among texts of other
lengths, in 0.8 ms among its like, and in 0.6 ms by a graph of fixed length. Quantized graphs of the two kinds round
differently, so texts in company are answered one by one as well, lest an answer depend on who came along.
"""

from __future__ import annotations

from workbench.tokens import Batch

LENGTHS = (*range(8, 65, 8), *range(80, 129, 16), *range(160, 257, 32), 384, 512)


def fixed_length(length: int, most: int) -> int | None:
    """The next of the fixed lengths, or as many tokens as the model has positions for; none for longer texts."""
    found = next((fixed for fixed in LENGTHS if fixed >= length), None)
    return min(found, most) if found is not None and length <= most else None


def one_by_one(batch: Batch) -> list[Batch]:
    """The texts of a batch without their padding, each by itself; none where not all padding stands at the end."""
    masks = batch["attention_mask"]
    ends = [int(length) for length in masks.sum(axis=1)]
    if not all(end and mask[:end].all() for mask, end in zip(masks, ends, strict=True)):
        return []
    return [{name: values[row : row + 1, :end] for name, values in batch.items()} for row, end in enumerate(ends)]
