"""The comparison as tables for the terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reports.columns import COLUMNS
from reports.tables import plain_table
from workbench.compare import Comparison
from workbench.line import Line

STYLES = {"better": "green", "worse": "red", "unclear": "yellow"}
HEADINGS_OF_VERDICTS = ("quality is", "speed is")
MARKS = {"front": "*", "tied": "~", "dominated": ""}
LEGEND = "* nothing here is better in quality, speed and disk at once; ~ something may be, within doubt."
REACH = "± is half of a 95 % interval."


def comparison_table(comparison: Comparison) -> RenderableType:
    """Lay a comparison out as one table for each task and one for their means, with failures and caveats below."""
    groups = [list(lines) for _, lines in groupby(comparison.lines, lambda line: line.task)]
    if comparison.means:
        groups.append(list(comparison.means))
    tables = [_table(comparison, lines) for lines in groups]
    failures = [
        Text(f"{line.task} {line.recipe}: failed: {message}", style="red")
        for line in comparison.lines
        for message in line.failures
    ]
    doubts = [f"{line.task} {line.recipe}: {caveat}" for line in comparison.lines for caveat in line.caveats]
    caveats = [Text(f"- {caveat}", style="yellow") for caveat in (*comparison.caveats, *doubts)]
    return Group(*tables, *_legend(comparison), *failures, *caveats)


def _legend(comparison: Comparison) -> list[Text]:
    """What the signs in the tables mean, where they stand there."""
    reaches = any(delta and delta.reach for line in comparison.lines for delta in (line.quality, line.latency))
    told = [LEGEND] * any(line.latency for line in comparison.lines) + [REACH] * reaches
    return [Text(" ".join(told), style="dim")] if told else []


def _table(comparison: Comparison, lines: list[Line]) -> Table:
    first = lines[0]
    seeds = ", ".join(map(str, first.seeds))
    title = f"study {comparison.study}, {_task(first)}: quality is {first.metric} ×100, seeds {seeds or 'none yet'}"
    columns = [column for column in COLUMNS if column.brief]
    table = plain_table(title, columns)
    front = comparison.front(None if first in comparison.means else first.task)
    for line in lines:
        mark = MARKS[front[line.recipe]] if line.recipe in front else ""
        table.add_row(*(_cell(column.heading, column.cell(line), mark) for column in columns))
    return table


def _task(line: Line) -> str:
    return line.task if " " in line.task else f"task {line.task}"


def _cell(heading: str, text: str, mark: str) -> Text:
    if heading == "recipe":
        return Text(f"{text} {mark}".strip())
    return Text(text, style=STYLES.get(text, "") if heading in HEADINGS_OF_VERDICTS else "")
