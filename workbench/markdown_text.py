"""Markdown text: words from data that show as they are, whatever they hold, alone, in tables and in code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def escaped(text: str) -> str:
    """A text as Markdown that shows it as it is, on one line."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{char}" if char in "\\|*_`[]~" else char for char in " ".join(plain.splitlines()))


def table_row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(map(escaped, cells))} |"


def plain_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column holds names and the others numbers."""
    rulers = f"|---|{'---:|' * (len(head) - 1)}"
    return "\n".join([table_row(head), rulers, *map(table_row, rows)])


def fenced(text: str, language: str) -> str:
    """A text as a block of code; its fence is longer than any that the text holds."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
