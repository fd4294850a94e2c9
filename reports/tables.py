"""Tables for the terminal: headings over cells, narrow enough for 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from reports.columns import Column, LineT


def plain_table(title: str, columns: Sequence[Column[LineT]]) -> Table:
    """A table without lines between its cells, to which rows can be added; only the first column may be folded."""
    table = Table(title=Text(title), title_justify="left", box=None, padding=(0, 1, 0, 0), header_style="bold")
    for number, column in enumerate(columns):
        justify: JustifyMethod = "right" if column.numeric else "left"
        table.add_column(
            column.heading, justify=justify, no_wrap=number > 0, overflow="fold", min_width=8 if number == 0 else None
        )
    return table
