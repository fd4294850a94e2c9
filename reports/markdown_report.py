"""The report as Markdown with its charts as pictures beside it."""

from __future__ import annotations

from collections.abc import Sequence

from reports.blocks import Block, Bullets, Code, Figures, Fold, Heading, Headline, Section, Table, Words
from reports.figure import Figure
from reports.story import story, summary_of, title_of
from workbench.dossier import Dossier
from workbench.markdown_text import escaped, fenced, table_row

CHARTS = "charts"


def markdown_report(dossier: Dossier, sections: Sequence[Section] | None = None) -> tuple[str, dict[str, bytes]]:
    """Write everything as Markdown; the charts come by their path relative to it.

    ``sections`` are those of its story, where it was told already.
    """
    blocks = MarkdownBlocks()
    parts = [f"# {escaped(title_of(dossier))}", escaped(summary_of(dossier))]
    for section in story(dossier) if sections is None else sections:
        parts += [f"## {escaped(section.title)}", *(blocks.show(block) for block in section.blocks)]
    return "\n\n".join(part for part in parts if part) + "\n", blocks.pictures


class MarkdownBlocks:
    """Shows blocks as Markdown and gathers their pictures."""

    def __init__(self) -> None:
        self.pictures: dict[str, bytes] = {}
        self._depth = 3

    def show(self, block: Block) -> str:
        """Show any block."""
        return block.shown(self)

    def headline(self, block: Headline) -> str:
        """Show the answer."""
        return f"**{escaped(block.text)}**"

    def heading(self, block: Heading) -> str:
        """Show the name of what comes next."""
        return f"{'#' * self._depth} {escaped(block.text)}"

    def words(self, block: Words) -> str:
        """Show a paragraph."""
        return escaped(block.text)

    def bullets(self, block: Bullets) -> str:
        """Show a list."""
        return self._titled(block.title, "\n".join(f"- {escaped(sentence)}" for sentence in block.sentences))

    def table(self, block: Table) -> str:
        """Show a table."""
        rulers = ["---" if place in block.texts else "---:" for place in range(len(block.head))]
        rows = [table_row([cell.plain for cell in row]) for row in block.rows]
        return self._titled(block.title, "\n".join([table_row(block.head), f"| {' | '.join(rulers)} |", *rows]))

    def figures(self, block: Figures) -> str:
        """Show charts as pictures."""
        links = [f"![{escaped(figure.alt)}]({self._kept(figure)})" for figure in block.figures]
        return "\n\n".join(["\n".join(links), f"*{escaped(block.caption)}*"])

    def code(self, block: Code) -> str:
        """Show what can be copied."""
        return fenced(block.text, block.language)

    def fold(self, block: Fold) -> str:
        """Show what belongs to a title; Markdown hides nothing."""
        title = f"{'#' * self._depth} {escaped(block.title)}"
        self._depth += 1
        inner = [self.show(inner) for inner in block.blocks]
        self._depth -= 1
        return "\n\n".join([title, *inner])

    def _titled(self, title: str, text: str) -> str:
        return f"**{escaped(title)}**\n\n{text}" if title else text

    def _kept(self, figure: Figure) -> str:
        """Keep a picture under a name of its own."""
        picture, number = figure.svg().encode(), 1
        path = f"{CHARTS}/{figure.name}.svg"
        while self.pictures.get(path, picture) != picture:
            number += 1
            path = f"{CHARTS}/{figure.name}-{number}.svg"
        self.pictures[path] = picture
        return path
