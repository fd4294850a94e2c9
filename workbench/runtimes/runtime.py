"""Runtime: the small contract that torch models and runtime graphs share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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

    @abstractmethod
    def parameters(self) -> int:
        """Count parameters, each shared one once."""
