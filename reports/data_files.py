"""The numbers of a report as files for spreadsheets and programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from reports.rows import Cell, comparison_rows, plain_text
from workbench.dossier import Dossier
from workbench.stages import Stage

FLIPS = (
    *("task", "recipe", "seed", "part", "id", "text", "second_text", "true_label", "baseline_answer", "answer"),
    *("direction", "baseline_probability_of_its_answer", "probabilities_of_baseline", "probabilities"),
)
STAGES = (
    *("task", "recipe", "run", "number", "stage", "quality", "agreement_share", "disk_bytes", "parameters", "macs"),
    *("wall_seconds", "cpu_seconds"),
)
LATENCY = ("task", "variant", "recipe", "calls", "share_of_calls", "milliseconds_at_most")


def data_files(dossier: Dossier) -> dict[str, str]:
    """All numbers by file name: tables as CSV, and everything as JSON."""
    return {
        "comparison.csv": _csv(comparison_rows(dossier.comparison)),
        "flips.csv": _csv([FLIPS, *_flips(dossier)]),
        "stages.csv": _csv([STAGES, *_stages(dossier)]),
        "latency.csv": _csv([LATENCY, *_latency(dossier)]),
        "dossier.json": dossier.model_dump_json(indent=1) + "\n",
    }


def _csv(rows: Iterable[Sequence[Cell]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _flips(dossier: Dossier) -> Iterator[list[Cell]]:
    """The flips that the dossier tells with their texts; ``id`` finds the others in the predictions of the runs."""
    for found in dossier.explanations:
        damage = found.damage
        for flip in damage.flips if damage else ():
            first, second, *_ = (*flip.texts, "", "")
            names = (found.task, found.recipe)
            texts = (flip.part, flip.id, first, second, flip.label, flip.base, flip.ours, flip.direction)
            chances = [" ".join(map(str, shares)) for shares in (flip.base_probabilities, flip.our_probabilities)]
            yield [*map(plain_text, names), flip.seed, *map(plain_text, texts), flip.confidence, *chances]


def _stages(dossier: Dossier) -> Iterator[list[Cell]]:
    for found in dossier.explanations:
        for number, stage in enumerate(found.stages):
            yield [*map(plain_text, (found.task, found.recipe, found.run)), number, *_stage(stage)]


def _stage(stage: Stage) -> list[Cell]:
    cost = stage.cost
    return [
        plain_text(stage.name),
        *(stage.quality, stage.agreement, stage.disk_bytes, stage.parameters, stage.macs),
        *((cost.wall_seconds, cost.cpu_seconds) if cost else (None, None)),
    ]


def _latency(dossier: Dossier) -> Iterator[list[Cell]]:
    for spread in dossier.spreads:
        shares = np.linspace(0, 1, len(spread.quantiles_ms)).tolist()
        names = [plain_text(name) for name in (spread.task, spread.entry, spread.recipe)]
        for share, value in zip(shares, spread.quantiles_ms, strict=True):
            yield [*names, spread.calls, round(share, 6), value]
