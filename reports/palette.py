"""Palette: the colours of all charts, legible on white and on near-black, told apart by colour-blind eyes too."""

from __future__ import annotations

from typing import Any

BLUE = "#2f7fc1"
ORANGE = "#d0780a"
GREEN = "#0d9a72"
PURPLE = "#b0639c"
VERMILION = "#d1502c"
CYAN = "#2a9cb5"
GREY = "#7f858d"
# What is written and drawn around the data, where nobody knows on which paper.
INK = "#767b82"
# The same on paper that is known.
INK_ON_LIGHT, INK_ON_DARK = "#1d2127", "#e6e8eb"

LIGHT_PAPER = "#ffffff"
DARK_PAPER = "#14161a"

SERIES = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, CYAN, GREY)
STANDINGS = {"front": BLUE, "tied": ORANGE, "dominated": GREY}
STANDING_SHAPES = {"front": "circle", "tied": "diamond", "dominated": "square"}
DIRECTIONS = {"broken": VERMILION, "mended": BLUE, "sideways": GREY}
EFFECTS = {"better": BLUE, "worse": VERMILION, "same": GREY}

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"


def config(ink: str = INK) -> dict[str, Any]:
    """How all charts are dressed; ``ink`` is the colour of whatever is written."""
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    labels = {"labelColor": ink, "titleColor": ink, **sizes}
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**labels, "domainColor": GREY, "tickColor": GREY, "gridColor": GREY, "gridOpacity": 0.25},
        "legend": {**labels, "orient": "bottom", "symbolLimit": 12},
        "title": {"color": ink, "fontSize": 13, "fontWeight": "bold", "anchor": "start"},
        "text": {"color": ink, "fontSize": 12},
        "rule": {"color": GREY},
        "tick": {"color": ink},
    }
