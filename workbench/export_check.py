"""ExportCheck: whether an exported encoder, opened afresh, says what its run said when it was judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, FiniteFloat

from workbench.answers import compare_answers

# Outputs further apart than this are those of other arithmetic, and quality can differ a little.
SAME_ARITHMETIC = 1e-3

Logits = Sequence[NDArray[np.float32]]


class ExportCheck(BaseModel):
    """How many kept test rows were answered again, how many answers differ, and by how much outputs do at most."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int
    differing: int
    beyond_rounding: int
    largest_difference: FiniteFloat | None

    @property
    def words(self) -> str:
        """What was seen, in a sentence."""
        answers = f"{self.differing} answers differ from the run's, {self.beyond_rounding} of them beyond rounding"
        if not self.differing:
            answers = "all answers are those of the run"
        return f"opened afresh, it answered {self.rows} of the kept test rows: {answers}, and {self._outputs}"

    @property
    def doubt(self) -> str | None:
        """What to think of outputs that are not quite the run's; nothing where they are equal up to the last digits."""
        if self.largest_difference is not None and self.largest_difference <= SAME_ARITHMETIC:
            return None
        return "it computes a little otherwise than what was judged, so its quality can differ a little"

    @property
    def _outputs(self) -> str:
        if self.largest_difference is None:
            return "some outputs are not finite numbers"
        if not self.largest_difference:
            return "outputs are equal to the last bit"
        return f"outputs differ by at most {self.largest_difference:.1e}"


def check_export(ours: Logits, kept: Logits) -> ExportCheck:
    """Compare the outputs of an export with those that were kept, row by row."""
    found = compare_answers([row.tolist() for row in ours], kept)
    largest = float(np.abs(np.stack(ours) - np.stack(kept)).max())
    return ExportCheck(
        rows=found.timed,
        differing=found.differing,
        beyond_rounding=found.beyond_rounding,
        largest_difference=largest if np.isfinite(largest) else None,
    )
