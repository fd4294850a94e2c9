"""The comparison as plain rows, every number in full, for programs and spreadsheets."""

from __future__ import annotations

from workbench.compare import Comparison
from workbench.line import AXES, Line

UNITS = {"quality": "", "latency": "_ms", "memory": "_bytes", "disk": "_bytes", "parameters": "", "macs": ""}
FACTS = ("task", "recipe", "control_of", "metric", "runtime", "portable", "zeroed", "agreement", "seconds")
# A spreadsheet takes a text that begins so for a formula.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")

Cell = str | float | bool | None


def comparison_rows(comparison: Comparison) -> list[list[Cell]]:
    """The headings, then a row for each line and each mean."""
    return [_headings(), *(_row(line) for line in (*comparison.lines, *comparison.means))]


def plain_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULAS) else text


def _headings() -> list[Cell]:
    of_axes = [
        f"{axis}{UNITS[axis] if what in ('value', 'baseline', 'low', 'high') else ''}_{what}"
        for axis in AXES
        for what in ("value", "baseline", "low", "high", "times_as_good", "verdict")
    ]
    return [*FACTS, "seeds", "runs", *of_axes, "p", "p_adjusted", "share_shown_to_be_kept", "failures", "caveats"]


def _row(line: Line) -> list[Cell]:
    facts = [_safe(getattr(line, fact)) for fact in FACTS]
    deltas = [cell for axis in AXES for cell in _delta(line, axis)]
    judged = line.judged
    tests = [judged.p if judged else None, line.p_adjusted, judged.largest_share if judged else None]
    texts = ["; ".join(line.failures), "; ".join(line.caveats)]
    return [
        *facts,
        " ".join(map(str, line.seeds)),
        _safe(" ".join(line.runs)),
        *deltas,
        *tests,
        *map(plain_text, texts),
    ]


def _delta(line: Line, axis: str) -> list[Cell]:
    delta = line.delta(axis)
    if delta is None:
        return [None] * 6
    return [delta.value, delta.base, delta.low, delta.high, delta.times, delta.verdict]


def _safe(value: Cell) -> Cell:
    return plain_text(value) if isinstance(value, str) else value
