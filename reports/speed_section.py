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
    blocks = [block for campaign in dossier.campaigns for block in _campaign(campaign, dossier.spreads)]
    return Section("Speed", "speed", tuple(blocks or [Words(NOTHING_TIMED)]))


def _campaign(campaign: Campaign, spreads: Sequence[Spread]) -> Iterator[Block]:
    yield Heading(sentence(heading(campaign)).removesuffix("."))
    figure = latency_figure(campaign.task, spreads)
    if figure:
        yield one_figure(figure)
    else:
        yield Words("There is no chart of single calls, because none were kept.")
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
