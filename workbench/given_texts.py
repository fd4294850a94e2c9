"""Given texts: what a person wants answered, from the command line, a file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from workbench.errors import DataError, UsageError
from workbench.tasks.sources import read_lines

STANDARD_INPUT = Path("-")
TAB, BARS = "\t", " ||| "


def given_texts(arguments: Sequence[str], file: Path | None, text_count: int) -> list[tuple[str, ...]]:
    """Every text, or pair, that was given; none at all, or one with a wrong number of parts, is refused."""
    found = [divided(where, text, text_count) for where, text in (*_spoken(arguments), *_written(file))]
    if not found:
        empty = f"{_name(file)} holds no text" if file else "no text was given; write one after the run, or use --file"
        raise UsageError(empty)
    return found


def divided(where: str, text: str, text_count: int) -> tuple[str, ...]:
    """The parts of what was given: one text is taken as it is, pairs are divided by a tab or by three bars."""
    if text_count == 1:
        return (text,)
    parts = tuple(part.strip() for part in text.split(TAB if TAB in text else BARS))
    if len(parts) != text_count or not all(parts):
        raise UsageError(
            f"{where}: {text_count} texts are needed, separated by a tab or by '{BARS}', "
            f"and this has {sum(map(bool, parts))}"
        )
    return parts


def _spoken(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(arguments, 1):
        if not text.strip():
            raise UsageError(f"text {number} is empty")
        yield f"text {number}", text


def _written(file: Path | None) -> Iterator[tuple[str, str]]:
    if file is None:
        return
    for number, line in _standard_input() if file == STANDARD_INPUT else read_lines(file):
        yield f"{_name(file)}:{number}", line


def _standard_input() -> Iterable[tuple[int, str]]:
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"standard input: not UTF-8 text ({error.reason} at byte {error.start}); convert it first"
        ) from None
    return [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _name(file: Path) -> str:
    return "standard input" if file == STANDARD_INPUT else str(file)
