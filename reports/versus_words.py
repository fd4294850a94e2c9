"""Versus in words: how much two recipes differ in every respect, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator

from reports.blocks import Badge, Cell, Table
from reports.comparison_cells import MEMORY, SIZE, TONES, badge
from reports.wording import ABSENT, chance, counted, megabytes, millions, milliseconds, percent, points, points_between
from reports.wording import score as scored
from workbench.delta import WORDS, Delta
from workbench.judged import Judged
from workbench.versus import Speed, Versus
from workbench.wish import DEFAULT_KEPT

NAMES = {"memory": "memory", "disk": "size on disk", "parameters": "parameters", "macs": "operations (MACs)"}
FEWER = {"better": "fewer", "worse": "more"}
COUNTED_WORDS = {"memory": MEMORY, "disk": SIZE, "parameters": FEWER, "macs": FEWER}


def versus_table(found: Versus) -> Table:
    """Every respect in which both were measured, the first recipe beside the second."""
    rows = [
        *([_quality_row(found.judged)] if found.judged else []),
        *([_speed_row(found.speed)] if found.speed else []),
        *(_counted_row(delta) for delta in found.counted),
    ]
    head = ("", found.first, found.second, "difference", "95 % interval", f"{found.second} is")
    return Table("", head, tuple(rows), (0, 5))


def quality_words(found: Versus) -> Iterator[str]:
    """What may be said of the difference in quality, in sentences."""
    judged = found.judged
    if judged is None:
        return
    yield (
        f"{found.second} differs from {found.first} by {points(judged.ours - judged.base)} points of {judged.metric} "
        f"× 100 on {counted(judged.rows, 'test row')}; the difference may be {points_between(judged.low, judged.high)} "
        f"(95 % interval)."
    )
    yield (
        f"By the {judged.test} test, a difference at least this large comes about by chance with p {_p(judged)}. "
        "This is one look at one task; nothing is adjusted for looking at many."
    )
    yield _kept_words(judged, found.first)
    yield f"They answer {percent(judged.agreement)} of the rows alike{_whatever(judged)}."
    if len(judged.seeds) == 1:
        yield "With one seed the interval tells of other test rows, not of training again."


def _p(judged: Judged) -> str:
    told = chance(judged.p)
    return told if told.startswith("<") else f"= {told}"


def _kept_words(judged: Judged, first: str) -> str:
    asked = f"{100 * DEFAULT_KEPT:g} % of the {judged.metric} of {first}"
    largest = judged.largest_share
    if judged.keeps(DEFAULT_KEPT):
        return f"It keeps at least {asked}: that is shown, one-sided at 95 %; up to {percent(largest)} is."
    known = f"; what is shown is {percent(largest)}" if largest is not None else ""
    return f"That it keeps at least {asked} is not shown (one-sided at 95 %){known}."


def _whatever(judged: Judged) -> str:
    return ", right or wrong" if judged.divergence_unit == "nats" else " (as a correlation of their scores)"


def _quality_row(judged: Judged) -> tuple[Cell, ...]:
    word = Cell("", badge=Badge(judged.verdict, TONES[judged.verdict]))
    ends = f"{points_between(judged.low, judged.high)} points"
    told = f"{points(judged.ours - judged.base)} points"
    values = (scored(judged.base), scored(judged.ours), told, ends)
    return (Cell(f"quality ({judged.metric} × 100)"), *map(Cell, values), word)


def _speed_row(speed: Speed) -> tuple[Cell, ...]:
    ratio = speed.ratio
    word = Cell("", badge=Badge(speed.verdict, TONES[WORDS[speed.verdict]]))
    ends = f"{ratio.low:.2f} to {ratio.high:.2f} times"
    values = (milliseconds(speed.first_ms), milliseconds(speed.second_ms), f"{ratio.value:.2f} times as fast", ends)
    return (Cell("time of one call"), *map(Cell, values), word)


def _counted_row(delta: Delta) -> tuple[Cell, ...]:
    told = megabytes if delta.unit == "bytes" else millions
    word = badge(delta, COUNTED_WORDS[delta.metric])
    known = "exact" if not delta.within else f"known within {100 * delta.within:g} %"
    values = (told(delta.base), told(delta.value), _spoken_times(delta.times), known)
    return (Cell(NAMES[delta.metric]), *map(Cell, values), Cell("", badge=word))


def _spoken_times(times: float | None) -> str:
    """How many times less the second has than the first, or more."""
    if not times:
        return ABSENT
    if round(times, 2) == 1:
        return "the same"
    return f"{times:.2f} times less" if times > 1 else f"{1 / times:.2f} times more"
