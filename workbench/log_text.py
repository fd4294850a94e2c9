"""Log texts: the end of a log as plain lines, without what was meant for a terminal."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

WINDOW_BYTES = 1 << 18
ESCAPES = re.compile(
    # Titles, links and other strings for the terminal, up to their end or the end of the line.
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)?"
    # Colours and movements.
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    # All other two-character ones, and those that choose a character set.
    r"|\x1b[ -/]*[0-~]?"
)


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a log; a bar that was drawn over and over is one line, as it was last seen."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - WINDOW_BYTES))
            text = stream.read(WINDOW_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return []
    lines = text.split("\n")
    if size > WINDOW_BYTES and len(lines) > 1:
        del lines[0]
    if lines[-1] == "":
        del lines[-1]
    return [plain_line(line) for line in lines[-count:]] if count > 0 else []


def plain_line(line: str) -> str:
    """A line as a terminal would show it in the end, colours and movements left out."""
    seen = [part for part in ESCAPES.sub("", line).split("\r") if part.strip()]
    shown = seen[-1] if seen else ""
    return "".join(char for char in shown if char == "\t" or unicodedata.category(char) not in {"Cc", "Cf"}).rstrip()
