"""The recipes of a report, one by one: what each step gave and took, its control, and whose answers changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from reports.blocks import Block, Bullets, Cell, Figures, Fold, Heading, Section, Table, Words, one_figure
from reports.chart_flips import flips_figure
from reports.chart_waterfall import waterfall_figures
from reports.comparison_cells import disk_cell, latency_cell, quality_cell
from reports.comparison_section import comparison_table
from reports.wording import ABSENT, counted, duration, ended, megabytes, millions, percent, points, score, sentence
from workbench.damage import Damage, FlippedRow
from workbench.dossier import Dossier, Explanation
from workbench.line import Line
from workbench.run import Run
from workbench.stages import Stage

# A square of more labels than this fits no page.
MOST_LABELS = 8
MOST_MIX_UPS = 20
MOST_CHANCES = 3
STEPS_CAPTION = (
    "The encoder before any step and after each one. Blue: the step made it better; red: worse; the bar reaches from "
    "where it was to where it came. Times are taken of finished versions only, so steps tell none."
)


def recipe_section(dossier: Dossier) -> Section:
    """Explain every recipe of every task."""
    lines = {(line.task, line.recipe): line for line in dossier.comparison.lines}
    runs = {run.id: run for run in dossier.runs}
    blocks: list[Block] = []
    for task in dossier.comparison.tasks:
        found = [explanation for explanation in dossier.explanations if explanation.task == task]
        if len(dossier.comparison.tasks) > 1:
            blocks.append(Heading(f"Task {task}"))
        blocks += [_fold(explanation, lines.get((task, explanation.recipe)), runs) for explanation in found]
        if not found:
            blocks.append(Words(f"No recipe on {task} can be explained: none was finished beside its baseline."))
    return Section("Recipe by recipe", "recipes", tuple(blocks))


def _fold(found: Explanation, line: Line | None, runs: Mapping[str, Run]) -> Fold:
    blocks = (
        *_steps(found, runs.get(found.run)),
        *_control(found, line),
        *_damage(found, line),
        *([Bullets("To bear in mind", tuple(map(ended, line.caveats)))] if line and line.caveats else []),
    )
    return Fold(_title(found, line), blocks)


def _title(found: Explanation, line: Line | None) -> str:
    if line is None:
        return found.recipe
    told = [f"quality {quality_cell(line).plain}", disk_cell(line).plain]
    if line.latency:
        told.insert(1, latency_cell(line).plain)
    return f"{found.recipe}: {', '.join(told)}"


def _steps(found: Explanation, run: Run | None) -> Iterator[Block]:
    if run and run.recipe.when:
        yield Words(sentence(run.recipe.when))
    if run and run.recipe.steps:
        yield Bullets("Steps", tuple(_spoken_step(step.use, step.options) for step in run.recipe.steps))
    figures = waterfall_figures(found)
    if figures:
        yield Figures(figures, STEPS_CAPTION)
    else:
        yield Words("Its steps were not measured one by one.")
    yield Fold("The steps in numbers", (_stage_table(found.stages),))


def _spoken_step(use: str, options: Mapping[str, object]) -> str:
    chosen = {name: value for name, value in options.items() if value is not None}
    told = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in chosen.items())
    return f"{use} ({told})" if told else use


def _stage_table(stages: Sequence[Stage]) -> Table:
    head = ("after", "quality", "agrees", "disk", "parameters", "MACs", "took")
    rows = [
        (
            stage.name,
            score(stage.quality),
            percent(stage.agreement),
            megabytes(stage.disk_bytes),
            millions(stage.parameters),
            millions(stage.macs),
            duration(stage.cost.wall_seconds) if stage.cost else ABSENT,
        )
        for stage in stages
    ]
    return Table("", head, tuple(tuple(map(Cell, row)) for row in rows))


def _control(found: Explanation, line: Line | None) -> Iterator[Block]:
    control = found.control
    if not control or not line:
        return
    yield Table("Beside the same recipe without its teacher", *_head_and_rows([line, control]))
    if line.quality and control.quality:
        gap = line.quality.value - control.quality.value
        sure = "beyond doubt" if line.quality.surely_beats(control.quality) else "which is not beyond doubt"
        if control.quality.surely_beats(line.quality):
            sure = "so the teacher did harm, beyond doubt"
        yield Words(f"With its teacher it is {points(gap)} points from its control, {sure}.")


def _head_and_rows(lines: Sequence[Line]) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    table = comparison_table(lines)
    return table.head, table.rows


def _damage(found: Explanation, line: Line | None) -> Iterator[Block]:
    damage = found.damage
    if damage is None:
        yield Words("Flips are not told: its answers are scores, which all differ a little, or were not kept.")
        return
    rows = sum(of_label.rows for of_label in damage.by_label)
    yield Words(f"{counted(damage.flip_count, 'answer')} of {rows:,} are not the baseline's.")
    figure = flips_figure(found.task, found.recipe, line.judged if line else None, damage.labels)
    if figure:
        yield one_figure(figure)
    yield _label_table(damage)
    yield Fold("Which label is taken for which", (_confusion_table(damage),))
    if damage.flips:
        yield Fold(_flips_title(damage), (_flip_table(damage.flips, damage.labels),))


def _label_table(damage: Damage) -> Table:
    head = ("true label", "rows", "baseline right", "right now", "mended", "broken")
    rows = tuple(
        (
            Cell(found.label),
            Cell(f"{found.rows:,}"),
            Cell(f"{found.base_right:,}", _share(found.base_right, found.rows)),
            Cell(f"{found.ours_right:,}", _share(found.ours_right, found.rows)),
            Cell(f"{found.mended:,}"),
            Cell(f"{found.broken:,}"),
        )
        for found in damage.by_label
    )
    return Table("Which labels suffer", head, rows)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else ""


def _confusion_table(damage: Damage) -> Table:
    """Every true label beside every answer; of many labels, only the mix-ups that became most frequent."""
    if len(damage.labels) > MOST_LABELS:
        return _mix_ups(damage)
    head = ("true label", *(f"answered {label}" for label in damage.labels))
    rows = tuple(
        (Cell(label), *(Cell(f"{mine:,}", f"baseline {theirs:,}") for mine, theirs in zip(ours, base, strict=True)))
        for label, ours, base in zip(damage.labels, damage.confusion, damage.base_confusion, strict=True)
    )
    return Table("", head, rows)


def _mix_ups(damage: Damage) -> Table:
    found = [
        (mine - theirs, mine, theirs, label, answer)
        for label, ours, base in zip(damage.labels, damage.confusion, damage.base_confusion, strict=True)
        for answer, mine, theirs in zip(damage.labels, ours, base, strict=True)
        if answer != label and mine
    ]
    most = sorted(found, key=lambda mix_up: mix_up[:2], reverse=True)[:MOST_MIX_UPS]
    rows = tuple(
        (Cell(label), Cell(answer), Cell(f"{mine:,}"), Cell(f"{old:,}")) for _, mine, old, label, answer in most
    )
    return Table("The mix-ups that grew most", ("true label", "answered", "rows now", "of the baseline"), rows, (0, 1))


def _flips_title(damage: Damage) -> str:
    shown = len(damage.flips)
    if shown == damage.flip_count:
        return f"The {counted(shown, 'answer')} that changed, the baseline's surest first"
    return f"{shown} of the {counted(damage.flip_count, 'answer')} that changed, the baseline's surest first"


def _flip_table(flips: Sequence[FlippedRow], labels: Sequence[str]) -> Table:
    head = ("row", "text", "true label", "baseline", "now", "went")
    rows = tuple(
        (
            Cell(flip.id, f"{flip.part}, seed {flip.seed}"),
            Cell(" ⏐ ".join(flip.texts) or "(its text was not kept)"),
            Cell(flip.label),
            Cell(flip.base, _spoken_probabilities(flip.base_probabilities, labels)),
            Cell(flip.ours, _spoken_probabilities(flip.our_probabilities, labels)),
            Cell(flip.direction),
        )
        for flip in flips
    )
    return Table("", head, rows, tuple(range(len(head))))


def _spoken_probabilities(found: Sequence[float], labels: Sequence[str]) -> str:
    """The likeliest labels, in the order of all labels where they are few."""
    pairs = list(zip(found, labels, strict=True))
    likeliest = pairs if len(pairs) <= MOST_CHANCES else sorted(pairs, reverse=True)[:MOST_CHANCES]
    # A percentage is not torn from its label or its sign at the end of a line.
    return ", ".join(f"{label} {percent(share)}".replace(" ", "\u00a0") for share, label in likeliest)
