"""Size in a report: what disk, parameters and memory are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reports.blocks import Block, Cell, Fold, Heading, Section, Table, Words, one_figure
from reports.chart_sizes import disk_figure, memory_figure, number_types_figure, parameters_figure
from reports.wording import ABSENT, megabytes
from workbench.campaign import Campaign, Entry
from workbench.dossier import Dossier
from workbench.line import Line
from workbench.run import Run

DRAWINGS = (disk_figure, parameters_figure, number_types_figure)
PHASES = {
    "memory/imports": "libraries",
    "memory/load": "load",
    "memory/first call": "first call",
    "memory/steady": "steady",
    "memory": "model at its highest",
    "memory/process": "process at its highest",
    "memory/anonymous": "private at the end",
    "memory/file-backed": "file-backed at the end",
}


def size_section(dossier: Dossier) -> Section:
    """Draw sizes by task, then memory by campaign."""
    runs = {run.id: run for run in dossier.runs}
    tasks = dossier.comparison.tasks
    blocks: list[Block] = []
    for place, task in enumerate(tasks):
        drawn = tuple(_sizes(dossier.comparison.of_task(task), runs))
        # A head is all that differs from task to task.
        blocks += [Fold(f"The same on {task}", drawn)] if place else [Heading(f"Size on {task}"), *drawn]
    blocks += [block for campaign in dossier.campaigns for block in _memory(campaign)]
    if not any(_was_weighed(campaign) for campaign in dossier.campaigns):
        blocks.append(Words("No memory was measured."))
    return Section("Size and memory", "size", tuple(blocks))


def _sizes(lines: Sequence[Line], runs: Mapping[str, Run]) -> Iterator[Block]:
    figures = [figure for draw in DRAWINGS if (figure := draw(lines, runs))]
    if not figures:
        yield Words(f"No sizes were measured on {lines[0].task}.")
    for figure in figures:
        yield one_figure(figure)


def _was_weighed(campaign: Campaign) -> bool:
    return any(entry.measured("memory") for entry in campaign.entries)


def _memory(campaign: Campaign) -> Iterator[Block]:
    figure = memory_figure(campaign)
    if not figure:
        return
    yield Heading(f"Memory on {campaign.task}")
    yield one_figure(figure)
    weighed = [entry for entry in campaign.entries if entry.measured("memory")]
    rows = tuple((Cell(entry.name), *(_phase(entry, metric) for metric in PHASES)) for entry in weighed)
    yield Fold("Memory in numbers", (Table("", ("variant", *PHASES.values()), rows),))


def _phase(entry: Entry, metric: str) -> Cell:
    found = entry.measured(metric)
    return Cell(megabytes(found.value) if found else ABSENT)
