"""Strategy: the contract of everything that changes an encoder.

A strategy is a frozen pydantic model. Its fields are the options a recipe may set, nothing else is accepted, and the
same fields make the help texts and forms. A minimal one::

    class KeepBottom(Strategy):
        \"\"\"Keep the lowest layers.\"\"\"

        name = "keep-bottom"
        claims = ("fewer-layers",)
        portable = True
        count: int = Field(default=2, ge=1, description="how many layers stay")

        def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
            return encoder.evolve(with_layers(encoder.model, range(self.count)), by=self)

        def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
            return with_layers(model, range(self.count))

Advertise it in your package's metadata under the group ``workbench.strategies`` and it is found by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from workbench.errors import ArtifactError, PlanError
from workbench.fit import misfit
from workbench.sketch import GRAPH, Sketch

if TYPE_CHECKING:
    from workbench.bench import Bench
    from workbench.encoder import Encoder

Need = Literal["train", "calibrate", "teacher"]
Claim = Literal[
    "fewer-layers",
    "fewer-parameters",
    "fewer-macs",
    "smaller-file",
    "other-runtime",
    "other-weights",
    "zeroed-weights",
]

ALL_FAMILIES = ("bert", "roberta", "albert", "distilbert")
SEQUENCE_KINDS = ("classification", "regression")


class Strategy(BaseModel, ABC):
    """One way to change an encoder; subclasses declare what they need, serve and claim, and are otherwise options.

    ``needs``: what the bench must lend. ``families`` and ``kinds``: what can be served. ``claims``: what the result
    visibly has, which the exam checks. ``portable``: whether stock transformers classes can hold the result; where
    that depends on what was decided, ``evolve`` is told. ``gives`` and ``refuses``: traits this step adds, and traits
    an encoder must not have yet; that is how a senseless order of steps is found at plan time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    families: ClassVar[tuple[str, ...]] = ALL_FAMILIES
    kinds: ClassVar[tuple[str, ...]] = SEQUENCE_KINDS
    needs: ClassVar[tuple[Need, ...]] = ()
    claims: ClassVar[tuple[Claim, ...]]
    portable: ClassVar[bool] = False
    gives: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[tuple[str, ...]] = (GRAPH,)

    def check(self, sketch: Sketch) -> Sketch:
        """Refuse, by PlanError, what cannot be handled; otherwise give the outline of the result. Does no work."""
        return sketch.with_traits(*self.gives)

    def remarks(self, sketch: Sketch) -> tuple[str, ...]:
        """What a person should hear before any work, of options that are served but perhaps not meant so.

        ``sketch`` is the outline of the result, as ``check`` gave it.
        """
        return ()

    @abstractmethod
    def apply(self, encoder: Encoder, bench: Bench) -> Encoder:
        """Give a new encoder and leave the given one as it was."""

    def control(self) -> Strategy | None:
        """The same step without its teacher, for the same budget; ``None`` where no teacher is involved."""
        return None

    def rebuild(self, model: Any, detail: Mapping[str, Any]) -> Any:
        """Give an untrained model the architecture that ``apply`` gave, so that saved weights fit into it.

        ``detail`` is what ``apply`` handed to ``evolve``. Needed only where the result is a torch model that stock
        classes cannot hold.
        """
        raise ArtifactError(f"strategy {self.name!r} cannot rebuild a torch model")


def check_fit(strategy: Strategy, sketch: Sketch) -> Sketch:
    """Check what every strategy declares, then ask the strategy itself."""
    fault = misfit(strategy, sketch.traits, sketch.kind, sketch.family)
    if fault:
        raise PlanError(fault)
    return strategy.check(sketch)
