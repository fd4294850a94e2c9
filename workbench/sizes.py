"""Sizes as people read them."""

from __future__ import annotations

UNITS = {"GB": 10**9, "MB": 10**6, "kB": 10**3}


def spoken_size(count: int) -> str:
    """A number of bytes in the largest unit that it fills."""
    for unit, size in UNITS.items():
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
