"""What a teacher says: computed once for a set of rows, kept on disk, memory-mapped by every student after that."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.families import projection_width, projections, quantity
from workbench.files import hash_of
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.tasks.data import rows_fingerprint
from workbench.tasks.task import Row
from workbench.tokens import Tokens, tokenizer_fingerprint

ARRAY = "outputs.npy"
Inner = Callable[[Any, dict[str, torch.Tensor]], torch.Tensor]


@dataclass(frozen=True)
class PerExample:
    """An array with one entry for each example."""

    values: NDArray[Any]

    def batch(self, tokens: Tokens, chosen: list[int]) -> NDArray[np.float32]:
        """Take the entries of some examples."""
        return np.asarray(self.values[chosen], np.float32)


@dataclass(frozen=True)
class PerToken:
    """An array with one entry for each token, examples one after the other as in Tokens."""

    values: NDArray[Any]

    def batch(self, tokens: Tokens, chosen: list[int]) -> NDArray[np.float32]:
        """Take the entries of some examples, padded with zeros to the longest of them."""
        lengths = tokens.lengths[chosen]
        padded = np.zeros((len(chosen), int(lengths.max()), self.values.shape[1]), np.float32)
        for place, index in enumerate(chosen):
            padded[place, : lengths[place]] = self.values[tokens.starts[index] : tokens.starts[index + 1]]
        return padded


@dataclass(frozen=True)
class Teacher:
    """An encoder that others learn from. Its outputs are keyed by its weights, the rows and its tokenizer."""

    encoder: Encoder
    bench: Bench

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that decides what it says."""
        with tempfile.TemporaryDirectory(prefix="workbench-teacher-") as folder:
            saved = self.encoder.save(Path(folder))
        return hash_of([saved.files, tokenizer_fingerprint(self.encoder.tokenizer)])

    def logits(self, rows: Sequence[Row]) -> PerExample:
        """Its outputs for every row."""

        def compute(tokens: Tokens, path: Path) -> None:
            with self.bench.progress.bar("asking the teacher", len(tokens)) as told:
                np.save(path, np.asarray(self.encoder.logits(tokens, told), np.float32))

        return PerExample(self._kept("logits", rows, compute))

    def hidden_states(self, rows: Sequence[Row], layers: Collection[int]) -> dict[int, PerToken]:
        """The hidden state of every token after some layers, counted from 1; 0 is what the embeddings give.

        However many layers, the teacher is asked once.
        """
        wanted = sorted(set(layers))
        width = quantity(self.encoder.model.config, "hidden_size")

        def joined(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
            states = hidden_states(model, batch)
            return torch.cat([states[layer] for layer in wanted], dim=-1)

        what = f"hidden-{'-'.join(map(str, wanted))}"
        values = self._per_token(what, rows, width * len(wanted), joined).values
        return {layer: PerToken(values[:, at * width : (at + 1) * width]) for at, layer in enumerate(wanted)}

    def projections(self, rows: Sequence[Row], layer: int) -> PerToken:
        """The query, key and value of every token in a layer, one after the other."""
        width = 3 * projection_width(self.encoder.model, layer)
        return self._per_token(
            f"projections-{layer}", rows, width, lambda model, batch: with_projections(model, batch, layer)[1]
        )

    def _per_token(self, what: str, rows: Sequence[Row], width: int, inner: Inner) -> PerToken:
        def compute(tokens: Tokens, path: Path) -> None:
            # Half precision: a student's targets need no more, and a large task would fill the disk otherwise.
            shape = (int(tokens.starts[-1]), width)
            kept = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
            with self.bench.progress.bar(f"asking the teacher for {what}", len(tokens)) as told:
                self._fill(kept, tokens, inner, told)
            kept.flush()

        return PerToken(self._kept(what, rows, compute))

    def _fill(self, kept: NDArray[Any], tokens: Tokens, inner: Inner, told: Callable[[int], None]) -> None:
        model, done = self.encoder.model, 0
        for chosen in tokens.buckets():
            batch = {name: torch.from_numpy(values) for name, values in tokens.batch(chosen).items()}
            with torch.inference_mode():
                states = inner(model, TorchRuntime(model).accepted(batch)).numpy()
            for place, index in enumerate(chosen):
                start, end = tokens.starts[index], tokens.starts[index + 1]
                kept[start:end] = states[place, : end - start]
            done += len(chosen)
            told(done)

    def _kept(self, what: str, rows: Sequence[Row], compute: Callable[[Tokens, Path], None]) -> NDArray[Any]:
        key = hash_of([what, self.fingerprint, rows_fingerprint(rows)])

        def build(folder: Path) -> None:
            compute(self.bench.tokens(self.encoder, rows), folder / ARRAY)

        folder = self.bench.cache.make("teachers", key, build)
        return np.load(folder / ARRAY, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]


def hidden_states(model: Any, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """What the embeddings and every layer give, for a batch the model accepts."""
    return model(**batch, output_hidden_states=True).hidden_states  # type: ignore[no-any-return]


def with_projections(model: Any, batch: dict[str, torch.Tensor], layer: int) -> tuple[Any, torch.Tensor]:
    """A model's output together with query, key and value of one layer, joined along the last axis."""
    maps, turn = projections(model, layer)
    seen: list[list[torch.Tensor]] = [[] for _ in maps]
    hooks = [
        linear.register_forward_hook(lambda module, given, result, heard=heard: heard.append(result))
        for linear, heard in zip(maps, seen, strict=True)
    ]
    try:
        output = model(**batch, output_hidden_states=True)
    finally:
        for hook in hooks:
            hook.remove()
    return output, torch.cat([heard[turn] for heard in seen], dim=-1)
