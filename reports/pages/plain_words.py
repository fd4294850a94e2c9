"""Plain words: text from data, models and recipes that Streamlit shows as it is, wherever it would read Markdown."""

from __future__ import annotations

import re

from workbench.markdown_text import escaped

# Invisible; it keeps apart what would be found and replaced after the Markdown was read.
JOINER = "\u2060"
REPLACED = re.compile(
    # Pictures (:name: and :material/name:) and addresses of pages and people.
    r":(?=[\w+-]+:|material/|//)|@(?=\w)|www(?=\.)"
    # Arrows and dashes that stand alone.
    r"|(?<!\S)(?:-|&[lg]t;)(?=(?:-|=|&gt;)(?:\s|$))",
    re.IGNORECASE,
)
# Colours (:red[…]) and formulas.
READ = re.compile(r"(:(?=\S)|\$)")
# Lists and headings.
STARTS = re.compile(r"^(?=[#+=\-]|\d+[.)])")


def plain(text: str) -> str:
    """A text for a label, a message or a caption, on one line, in which nothing is markup."""
    kept_apart = REPLACED.sub(rf"\g<0>{JOINER}", escaped(text.strip()))
    return STARTS.sub(JOINER, READ.sub(r"\\\1", kept_apart))
