"""The comparison as a table of plain numbers, to be sorted and searched; what was not measured is absent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.columns import verdict
from reports.comparison_cells import MEMORY, SIZE, SPEED
from reports.wording import ABSENT
from workbench.delta import Delta
from workbench.line import Line
from workbench.recipe import BASELINE
from workbench.run_index import RunHead

Value = str | float | None
MILLION = 1e6


@dataclass(frozen=True)
class NumberColumn:
    """A heading with its unit, what it means, how a line fills it, and the format of its numbers; words have none."""

    heading: str
    meaning: str
    value: Callable[[Line], Value]
    format: str | None = None


def number_rows(lines: Sequence[Line]) -> list[dict[str, Value]]:
    """A row for each line; columns that nothing was measured for are left out."""
    filled = {column.heading: [column.value(line) for line in lines] for column in COLUMNS}
    known = {heading: values for heading, values in filled.items() if any(value not in (None, "") for value in values)}
    return [{heading: values[place] for heading, values in known.items()} for place in range(len(lines))]


def head_rows(heads: Sequence[RunHead]) -> list[dict[str, Value]]:
    """A row for each run, from what the index knows."""
    return [
        {
            "task": head.task,
            "recipe": head.recipe,
            "seed": float(head.seed),
            "status": head.status,
            "quality": _scaled(head.quality, 0.01),
            "disk, MB": _scaled(head.disk_bytes, MILLION),
            "parameters, M": _scaled(head.parameters, MILLION),
            "failed": head.failure or "",
        }
        for head in heads
    ]


def _number(axis: str, unit: float) -> Callable[[Line], Value]:
    return lambda line: _scaled(_value(line.delta(axis)), unit)


def _times(axis: str) -> Callable[[Line], Value]:
    return lambda line: delta.times if (delta := line.delta(axis)) else None


def _word(axis: str, words: dict[str, str]) -> Callable[[Line], Value]:
    def told(line: Line) -> Value:
        word = verdict(line.delta(axis))
        return "" if word == ABSENT or line.recipe == BASELINE else words.get(word, word)

    return told


def _quality_ends(line: Line) -> Value:
    delta = line.quality
    if delta is None or delta.low is None or delta.high is None or delta.low == delta.high:
        return ""
    return f"{100 * delta.low:.1f} to {100 * delta.high:.1f}"


def _speed_ends(line: Line) -> Value:
    ends = line.latency.times_interval if line.latency else None
    return f"{ends[0]:.2f} to {ends[1]:.2f}" if ends and ends[0] != ends[1] else ""


def _value(delta: Delta | None) -> float | None:
    return delta.value if delta else None


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


COLUMNS = (
    NumberColumn("recipe", "what was done to the base", lambda line: line.recipe),
    NumberColumn("quality", "the task's headline metric × 100, mean over seeds", _number("quality", 0.01), "%.2f"),
    NumberColumn(
        "quality, 95 %", "where the quality may lie, measured beside this very baseline on the same rows", _quality_ends
    ),
    NumberColumn(
        "kept, %",
        "share of the baseline's quality",
        lambda line: _scaled(line.quality.times if line.quality else None, 0.01),
        "%.1f",
    ),
    NumberColumn("quality is", "what that interval allows to say beside the baseline", _word("quality", {})),
    NumberColumn("ms a call", "median time of one call on one text, in milliseconds", _number("latency", 1.0), "%.2f"),
    NumberColumn("× faster", "the baseline's time over this one's, measured round by round", _times("latency"), "%.2f"),
    NumberColumn("× faster, 95 %", "the 95 % interval of that", _speed_ends),
    NumberColumn("speed is", "what that interval allows to say", _word("latency", SPEED)),
    NumberColumn(
        "memory, MB",
        "what the model itself takes at its highest, beyond the libraries",
        _number("memory", MILLION),
        "%.1f",
    ),
    NumberColumn("memory is", "beside the baseline; differences within 5 % are none", _word("memory", MEMORY)),
    NumberColumn("disk, MB", "every file that is needed to run", _number("disk", MILLION), "%.1f"),
    NumberColumn("× smaller", "the baseline's size on disk over this one's", _times("disk"), "%.2f"),
    NumberColumn("disk is", "beside the baseline", _word("disk", SIZE)),
    NumberColumn("parameters, M", "millions of distinct parameters", _number("parameters", MILLION), "%.2f"),
    NumberColumn(
        "MACs, M",
        "millions of multiply-accumulate operations of one answer at the task's mean length",
        _number("macs", MILLION),
        "%.0f",
    ),
    NumberColumn(
        "agrees, %",
        "share of test rows answered like the baseline (correlation where answers are scores)",
        lambda line: _scaled(line.agreement, 0.01),
        "%.1f",
    ),
    NumberColumn(
        "made in, s", "time spent on the recipe's steps, all seeds", lambda line: line.seconds or None, "%.0f"
    ),
    NumberColumn("seeds", "the seeds that were finished", lambda line: ", ".join(map(str, line.seeds))),
    NumberColumn("runs in", "the runtime", lambda line: line.runtime or ""),
    NumberColumn("failed", "why runs of it ended early", lambda line: "; ".join(line.failures)),
)
