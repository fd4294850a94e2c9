"""What a browser would find in a page: tables, links, scripts and words."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "hr", "input"}


class HtmlPage(HTMLParser):
    """A page taken apart. Cells are the plain words in them; ``opened`` are all tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self.opened: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.words = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))
        elif tag == "small":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1] == tag, f"{tag} is closed within {self.open}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)
            return
        if "style" in self.open:
            return
        self.words += data
        if "td" in self.open or ("th" in self.open and self.tables):
            self.tables[-1][-1][-1] += data

    def table(self, *headings: str) -> list[dict[str, str]]:
        """The first table that has these headings, as rows by heading."""
        for head, *rows in self.tables:
            if set(headings) <= set(head):
                return [dict(zip(head, map(str.strip, row), strict=True)) for row in rows]
        raise AssertionError(f"no table with {headings}; there are {[table[0] for table in self.tables]}")
