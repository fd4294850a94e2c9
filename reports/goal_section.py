"""The goals of a report: what a study set out to reach, what was measured, and a plain word for each."""

from __future__ import annotations

from collections.abc import Iterable

from reports.blocks import Badge, Cell, Section, Table, Words
from reports.wording import ABSENT, counted
from workbench.dossier import Dossier
from workbench.reached import Reached

METHOD = (
    "Met and missed go by the measured value. Shown: all of its 95 % interval reaches the goal, or, of a share of the "
    "quality, that share is shown to be kept, one-sided at 95 %. Sizes are counted and need no interval. Of two "
    "recipes of one campaign the intervals are taken for independent, which errs towards doubt."
)
MOST_DIGITS = 6
ASKED = {
    "faster": "at least {asked:g}× as fast",
    "smaller": "at least {asked:g}× smaller",
    "keeps": "keeps at least {percent:g} %",
    "faster than": "at least {asked:g}× as fast as {other}",
    "no worse than": "quality no less than {other}'s",
}


def goal_section(dossier: Dossier) -> Section:
    """A row for everything that was asked of a recipe, a column for each task; nothing where nothing was asked."""
    if not dossier.goals:
        return Section("The goals", "goals", ())
    return Section("The goals", "goals", (Words(_tally(dossier.goals)), goal_table(dossier.goals), Words(METHOD)))


def goal_table(goals: Iterable[Reached]) -> Table:
    """What was asked of each recipe, and how each task came out."""
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    tasks: dict[str, None] = {}
    for goal in goals:
        cells.setdefault((goal.recipe, asked(goal)), {})[goal.task] = _cell(goal)
        tasks[goal.task] = None
    rows = tuple(
        (Cell(recipe), Cell(wanted), *(found.get(task, Cell(ABSENT)) for task in tasks))
        for (recipe, wanted), found in cells.items()
    )
    return Table("", ("recipe", "goal", *tasks), rows, texts=(0, 1))


def asked(goal: Reached) -> str:
    """What was asked, in words."""
    return ASKED[goal.aim].format(asked=goal.asked, percent=round(100 * goal.asked, 6), other=goal.other)


def _cell(goal: Reached) -> Cell:
    if goal.value is None:
        return Cell(ABSENT, "not measured")
    share = goal.aim in ("keeps", "no worse than")
    text = _apart(goal.value, goal.asked, 100, " %", 1) if share else _apart(goal.value, goal.asked, 1, "×", 2)
    known = goal.low is not None and goal.high is not None and not share
    note = f"{goal.low:.2f} to {goal.high:.2f}" if known else ""
    if not goal.met:
        return Cell(text, note, Badge("missed", "bad"))
    return Cell(text, note, Badge("met, shown", "good") if goal.sure else Badge("met", "doubt"))


def _apart(value: float, asked: float, scale: int, unit: str, digits: int) -> str:
    """A value with as many digits as it takes to see that it misses the goal, if it does."""
    while digits < MOST_DIGITS and value < asked <= round(scale * value, digits) / scale:
        digits += 1
    return f"{scale * value:.{digits}f}{unit}"


def _tally(goals: tuple[Reached, ...]) -> str:
    met, missed = (sum(goal.met is wanted for goal in goals) for wanted in (True, False))
    open_ones = len(goals) - met - missed
    told = f"Of {counted(len(goals), 'number')} asked for, {met} are met"
    sure = sum(bool(goal.met and goal.sure) for goal in goals)
    beyond = f", {sure} of them beyond doubt" if met else ""
    rest = f"; {open_ones} were not measured" if open_ones else ""
    return f"{told}{beyond}; {missed} are missed{rest}."
