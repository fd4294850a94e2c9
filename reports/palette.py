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
# What is written and drawn around the data; the page replaces the colour of text by its own.
INK = "#767b82"

LIGHT_PAPER = "#ffffff"
DARK_PAPER = "#14161a"

SERIES = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, CYAN, GREY)
STANDINGS = {"front": BLUE, "tied": ORANGE, "dominated": GREY}
STANDING_SHAPES = {"front": "circle", "tied": "diamond", "dominated": "square"}
DIRECTIONS = {"broken": VERMILION, "mended": BLUE, "sideways": GREY}
EFFECTS = {"better": BLUE, "worse": VERMILION, "same": GREY}

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_LABELS = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {**_LABELS, "domainColor": GREY, "tickColor": GREY, "gridColor": GREY, "gridOpacity": 0.25},
    "legend": {**_LABELS, "orient": "bottom", "symbolLimit": 12},
    "title": {"color": INK, "fontSize": 13, "fontWeight": "bold", "anchor": "start"},
    "text": {"color": INK, "fontSize": 12},
    "rule": {"color": GREY},
    "tick": {"color": INK},
}
