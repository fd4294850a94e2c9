"""Figure: a chart with a name for its file, a caption, and a sentence for who cannot see it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from reports.palette import INK, config

if TYPE_CHECKING:
    # Whoever draws a chart loads Altair; whoever only shows tables and words need not wait for it.
    import altair as alt

    Chart = alt.Chart | alt.LayerChart


@dataclass(frozen=True)
class Figure:
    """A chart to be shown somewhere; ``alt`` tells in words what it shows."""

    name: str
    alt: str
    caption: str
    chart: Chart

    def spec(self, ink: str = INK) -> dict[str, Any]:
        """The chart as Vega-Lite, dressed in the palette; nothing in it points anywhere outside."""
        return {**self._bare, "description": self.alt, "config": config(ink)}

    @cached_property
    def _bare(self) -> dict[str, Any]:
        """The chart as Vega-Lite, undressed; a figure that is shown again need not be spelled out again."""
        found = self.chart.to_dict(validate=False)
        found.pop("$schema", None)
        return found

    def fluid_spec(self, ink: str = INK) -> dict[str, Any]:
        """The same, as wide as what it stands in."""
        return {**self.spec(ink), "width": "container"}

    def svg(self) -> str:
        """The chart as a picture that needs nothing else."""
        return _svg(json.dumps(self.spec()))


@cache
def vega_lite() -> str:
    """The newest version of Vega-Lite that both Altair writes and the converter reads."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


@lru_cache(maxsize=256)
def _svg(spec: str) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec, vl_version=vega_lite()))


def file_name(*parts: str) -> str:
    """A safe file name made of names that may hold anything."""
    words = "-".join(parts).lower()
    return re.sub(r"[^a-z0-9.]+", "-", words).strip("-.") or "chart"


def layered(*charts: alt.Chart) -> alt.LayerChart:
    """Charts drawn over each other, the first one undermost."""
    import altair as alt

    return alt.LayerChart(layer=list(charts))


def rows(values: list[dict[str, Any]]) -> alt.Data:
    """Rows as the data of a chart."""
    import altair as alt

    return alt.Data(values=values)
