"""Story: the parts of a report in the order a reader wants them, whatever it is written in."""

from __future__ import annotations

from reports.answer_section import answer_section
from reports.blocks import Section
from reports.comparison_section import comparison_section
from reports.goal_section import goal_section
from reports.method_section import method_section
from reports.pareto_section import pareto_section
from reports.provenance_section import caveat_section, environment_section, repeat_section
from reports.recipe_section import recipe_section
from reports.size_section import size_section
from reports.speed_section import speed_section
from reports.wording import counted
from workbench.dossier import Dossier
from workbench.recipe import BASELINE

SECTIONS = (
    answer_section,
    comparison_section,
    goal_section,
    pareto_section,
    speed_section,
    size_section,
    recipe_section,
    method_section,
    environment_section,
    caveat_section,
    repeat_section,
)


def title_of(dossier: Dossier) -> str:
    """What a report is about."""
    return f"Study {dossier.study}: which version to ship"


def summary_of(dossier: Dossier) -> str:
    """What was compared, in one line."""
    lines = dossier.comparison.lines
    recipes = {line.recipe for line in lines} - {BASELINE}
    seeds = {seed for line in lines for seed in line.seeds}
    told = [
        f"{counted(len(recipes), 'recipe')} beside the baseline",
        counted(len(dossier.comparison.tasks), "task"),
        counted(len(seeds), "seed"),
        f"written {dossier.created[:16].replace('T', ' ')}",
    ]
    base = next((run.base.name for run in dossier.runs if run.base), None)
    return " · ".join([*([f"base {base}"] if base else []), *told])


def story(dossier: Dossier) -> tuple[Section, ...]:
    """Tell everything there is to tell, the answer first."""
    told = (section(dossier) for section in SECTIONS)
    return tuple(section for section in told if section.blocks)
