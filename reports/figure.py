"""Figure: a chart with a name for its file, a caption, and a sentence for who cannot see it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import altair as alt
import vl_convert

from reports.palette import CONFIG

# The newest of Vega-Lite that both Altair writes and the converter reads.
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])

Chart = alt.Chart | alt.LayerChart


@dataclass(frozen=True)
class Figure:
    """A chart to be shown somewhere; ``alt`` tells in words what it shows."""

    name: str
    alt: str
    caption: str
    chart: Chart

    def spec(self) -> dict[str, Any]:
        """The chart as Vega-Lite, dressed in the palette; nothing in it points anywhere outside."""
        found = self.chart.to_dict(validate=False)
        found.pop("$schema", None)
        return {**found, "description": self.alt, "config": CONFIG}

    def fluid_spec(self) -> dict[str, Any]:
        """The same, as wide as what it stands in."""
        return {**self.spec(), "width": "container"}

    def svg(self) -> str:
        """The chart as a picture that needs nothing else."""
        return _svg(json.dumps(self.spec()))


@lru_cache(maxsize=256)
def _svg(spec: str) -> str:
    return str(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE))


def file_name(*parts: str) -> str:
    """A safe file name made of names that may hold anything."""
    words = "-".join(parts).lower()
    return re.sub(r"[^a-z0-9.]+", "-", words).strip("-.") or "chart"


def layered(*charts: alt.Chart) -> alt.LayerChart:
    """Charts drawn over each other, the first one undermost."""
    return alt.LayerChart(layer=list(charts))


def rows(values: list[dict[str, Any]]) -> alt.Data:
    """Rows as the data of a chart."""
    return alt.Data(values=values)
