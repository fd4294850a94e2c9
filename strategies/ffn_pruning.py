"""Feed-forward pruning: neurons in the middle of a layer that the task's loss minds least are taken out.

Two thirds of a layer's arithmetic are there. Importance is the Fisher information of a mask on each neuron, as in Kwon
et al., "A fast post-training pruning framework for transformers" (2022). What is left is refitted, a whole matrix at a
time, to give what all neurons together gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from workbench.bench import Bench
from workbench.encoder import Encoder
from workbench.narrowing import narrowed
from workbench.pruning import Pruned, PruningOptions, Quota, foretold
from workbench.sketch import CLS_ONLY, GRAPH, QUANTIZED, SHARED, ZEROED, Sketch
from workbench.strategy import Strategy

# Matrix kernels of processors work through so many numbers at a time; 64 suits them as well.
LIKED = 32


class FfnPruning(PruningOptions, Strategy):
    """Take the least important feed-forward neurons out, down to a width or a share, and refit what reads the others.

    By default a share of all layers together stays, because layers differ much in what they can spare. Where they come
    out equally wide, by ``width`` or ``spread: even``, stock transformers classes open the result.
    """

    name = "ffn-pruning"
    needs = ("calibrate",)
    claims = ("fewer-parameters", "fewer-macs", "smaller-file")
    refuses = (GRAPH, QUANTIZED, SHARED, CLS_ONLY, ZEROED)

    width: int | None = Field(default=None, ge=1, description="how many neurons stay in every layer, instead of share")
    multiple: int = Field(
        default=LIKED, ge=1, description="by share, widths are multiples of this; 32 and 64 suit processors"
    )

    @model_validator(mode="after")
    def _number_or_share(self) -> Self:
        self.check_number("width", self.width)
        return self

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse a width above the one that is there."""
        return foretold(super().check(sketch), "ffn", self._quota, "width")

    def remarks(self, sketch: Sketch) -> tuple[str, ...]:
        """Tell of a width that kernels do not like."""
        odd = _odd([sketch.ffn])
        return (odd,) if odd else ()

    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Weigh the neurons on calibration rows, and give an encoder with the most important alone."""
        made = self.prune(encoder, bench, "ffn", self._quota)
        detail = {"widths": made.counts, **made.told()}
        remark = _remark(made)
        if remark:
            detail["remark"] = remark
            bench.progress.say(f"  {remark}")
        return encoder.evolve(made.model, by=self, detail=detail, portable=len(set(made.counts)) == 1)

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Leave an untrained model as many neurons in each layer."""
        return narrowed(model, "ffn", [range(count) for count in detail["widths"]])

    @property
    def _quota(self) -> Quota:
        return self.quota(self.width, usual="global", multiple=self.multiple)


def _remark(made: Pruned) -> str:
    return _odd(made.counts) if made.changed else "nothing was pruned: every neuron stays"


def _odd(widths: Iterable[int]) -> str:
    odd = [str(width) for width in sorted(set(widths)) if width % LIKED]
    if not odd:
        return ""
    return (
        f"no multiple of {LIKED}: {', '.join(odd)}; kernels work in blocks, so such a width may be no faster than the "
        "next multiple"
    )
