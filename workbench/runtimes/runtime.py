"""Runtime: the small contract that torch models and runtime graphs share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.inventory import Inventory
from workbench.tokens import Batch


class Runtime(ABC):
    """Something that turns a padded batch of tokens into outputs and can be written to a folder."""

    name: str

    @abstractmethod
    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """Run one batch; the first axis of the result is the example."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write all it needs into a folder."""

    def open(self) -> None:  # noqa: B027 - most have nothing to do
        """Do now what would otherwise wait for the first batch."""

    @property
    def minds_company(self) -> bool:
        """Whether an answer depends on the texts that share its batch, as with int8 ranges taken from the batch."""
        return False

    @abstractmethod
    def inventory(self) -> Inventory:
        """List the weights, each shared or tied one once."""

    @abstractmethod
    def macs(self, batch: Batch) -> int:
        """Count the multiply-accumulates of one call on a batch, with the padding that the batch has.

        Those of matrix products are counted, attention's among them; looking a token up takes none. A runtime that pads
        a text further to suit itself makes more.
        """

    def parameters(self) -> int:
        """Count parameters, each shared one once."""
        return self.inventory().total


def inputs_for(names: Iterable[str], batch: Batch) -> Batch:
    """The inputs that a graph asks for; a tokenizer that tells no types means type 0."""
    return {name: batch[name] if name in batch else np.zeros_like(batch["input_ids"]) for name in names}
