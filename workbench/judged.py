"""Judged: what the answers of a recipe and its baseline came to, small enough to keep and quick to read again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from workbench.errors import StoreError
from workbench.files import hash_of, write_text_whole
from workbench.predictions import Predictions, read_predictions
from workbench.run import Run
from workbench.statistics import Verdict, interval_of
from workbench.store import PREDICTIONS, RunStore

if TYPE_CHECKING:
    # What was judged before is read back at once; what judges is loaded only when there is something to judge.
    from workbench.judging import Judgement

# To be raised when judging changes, so that what was judged before is judged again.
METHOD = 4


class FlipCount(BaseModel):
    """How many rows of a label changed their answer in one direction, over all seeds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: int
    direction: str
    count: int


class Judged(BaseModel):
    """The judgement of one recipe on one task beside its baseline; intervals are of 95 %.

    ``low`` and ``high`` are the ends of the difference from the baseline, ``alone`` those of our metric by itself.
    ``blind`` is the most that giving every row the same label scores, ``beats_blindness`` whether the baseline is shown
    to be better than that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    rows: int
    seeds: tuple[int, ...]
    ours: FiniteFloat
    base: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    alone: tuple[FiniteFloat, FiniteFloat]
    p: FiniteFloat
    test: str
    agreement: FiniteFloat
    divergence: FiniteFloat
    divergence_unit: str
    largest_share: FiniteFloat | None
    verdict: Verdict
    flips: tuple[FlipCount, ...]
    blind: FiniteFloat | None = None
    beats_blindness: bool = True

    @classmethod
    def of(cls, found: Judgement) -> Self:
        """Sum a judgement up."""
        return cls(
            metric=found.metric,
            rows=found.rows,
            seeds=found.seeds,
            ours=found.ours,
            base=found.base,
            low=found.interval.low,
            high=found.interval.high,
            alone=interval_of(found.draws.of(lambda ours, base: ours)),
            p=found.p,
            test=found.test,
            agreement=found.agreement.value,
            divergence=found.divergence.value,
            divergence_unit=found.divergence.unit,
            largest_share=found.largest_share,
            verdict=found.verdict(),
            flips=tuple(
                FlipCount(label=label, direction=direction, count=count)
                for (label, direction), count in found.flip_counts.items()
            ),
            blind=found.blind,
            beats_blindness=found.beats_blindness,
        )

    def keeps(self, share: float) -> bool:
        """Whether it is shown, one-sided at 95 %, that at least this share of the baseline's metric is kept."""
        return self.largest_share is not None and share <= self.largest_share


def judged_once(
    pairs: Sequence[tuple[Run, Run]],
    store: RunStore,
    read: Callable[[Path], list[Predictions]] = read_predictions,
) -> Judged:
    """Judge runs beside their baselines, or read back what was judged before of the same answers.

    Who judges many recipes beside the same baselines may give a ``read`` that remembers.
    """
    files = [(_answers_of(run, store), _answers_of(base, store)) for run, base in pairs]
    metric = pairs[0][0].metrics[0]
    kept = store.judged_file(hash_of([METHOD, metric, [[_state(path) for path in pair] for pair in files]]))
    with contextlib.suppress(OSError, ValidationError):
        return Judged.model_validate_json(kept.read_bytes())
    from workbench.judging import SeedPair, judge

    seeds = [SeedPair(run.seed, read(ours), read(base)) for (run, _), (ours, base) in zip(pairs, files, strict=True)]
    try:
        found = Judged.of(judge(metric, seeds))
    except ValidationError:
        raise StoreError(
            f"the answers of {', '.join(run.id for run, _ in pairs)} hold outputs that are no numbers"
        ) from None
    # A store that cannot be written is judged anew each time.
    with contextlib.suppress(OSError):
        write_text_whole(kept, found.model_dump_json())
    return found


def _answers_of(run: Run, store: RunStore) -> Path:
    path = store.folder(run.id) / PREDICTIONS
    if not path.is_file():
        raise StoreError(f"run {run.id}: its answers ({path}) are missing, so its quality cannot be judged")
    return path


def _state(path: Path) -> list[object]:
    told = path.stat()
    return [path.parent.name, told.st_size, told.st_mtime_ns]
