"""How well one colour can be told from another, as the web's accessibility guidelines reckon it: from 1 to 21."""

from __future__ import annotations

import re


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, each as #rrggbb or as rgb(r, g, b)."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> list[float]:
    """Red, green and blue from 0 to 1."""
    if colour.startswith("#"):
        return [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3]]
