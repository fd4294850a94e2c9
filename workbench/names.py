"""Names that are safe as part of a folder name."""

from __future__ import annotations

import re

NAME_RULE = re.compile(r"[a-z0-9][a-z0-9._-]*")


def checked_name(name: str) -> str:
    """Accept a name that is safe as part of a folder name, refuse any other."""
    if not NAME_RULE.fullmatch(name):
        raise ValueError("a name is lower-case letters, digits, '.', '_' and '-', and starts with a letter or digit")
    return name
