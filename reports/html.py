"""The report as one HTML file that needs nothing else: no network and no other file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import cast

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from reports.blocks import Block, Bullets, Code, Figures, Fold, Heading, Headline, Section, Table, Words
from reports.figure import vega_lite
from reports.story import story, summary_of, title_of
from workbench.dossier import Dossier

MARKS = {"good": "▲", "bad": "▼", "same": "=", "doubt": "?"}


def html_report(dossier: Dossier, sections: Sequence[Section] | None = None) -> str:
    """Write everything into one page; ``sections`` are those of its story, where it was told already."""
    scripts = [vega_bundle(), _own("report.js")]
    return (
        _pages()
        .get_template("report.html.j2")
        .render(
            title=title_of(dossier),
            summary=summary_of(dossier),
            sections=story(dossier) if sections is None else sections,
            styles=_own("report.css"),
            scripts=scripts,
            policy=content_policy(scripts),
        )
    )


def content_policy(scripts: list[str]) -> str:
    """What a browser may do with the page: run just these scripts, and fetch nothing from anywhere."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vega_lite())


class HtmlBlocks:
    """Shows blocks as HTML, each by the macro of its name."""

    def __init__(self, environment: Environment) -> None:
        environment.globals["show"] = self.show
        environment.globals["marks"] = MARKS
        self._macros = environment.get_template("blocks.html.j2").module

    def show(self, block: Block) -> str:
        """Show any block."""
        return block.shown(self)

    def headline(self, block: Headline) -> str:
        """Show the answer."""
        return self._by("headline", block)

    def heading(self, block: Heading) -> str:
        """Show the name of what comes next."""
        return self._by("heading", block)

    def words(self, block: Words) -> str:
        """Show a paragraph."""
        return self._by("words", block)

    def bullets(self, block: Bullets) -> str:
        """Show a list."""
        return self._by("bullets", block)

    def table(self, block: Table) -> str:
        """Show a table that scrolls in its own box."""
        return self._by("table", block)

    def figures(self, block: Figures) -> str:
        """Show charts, to be drawn by the page's script."""
        return self._by("figures", block)

    def code(self, block: Code) -> str:
        """Show what can be copied."""
        return self._by("code", block)

    def fold(self, block: Fold) -> str:
        """Show what opens on request."""
        return self._by("fold", block)

    def _by(self, macro: str, block: Block) -> str:
        # What a macro gives is marked as safe, so that the page does not escape it again.
        return cast(str, getattr(self._macros, macro)(block))


@cache
def _pages() -> Environment:
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    HtmlBlocks(environment)
    return environment


def _own(name: str) -> str:
    return files("reports").joinpath("templates", name).read_text(encoding="utf-8")
