"""Blocks: what a report is made of, whatever it is written in; each kind of page shows them its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from reports.figure import Figure

Tone = Literal["good", "bad", "doubt", "same"]
Shown = TypeVar("Shown")
Shown_co = TypeVar("Shown_co", covariant=True)


class Shower(Protocol[Shown_co]):
    """A way of showing every kind of block."""

    def headline(self, block: Headline) -> Shown_co:
        """Show the answer."""

    def heading(self, block: Heading) -> Shown_co:
        """Show the name of what comes next."""

    def words(self, block: Words) -> Shown_co:
        """Show a paragraph."""

    def bullets(self, block: Bullets) -> Shown_co:
        """Show a list."""

    def table(self, block: Table) -> Shown_co:
        """Show a table."""

    def figures(self, block: Figures) -> Shown_co:
        """Show charts beside each other."""

    def code(self, block: Code) -> Shown_co:
        """Show what can be copied."""

    def fold(self, block: Fold) -> Shown_co:
        """Show what not every reader wants to see."""


class Block(Protocol):
    """A part of a report."""

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""


@dataclass(frozen=True)
class Badge:
    """A verdict in a word, and how good it is."""

    word: str
    tone: Tone


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what it says, a smaller remark, and a verdict."""

    text: str
    note: str = ""
    badge: Badge | None = None

    @property
    def plain(self) -> str:
        """All of it on one line."""
        note = f"({self.note})" if self.note else ""
        return " ".join(part for part in (self.text, note, self.badge.word if self.badge else "") if part)


@dataclass(frozen=True)
class Headline:
    """The answer in one sentence."""

    text: str
    tone: Tone

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""
        return by.headline(self)


@dataclass(frozen=True)
class Heading:
    """The name of what comes next within a section."""

    text: str

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""
        return by.heading(self)


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""
        return by.words(self)


@dataclass(frozen=True)
class Bullets:
    """A list of sentences, with a word before it."""

    title: str
    sentences: tuple[str, ...]

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""
        return by.bullets(self)


@dataclass(frozen=True)
class Table:
    """Rows of cells under headings; ``texts`` are the places of columns that hold words, not numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    texts: tuple[int, ...] = (0,)

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""
        return by.table(self)


@dataclass(frozen=True)
class Figures:
    """One chart, or several small ones that belong together; ``caption`` is that of all."""

    figures: tuple[Figure, ...]
    caption: str

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""
        return by.figures(self)


@dataclass(frozen=True)
class Code:
    """A text to copy."""

    text: str
    language: str

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""
        return by.code(self)


@dataclass(frozen=True)
class Fold:
    """Blocks that are hidden behind a title until somebody asks for them, where a page can do that."""

    title: str
    blocks: tuple[Block, ...]

    def shown(self, by: Shower[Shown]) -> Shown:
        """Be shown in some way."""
        return by.fold(self)


@dataclass(frozen=True)
class Section:
    """A part of a report with a title; ``anchor`` is its name in links."""

    title: str
    anchor: str
    blocks: tuple[Block, ...]


def one_figure(figure: Figure) -> Figures:
    """A chart that stands alone."""
    return Figures((figure,), figure.caption)


def texts(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Table:
    """A table of words."""
    cells = tuple(tuple(Cell(text) for text in row) for row in rows)
    return Table(title, tuple(head), cells, tuple(range(len(head))))
