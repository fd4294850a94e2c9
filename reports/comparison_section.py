"""The comparison of a report: a table for each task, how sure each difference is, and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from reports.blocks import Badge, Block, Bullets, Cell, Fold, Heading, Section, Table, Words
from reports.comparison_cells import (
    agreement_cell,
    badge,
    disk_cell,
    latency_cell,
    macs_cell,
    memory_cell,
    parameters_cell,
    quality_cell,
)
from reports.wording import ABSENT, chance, counted, ended, percent, points, points_between, score, seconds
from workbench.dossier import Dossier
from workbench.line import ALL_TASKS, Line
from workbench.recipe import BASELINE


def recipe_cell(line: Line) -> Cell:
    """The recipe, whether it failed, the runtime it runs in, and whose control it is."""
    remarks = [line.runtime] if line.runtime and line.task != ALL_TASKS else []
    remarks += [f"control of {line.control_of}"] if line.control_of else []
    word = "some failed" if line.runs else "failed"
    return Cell(line.recipe, ", ".join(remarks), Badge(word, "bad") if line.failures else None)


# What a column is called, what it means, and how a line fills it.
COLUMNS: tuple[tuple[str, str, Callable[[Line], Cell]], ...] = (
    ("recipe", "what was done to the base; below it, the runtime it runs in", recipe_cell),
    (
        "quality",
        "the task's headline metric × 100, mean over seeds, then points from the baseline and their 95 % interval",
        quality_cell,
    ),
    (
        "time of a call",
        "median of one call on one text, then how many times as fast as the baseline, measured round by "
        "round, and the 95 % interval of that",
        latency_cell,
    ),
    ("memory", "what the model itself takes at its highest, beyond the libraries", memory_cell),
    ("disk", "every file needed to run, then how many times smaller than the baseline", disk_cell),
    ("parameters", "distinct parameters", parameters_cell),
    ("MACs", "multiply-accumulates of one answer at the task's mean length", macs_cell),
    ("agrees", "share of test rows answered like the baseline (correlation where answers are scores)", agreement_cell),
    ("made in", "time spent on the recipe's steps, all seeds", lambda line: Cell(seconds(line.seconds))),
)
JUDGED = (
    *("recipe", "difference", "95 % interval", "verdict"),
    *("p", "p over tasks", "test", "kept for sure", "by itself"),
)
JUDGED_WORDS = (
    "Kept for sure is the largest share of the baseline's quality that is shown to be kept, one-sided at 95 %. p over "
    "tasks is adjusted by Holm's rule for how many tasks the recipe was tried on. By itself is the 95 % interval of "
    "the quality, not of its difference from the baseline's."
)
VERDICTS = (
    "A verdict is told only where the interval allows it: better or worse where it excludes no difference, equivalent "
    "where all of it is too small to matter, unclear otherwise."
)


def comparison_section(dossier: Dossier) -> Section:
    """Lay all lines out: the means over tasks first, then each task."""
    comparison = dossier.comparison
    blocks: list[Block] = []
    if comparison.means:
        blocks += [Heading("All tasks"), Words(_means_words(comparison.means, comparison.tasks))]
        blocks.append(comparison_table(comparison.means))
    for task in comparison.tasks:
        blocks += _task(comparison.of_task(task))
    if not blocks:
        blocks.append(Words("There is nothing to compare: the study has no runs yet."))
    else:
        meanings = tuple(f"{heading}: {meaning}." for heading, meaning, _ in COLUMNS)
        blocks.append(Fold("What the columns mean", (Bullets("", (*meanings, VERDICTS)),)))
    return Section("The comparison", "comparison", tuple(blocks))


def comparison_table(lines: Sequence[Line]) -> Table:
    """Lay lines out as a table; columns that nothing was measured for are left out."""
    filled = [(heading, [cell(line) for line in lines]) for heading, _, cell in COLUMNS]
    kept = [(heading, cells) for heading, cells in filled if any(cell.text != ABSENT for cell in cells)]
    rows = tuple(zip(*(cells for _, cells in kept), strict=True))
    return Table("", tuple(heading for heading, _ in kept), rows)


def _task(lines: Sequence[Line]) -> Iterator[Block]:
    first = lines[0]
    yield Heading(f"Task {first.task}")
    yield Words(_task_words(lines))
    yield comparison_table(lines)
    failures = tuple(ended(f"{line.recipe} failed: {message}") for line in lines for message in line.failures)
    if failures:
        yield Bullets("Failed", failures)
    if not any(line.quality and line.recipe == BASELINE for line in lines):
        yield Words("The baseline was not carried to its end, so nothing here can be compared with it.")
    judged = [line for line in lines if line.judged and line.recipe != BASELINE]
    if judged:
        yield Fold("How sure of the differences in quality", (_judged_table(judged), Words(JUDGED_WORDS)))


def _task_words(lines: Sequence[Line]) -> str:
    rows = next((line.judged.rows for line in lines if line.judged), None)
    seeds = sorted({seed for line in lines for seed in line.seeds})
    of_rows = f", judged on {counted(rows, 'test row')}" if rows is not None else ""
    of_seeds = f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}" if seeds else "no finished run"
    return f"Quality is {lines[0].metric} × 100{of_rows}, {of_seeds}."


def _means_words(means: Sequence[Line], tasks: Sequence[str]) -> str:
    return (
        f"Means over {', '.join(tasks)}; quality is the {means[0].metric} × 100, times and sizes are geometric means. "
        "Recipes that some task lacks are left out."
    )


def _judged_table(lines: Sequence[Line]) -> Table:
    return Table("", JUDGED, tuple(tuple(map(Cell, _judged_row(line))) for line in lines), texts=(0, 3, 6))


def _judged_row(line: Line) -> tuple[str, ...]:
    judged, quality = line.judged, line.quality
    assert judged is not None
    word = badge(quality) if quality else None
    return (
        line.recipe,
        f"{points(judged.ours - judged.base)} points",
        points_between(judged.low, judged.high),
        word.word if word else ABSENT,
        chance(judged.p),
        chance(line.p_adjusted),
        judged.test,
        percent(judged.largest_share),
        f"{score(judged.alone[0])} to {score(judged.alone[1])}",
    )
