"""A campaign as a table for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from reports.columns import Column
from reports.tables import plain_table
from reports.wording import ABSENT, bare_megabytes, significant
from workbench.campaign import Campaign, Entry
from workbench.ratios import Ratio

STYLES = {"faster": "green", "slower": "red", "unclear": "yellow"}


def campaign_table(campaign: Campaign) -> RenderableType:
    """Lay a campaign out as a table, with what to think of it below."""
    columns = campaign_columns(campaign)
    table = plain_table(heading(campaign), columns)
    for entry in campaign.entries:
        style = STYLES.get(campaign.verdict(entry) or "", "")
        table.add_row(*(Text(column.cell(entry), style=style) for column in columns))
    remarks = [Text(remark, style="yellow") for remark in doubts(campaign)]
    return Group(table, Text(control(campaign)), *remarks)


def campaign_columns(campaign: Campaign) -> tuple[Column[Entry], ...]:
    """What a campaign's table shows."""
    return (
        Column("variant", "what was measured; the baseline stands twice", lambda entry: entry.name, numeric=False),
        Column("ms", "median of one call on one text, in milliseconds", lambda entry: _milliseconds(entry, "latency")),
        Column("p90", "nine of ten calls took at most this", lambda entry: _milliseconds(entry, "latency/p90")),
        Column(
            "× faster",
            "the baseline's time over this one's, round by round, with its 95 % interval",
            lambda entry: spoken_ratio(None if entry.name == campaign.baseline else entry.ratio),
        ),
        Column(
            "verdict", "what that interval allows to say", lambda entry: spoken_verdict(campaign, entry), numeric=False
        ),
        Column(
            "with tokens",
            "the same with the making of tokens, from text to answer, in milliseconds",
            lambda entry: _milliseconds(entry, "end-to-end"),
        ),
        Column("texts/s", "in length-sorted batches", lambda entry: _rounded(_value(entry, "throughput"))),
        Column(
            "RAM MB", "the model's own memory at its highest", lambda entry: bare_megabytes(_value(entry, "memory"))
        ),
        Column("start ms", "opening and the first call", lambda entry: _rounded(_cold_start(entry))),
    )


def heading(campaign: Campaign) -> str:
    """What was measured, and how."""
    threads = "1 thread" if campaign.settings.threads == 1 else f"{campaign.settings.threads} threads"
    length = f"{campaign.mean_tokens:.0f} tokens on average" if campaign.mean_tokens else "real texts"
    return f"speed and memory, task {campaign.task}: {threads}, batch 1, {length}, {_processor(campaign)}"


def control(campaign: Campaign) -> str:
    """What the baseline measured against itself shows."""
    if not campaign.was_timed:
        return "control: nothing was timed, so none was needed"
    if campaign.fault:
        return f"noisy: {campaign.fault}; so only what differs by more than that is told, and the rest is unclear"
    ratio = campaign.control
    said = f"{ratio.value:.3f}× ({ratio.low:.3f} to {ratio.high:.3f})" if ratio else ABSENT
    return f"control: the baseline beside itself came out as {said}, as it should"


def doubts(campaign: Campaign) -> list[str]:
    """What a reader must know before trusting the table."""
    found = list(campaign.remarks)
    dropped = campaign.dropped_rounds
    if dropped:
        found.append(f"{dropped} of {len(campaign.rounds)} rounds were noisy; they were dropped and run again")
    for entry in campaign.entries:
        if entry.unchecked:
            found.append(f"{entry.name}: its timed answers could not be checked: {entry.unchecked}")
        if entry.answers and entry.answers.beyond_rounding:
            found.append(
                f"{entry.name}: {entry.answers.beyond_rounding} of {entry.answers.timed} timed answers are not those "
                "of the quality run, so its speed is that of another model"
            )
    doubt = campaign.environment.int8_doubt()
    return [*found, doubt] if doubt else found


def spoken_ratio(ratio: Ratio | None) -> str:
    """A ratio with its interval."""
    return ABSENT if ratio is None else f"{ratio.value:.2f}× ({ratio.low:.2f}–{ratio.high:.2f})"


def spoken_verdict(campaign: Campaign, entry: Entry) -> str:
    """The word for an entry's speed, or that it failed."""
    return "failed" if entry.failure else campaign.verdict(entry) or ABSENT


def _value(entry: Entry, metric: str) -> float | None:
    found = entry.measured(metric)
    return found.value if found else None


def _milliseconds(entry: Entry, metric: str) -> str:
    value = _value(entry, metric)
    return ABSENT if value is None else significant(value)


def _cold_start(entry: Entry) -> float | None:
    parts = [_value(entry, metric) for metric in ("cold-start/load", "cold-start/first-call")]
    return None if None in parts else sum(part for part in parts if part is not None)


def _rounded(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.0f}"


def _processor(campaign: Campaign) -> str:
    return campaign.environment.cpu or campaign.environment.machine
