"""The comparison as a Markdown page."""

from __future__ import annotations

from reports.columns import COLUMNS
from workbench.compare import Comparison


def comparison_page(comparison: Comparison) -> str:
    """Write a page with the table, what its columns mean, and what failed."""
    rows = [[column.cell(line) for column in COLUMNS] for line in comparison.lines]
    rulers = ["---:" if column.numeric else "---" for column in COLUMNS]
    table = [_row([column.heading for column in COLUMNS]), _row(rulers), *map(_row, rows)]
    metrics = ", ".join(sorted({f"{line.task}: {line.metric}" for line in comparison.lines}))
    meanings = [f"- **{column.heading}**: {column.meaning}" for column in COLUMNS]
    failures = [
        f"- {_escaped(f'{line.task} {line.recipe}: {message}')}"
        for line in comparison.lines
        for message in line.failures
    ]
    parts = [
        f"# Study {_escaped(comparison.study)}",
        "\n".join(table),
        "\n".join(meanings),
        f"Headline metrics: {_escaped(metrics)}.",
    ]
    return "\n\n".join(parts + (["## Failed", "\n".join(failures)] if failures else [])) + "\n"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell if set(cell) <= set('-:') else _escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{char}" if char in "\\|*_`[]~" else char for char in " ".join(escaped.splitlines()))
