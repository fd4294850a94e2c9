"""Speed in a report: how calls are spread, what the campaigns measured, and what their control says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reports.blocks import Badge, Block, Bullets, Cell, Fold, Heading, Section, Table, Tone, Words, one_figure
from reports.campaign import campaign_columns, control, doubts, heading
from reports.chart_latency import latency_figure
from reports.wording import ABSENT, ended, milliseconds, sentence
from workbench.campaign import Campaign, Entry
from workbench.dossier import Dossier, Spread

TONES: dict[str, Tone] = {"faster": "good", "slower": "bad", "equivalent": "same", "unclear": "doubt", "failed": "bad"}
NOTHING_TIMED = (
    "Nothing was timed, so nothing is known of speed. A study that lists latency under measure is timed at its end; "
    "workbench measure RUN times runs that are there."
)


def speed_section(dossier: Dossier) -> Section:
    """Show every campaign that the comparison rests on."""
    by_task: dict[str, list[Campaign]] = {}
    for campaign in dossier.campaigns:
        by_task.setdefault(campaign.task, []).append(campaign)
    blocks = [block for task, held in by_task.items() for block in _task(task, held, dossier.spreads)]
    return Section("Speed", "speed", tuple(blocks or [Words(NOTHING_TIMED)]))


def _task(task: str, campaigns: Sequence[Campaign], spreads: Sequence[Spread]) -> Iterator[Block]:
    """The chart of all calls on a task, then what each campaign came to."""
    yield Heading(f"Single calls on {task}")
    figure = latency_figure(task, spreads)
    if figure:
        yield one_figure(figure)
    else:
        yield Words(f"There is no chart of single calls on {task}, because none were kept.")
    for campaign in campaigns:
        yield from _campaign(campaign)


def _campaign(campaign: Campaign) -> Iterator[Block]:
    yield Heading(sentence(heading(campaign)).removesuffix("."))
    yield campaign_entries(campaign)
    yield Words(sentence(control(campaign)))
    told = [
        *doubts(campaign),
        *(f"{entry.name} failed: {entry.failure}" for entry in campaign.entries if entry.failure),
    ]
    if told:
        yield Bullets("To bear in mind", tuple(map(ended, told)))
    meanings = tuple(f"{column.heading}: {column.meaning}." for column in campaign_columns(campaign))
    yield Fold("What the columns mean", (Bullets("", meanings),))
    shapes = _shapes(campaign)
    if shapes:
        yield Fold("Times of fixed shapes", (shapes,))


def campaign_entries(campaign: Campaign) -> Table:
    """Lay the entries of a campaign out as a table."""
    columns = campaign_columns(campaign)
    rows = tuple(
        tuple(
            _verdict(column.cell(entry)) if column.heading == "verdict" else Cell(column.cell(entry))
            for column in columns
        )
        for entry in campaign.entries
    )
    words = tuple(place for place, column in enumerate(columns) if not column.numeric)
    return Table("", tuple(column.heading for column in columns), rows, words)


def _verdict(word: str) -> Cell:
    return Cell("", badge=Badge(word, TONES[word])) if word in TONES else Cell(word)


def _shapes(campaign: Campaign) -> Table | None:
    """Times by number of texts and of tokens, where a grid of them was measured."""
    names = {found.metric for entry in campaign.entries for found in entry.measurements}
    shapes = sorted(
        (int(told[1]), int(told[2])) for name in names if (told := re.fullmatch(r"latency/(\d+)x(\d+)", name))
    )
    if not shapes:
        return None
    rows = tuple((Cell(entry.name), *(_shape(entry, *shape) for shape in shapes)) for entry in campaign.entries)
    return Table("", ("variant", *(f"{texts} × {tokens} tokens" for texts, tokens in shapes)), rows)


def _shape(entry: Entry, texts: int, tokens: int) -> Cell:
    found = entry.measured(f"latency/{texts}x{tokens}")
    return Cell(milliseconds(found.value) if found else ABSENT)
