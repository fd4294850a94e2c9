"""FixedGraph: a compiled OpenVINO graph of one length, with room for its inputs that is made once.

Handing arrays over anew at each call and looking up their names took a fifth of a small graph's call: three layers of
384 answered texts of 20 to 50 tokens in 0.88 ms by way of new arrays, and in 0.70 ms by this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.tokens import Batch


class FixedGraph:
    """Answers one text at a time, of at most the graph's length; what is left of it is padding nobody attends to."""

    def __init__(self, compiled: Any, padding: int) -> None:
        self._request = compiled.create_infer_request()
        self._room = {given.any_name: self._request.get_tensor(given).data for given in compiled.inputs}
        self._logits = self._request.get_tensor("logits").data
        self._padding = padding

    def answer(self, text: Batch) -> NDArray[np.float32]:
        """Run one text with the inputs the graph asks for."""
        length = text["input_ids"].shape[1]
        for name, room in self._room.items():
            # A tokenizer that tells no types means type 0.
            room[:, :length] = text.get(name, 0)
            room[:, length:] = self._padding if name == "input_ids" else 0
        self._request.infer(share_inputs=True, share_outputs=True)
        return np.array(self._logits, np.float32)
