"""The comparison as a table for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reports.columns import COLUMNS
from workbench.compare import Comparison


def comparison_table(comparison: Comparison) -> RenderableType:
    """Lay a comparison out as a table, with failures below it."""
    table = Table(title=Text(f"study {comparison.study}"), title_justify="left")
    for column in COLUMNS:
        table.add_column(column.heading, justify="right" if column.numeric else "left", no_wrap=column.numeric)
    task = comparison.lines[0].task if comparison.lines else ""
    for line in comparison.lines:
        if line.task != task:
            table.add_section()
            task = line.task
        table.add_row(*(Text(column.cell(line)) for column in COLUMNS))
    failures = [
        Text(f"{line.task} {line.recipe}: failed: {message}", style="red")
        for line in comparison.lines
        for message in line.failures
    ]
    return Group(table, *failures)
