"""The Markdown page is a well-formed table whatever its texts hold, and nothing in them becomes markup."""

import html
import re
from typing import Any

import pytest
from markdown_it import MarkdownIt
from records import a_run as a_record
from records import observed

from reports.columns import COLUMNS
from reports.markdown import comparison_page
from workbench.compare import Comparison
from workbench.run import Run

MEASURED = observed(accuracy=0.8652, disk=91_300_000)
HOSTILE = (
    "a | b",
    "<script>alert(1)</script>",
    "`code`",
    "*loud* _soft_ ~~gone~~",
    "[text](http://example.org)",
    "![picture](x.png)",
    "back\\slash",
    "ends in a backslash \\",
    "\\| and \\` and \\*",
    "&lt; &amp; & <",
    "# no heading",
    "$x$",
)


def a_run(recipe: str, task: str = "reviews", **changes: Any) -> Run:
    return a_record(f"{task}-{recipe}", recipe, **{"study": "demo", "task": task, "measurements": MEASURED, **changes})


def failed(recipe: str, message: str) -> Run:
    return a_run(recipe, failure={"stage": "apply", "message": message}, measurements=[])


def page(*runs: Run) -> str:
    return comparison_page(Comparison.of("demo", runs))


def rendered(text: str) -> str:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)


def cells(text: str) -> list[list[str]]:
    """The table as a reader's program sees it."""
    rows = re.findall(r"<tr>(.*?)</tr>", rendered(text), flags=re.DOTALL)
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def test_the_page_is_a_table_with_every_column_and_every_line():
    text = page(a_run("baseline"), a_run("drop"), a_run("baseline", "other"))
    first, *lines = cells(text)
    assert first == [column.heading for column in COLUMNS]
    assert [line[:2] for line in lines] == [["other", "baseline"], ["reviews", "baseline"], ["reviews", "drop"]]
    assert all(len(line) == len(COLUMNS) for line in lines)
    assert any(cell.startswith("86.52") for cell in lines[0])
    assert "91.3" in lines[0]
    assert "accuracy" in text


def test_every_column_is_explained_and_the_study_named():
    text = rendered(page(a_run("baseline")))
    assert "<h1>Study demo</h1>" in text
    for column in COLUMNS:
        assert f"<strong>{column.heading}</strong>: {html.escape(column.meaning, quote=False)}" in text


def test_there_is_a_list_of_failures_only_when_something_failed():
    assert "Failed" not in page(a_run("baseline"))
    text = rendered(page(a_run("baseline"), failed("drop", "no room")))
    assert "<h2>Failed</h2>" in text
    assert "<li>reviews drop: no room</li>" in text


@pytest.mark.parametrize("words", HOSTILE)
def test_a_failure_is_told_word_for_word(words):
    text = rendered(page(a_run("baseline"), failed("drop", words)))
    (item,) = re.findall(r"<li>(reviews drop.*?)</li>", text, flags=re.DOTALL)
    assert html.unescape(item) == f"reviews drop: {words}"


@pytest.mark.parametrize("words", HOSTILE)
def test_a_name_from_data_stays_one_cell(words):
    text = page(a_run("baseline", task=words))
    _, line = cells(text)
    assert len(line) == len(COLUMNS)
    assert line[0] == words
    assert "<script" not in rendered(text)


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\r", "\n\n# big\n"])
def test_a_line_break_in_a_text_does_not_end_its_row(gap):
    text = page(a_run("baseline", task=f"two{gap}lines"), failed("drop", f"two{gap}lines"))
    assert [len(line) for line in cells(text)] == [len(COLUMNS)] * 3
    assert rendered(text).count("<h1>") == 1


def test_the_page_ends_with_one_line_break():
    text = page(a_run("baseline"))
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
