"""The comparison as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reports.columns import COLUMNS, Column, LineT
from workbench.compare import Comparison
from workbench.markdown_text import escaped, table_row


def comparison_page(comparison: Comparison) -> str:
    """Write a page with the table, what its columns mean, and what failed."""
    metrics = ", ".join(sorted({f"{line.task}: {line.metric}" for line in comparison.lines}))
    meanings = [f"- **{column.heading}**: {column.meaning}" for column in COLUMNS]
    failures = [f"{line.task} {line.recipe}: {message}" for line in comparison.lines for message in line.failures]
    parts = [
        f"# Study {escaped(comparison.study)}",
        markdown_table(COLUMNS, comparison.lines),
        "\n".join(meanings),
        f"Headline metrics: {escaped(metrics)}.",
    ]
    return "\n\n".join(parts + (["## Failed", bullets(failures)] if failures else [])) + "\n"


def markdown_table(columns: Sequence[Column[LineT]], lines: Iterable[LineT]) -> str:
    """A table with a row for each line."""
    head = [table_row([column.heading for column in columns])]
    rulers = [f"| {' | '.join('---:' if column.numeric else '---' for column in columns)} |"]
    return "\n".join(head + rulers + [table_row([column.cell(line) for column in columns]) for line in lines])


def bullets(texts: Iterable[str]) -> str:
    """A list of sentences."""
    return "\n".join(f"- {escaped(text)}" for text in texts)
