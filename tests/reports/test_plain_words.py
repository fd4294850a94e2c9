"""Words from data show as they are on a page, and no page takes a way around that."""

from __future__ import annotations

import ast
from html import unescape
from pathlib import Path

import pytest

from reports.pages.plain_words import JOINER, plain

PAGES = sorted((Path(__file__).parents[2] / "reports" / "pages").glob("*.py"))
# Ways of Streamlit to put markup on a page.
RAW = {"html", "iframe", "unsafe_allow_html", "components"}


@pytest.mark.parametrize(
    "text", ["plain", "two words, a number 1.5 and 97 %", "sst2: is it positive?", "(a) b", "with --store"]
)
def test_ordinary_words_stay_as_they_are(text):
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("**x** _y_ `z`", r"\*\*x\*\* \_y\_ \`z\`"),
        ("[x](y)", r"\[x\](y)"),
        ("$x^2$", r"\$x^2\$"),
        (":red[x]", r"\:red\[x\]"),
        ("package:name/folder", r"package\:name/folder"),
        ("two\nlines", "two lines"),
    ],
)
def test_markup_is_escaped(text, shown):
    assert plain(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        *(":smile:", ":+1:", "x:material/home:y", "http://example.org/x", "www.example.org", "WWW.x.org", "me@x.org"),
        *("a -- b", "a <- b", "a >= b", "->"),
    ],
)
def test_what_is_replaced_after_reading_is_kept_apart(text):
    shown = plain(text)
    assert JOINER in shown
    assert unescape(shown.replace(JOINER, "").replace("\\", "")) == text


@pytest.mark.parametrize("text", ["# title", "- item", "+ item", "1. item", "=== x", "    # title"])
def test_a_text_does_not_begin_a_list_or_a_heading(text):
    assert plain(text).startswith(JOINER)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_shows_raw_markup(page):
    for node in ast.walk(ast.parse(page.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            assert node.attr not in RAW, f"line {node.lineno}"
        if isinstance(node, ast.keyword):
            assert node.arg not in RAW, f"line {node.value.lineno}"
