"""Tokens: texts as numbers, kept flat, cut into batches that carry almost no padding."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.cache import Cache
from workbench.files import hash_of
from workbench.tasks.data import rows_fingerprint
from workbench.tasks.task import Row

Batch = dict[str, NDArray[np.int64]]
# Enough tokens to keep the cores busy, few enough to stay in their caches.
TOKENS_A_BATCH = 1024


@dataclass(frozen=True)
class Tokens:
    """The token ids of many examples, one after the other; ``starts`` has one entry more than examples."""

    ids: NDArray[np.int32]
    types: NDArray[np.int32] | None
    starts: NDArray[np.int64]
    pad_id: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many tokens each example has."""
        return np.diff(self.starts)

    def batch(self, chosen: Sequence[int] | NDArray[np.int64]) -> Batch:
        """Pad some examples to the longest of them."""
        lengths = self.lengths[np.asarray(chosen)]
        shape = (len(chosen), int(lengths.max()))
        mask = (np.arange(shape[1]) < lengths[:, None]).astype(np.int64)
        batch = {"input_ids": np.full(shape, self.pad_id, np.int64), "attention_mask": mask}
        where = mask.astype(bool)
        batch["input_ids"][where] = self._gather(self.ids, chosen)
        if self.types is not None:
            batch["token_type_ids"] = np.zeros(shape, np.int64)
            batch["token_type_ids"][where] = self._gather(self.types, chosen)
        return batch

    def buckets(self, budget: int = TOKENS_A_BATCH) -> Iterator[NDArray[np.int64]]:
        """Cut the examples, sorted by length, into groups of about ``budget`` tokens, padding included."""
        order = np.argsort(-self.lengths, kind="stable")
        start = 0
        while start < len(order):
            size = max(1, budget // int(self.lengths[order[start]]))
            yield order[start : start + size]
            start += size

    def singles(self) -> Iterator[NDArray[np.int64]]:
        """Every example by itself."""
        yield from np.arange(len(self))[:, None]

    def _gather(self, values: NDArray[np.int32], chosen: Any) -> NDArray[np.int32]:
        return np.concatenate([values[self.starts[index] : self.starts[index + 1]] for index in chosen])


def tokenize(tokenizer: Any, rows: Sequence[Row]) -> Tokens:
    """Turn rows into tokens; the tokenizer's own maximum length cuts what is longer."""
    columns = [list(column) for column in zip(*(row.texts for row in rows), strict=True)]
    encoded = tokenizer(*columns, truncation=True, padding=False, return_attention_mask=False)
    starts = np.cumsum([0, *map(len, encoded["input_ids"])])
    types = encoded.get("token_type_ids")
    return Tokens(
        ids=np.concatenate([np.asarray(ids, np.int32) for ids in encoded["input_ids"]]),
        types=np.concatenate([np.asarray(ids, np.int32) for ids in types]) if types else None,
        starts=starts.astype(np.int64),
        pad_id=int(tokenizer.pad_token_id),
    )


def tokenize_once(tokenizer: Any, rows: Sequence[Row], cache: Cache) -> Tokens:
    """Tokenize, or read back what was tokenized before from the same rows by the same tokenizer."""
    key = hash_of([rows_fingerprint(rows), tokenizer_fingerprint(tokenizer)])
    folder = cache.make("tokens", key, lambda target: _save(tokenize(tokenizer, rows), target))
    return _load(folder)


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Hash what decides a tokenizer's output: its machinery, and how it cuts and pads."""
    if tokenizer.is_fast:
        machinery = json.loads(tokenizer.backend_tokenizer.to_str())
        # What the last call asked for, not what the tokenizer is.
        del machinery["truncation"], machinery["padding"]
    else:
        machinery = sorted(tokenizer.get_vocab().items())
    cutting = [tokenizer.model_max_length, tokenizer.truncation_side, tokenizer.pad_token_id]
    return hash_of([type(tokenizer).__name__, machinery, cutting, sorted(tokenizer.model_input_names)])


def _save(tokens: Tokens, folder: Path) -> None:
    types = {} if tokens.types is None else {"types": tokens.types}
    pad_id = np.asarray(tokens.pad_id)
    np.savez(folder / "tokens.npz", allow_pickle=False, ids=tokens.ids, starts=tokens.starts, pad_id=pad_id, **types)


def _load(folder: Path) -> Tokens:
    with np.load(folder / "tokens.npz", allow_pickle=False) as arrays:
        types = arrays.get("types")
        return Tokens(arrays["ids"], types, arrays["starts"], int(arrays["pad_id"]))
