"""The trade-off of a report: quality beside speed or size, and where each recipe stands."""

from __future__ import annotations

from reports.blocks import Block, Heading, Section, Words, one_figure
from reports.chart_pareto import pareto_figure
from workbench.dossier import Dossier

NOTHING = "There is no chart: fewer than two recipes were measured in quality and in speed or size."


def pareto_section(dossier: Dossier) -> Section:
    """Draw the trade-off of the means and of each task."""
    comparison = dossier.comparison
    several = len(comparison.tasks) > 1
    blocks: list[Block] = []
    places: list[str | None] = [*([None] if comparison.means else []), *comparison.tasks]
    for task in places:
        figure = pareto_figure(comparison, task)
        if several:
            blocks.append(Heading(f"Task {task}" if task else "All tasks"))
        blocks.append(one_figure(figure) if figure else Words(NOTHING))
    return Section("The trade-off", "trade-off", tuple(blocks or [Words(NOTHING)]))
