"""The comparison as tables for the terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from reports.columns import COLUMNS
from workbench.compare import Comparison, Line


def comparison_table(comparison: Comparison) -> RenderableType:
    """Lay a comparison out as one table for each task, with failures below."""
    tables = [_table(comparison.study, list(lines)) for _, lines in groupby(comparison.lines, lambda line: line.task)]
    failures = [
        Text(f"{line.task} {line.recipe}: failed: {message}", style="red")
        for line in comparison.lines
        for message in line.failures
    ]
    return Group(*tables, *failures)


def _table(study: str, lines: list[Line]) -> Table:
    first = lines[0]
    seeds = ", ".join(map(str, first.seeds))
    title = f"study {study}, task {first.task}: quality is {first.metric} ×100, seeds {seeds or 'none yet'}"
    table = Table(title=Text(title), title_justify="left", pad_edge=False, padding=(0, 1))
    columns = [column for column in COLUMNS if column.heading != "task"]
    for column in columns:
        justify: JustifyMethod = "right" if column.numeric else "left"
        table.add_column(column.heading, justify=justify, no_wrap=column.numeric, overflow="fold")
    for line in lines:
        table.add_row(*(Text(column.cell(line)) for column in columns))
    return table
