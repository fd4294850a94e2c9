"""Laid out: the blocks that reports are made of, shown by Streamlit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from reports.blocks import Badge, Block, Bullets, Cell, Code, Figures, Fold, Heading, Headline, Table, Words
from reports.pages.drawing import draw
from reports.pages.plain_words import plain

BOXES = {"good": st.success, "bad": st.error, "doubt": st.warning, "same": st.info}
COLOURS = {"good": "blue", "bad": "red", "doubt": "orange", "same": "gray"}
MARKS = {"good": "▲", "bad": "▼", "same": "=", "doubt": "?"}
# Small charts stand beside each other, so many in a row.
IN_A_ROW = 2


def lay_out(blocks: Iterable[Block]) -> None:
    """Show blocks one below the other."""
    shower = StreamlitBlocks()
    for block in blocks:
        block.shown(shower)


class StreamlitBlocks:
    """Shows every kind of block where the page stands."""

    def headline(self, block: Headline) -> None:
        """Show the answer."""
        BOXES[block.tone](f"**{plain(block.text)}**")

    def heading(self, block: Heading) -> None:
        """Show the name of what comes next."""
        st.markdown(f"##### {plain(block.text)}")

    def words(self, block: Words) -> None:
        """Show a paragraph."""
        st.markdown(plain(block.text))

    def bullets(self, block: Bullets) -> None:
        """Show a list."""
        title = [f"**{plain(block.title)}**\n"] if block.title else []
        st.markdown("\n".join([*title, *(f"- {plain(sentence)}" for sentence in block.sentences)]))

    def table(self, block: Table) -> None:
        """Show a table with every word in sight."""
        if block.title:
            st.markdown(f"**{plain(block.title)}**")
        rulers = ["---" if place in block.texts else "---:" for place in range(len(block.head))]
        rows = [block.head, rulers, *([_cell(cell) for cell in row] for row in block.rows)]
        head = [plain(heading) for heading in rows.pop(0)]
        st.markdown("\n".join(f"| {' | '.join(row)} |" for row in [head, *rows]))

    def figures(self, block: Figures) -> None:
        """Show charts, small ones beside each other."""
        for start in range(0, len(block.figures), IN_A_ROW):
            row = block.figures[start : start + IN_A_ROW]
            for figure, place in zip(row, st.columns(len(row)), strict=True):
                with place:
                    draw(replace(figure, caption=""))
        if block.caption:
            st.caption(plain(block.caption))

    def code(self, block: Code) -> None:
        """Show what can be copied."""
        st.code(block.text, language=block.language)

    def fold(self, block: Fold) -> None:
        """Show what opens on request."""
        with st.expander(plain(block.title)):
            lay_out(block.blocks)


def _cell(cell: Cell) -> str:
    note = f":small[{plain(cell.note)}]" if cell.note else ""
    parts = (plain(cell.text), note, badge(cell.badge) if cell.badge else "")
    return " ".join(part for part in parts if part)


def badge(found: Badge) -> str:
    """A verdict as Markdown, marked by colour and by sign."""
    return f":{COLOURS[found.tone]}-badge[{MARKS[found.tone]} {plain(found.word)}]"
