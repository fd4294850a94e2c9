"""Plain words: text from data, models and recipes that Streamlit shows as it is, wherever it would read Markdown."""

from __future__ import annotations

import re

from workbench.markdown_text import escaped

# Invisible; it keeps apart what would be found and replaced after the Markdown was read.
JOINER = "\u2060"
# Pictures and colours (:name:, :red[…]), addresses of pages and of people.
REPLACED = re.compile(r"(:(?=\S)|@|www(?=\.))", re.IGNORECASE)
# Lists, headings and formulas.
STARTS = re.compile(r"^(\s*)([#+=\-]|\d+(?=[.)]))")


def plain(text: str) -> str:
    """A text for a label, a message or a caption, on one line, in which nothing is markup."""
    safe = REPLACED.sub(rf"\1{JOINER}", escaped(text).replace("$", "\\$"))
    return STARTS.sub(rf"\1{JOINER}\2", safe)
