"""The Markdown report tells the same as the page, with pictures beside it, and nothing in its words becomes markup."""

import html
import re

import pandas as pd
import pytest
from dossiers import HOSTILE_LABELS, HOSTILE_MESSAGE, HOSTILE_TASK, HOSTILE_TEXTS
from html_pages import HtmlPage
from markdown_it import MarkdownIt

from reports.markdown_report import markdown_report


def rendered(text: str) -> HtmlPage:
    return HtmlPage(MarkdownIt("commonmark", {"xhtmlOut": False}).enable(["table"]).render(text))


@pytest.fixture(scope="module")
def usual_report(usual):
    return markdown_report(usual)


@pytest.fixture(scope="module")
def hostile_report(hostile):
    return markdown_report(hostile)


def test_every_picture_is_linked_and_every_link_has_its_picture(usual_report):
    text, pictures = usual_report
    links = [attributes["src"] for tag, attributes in rendered(text).opened if tag == "img"]
    assert set(links) == set(pictures)
    assert all(re.fullmatch(r"charts/[a-z0-9.-]+\.svg", link) for link in links)
    assert all(picture.startswith(b"<svg") for picture in pictures.values())
    assert any(name.startswith("charts/pareto") for name in pictures)


def test_pictures_have_no_paper_of_their_own(usual_report):
    _, pictures = usual_report
    for picture in pictures.values():
        assert b'fill="white"' not in picture.partition(b"<g")[0]
        assert b"http://www.w3.org" in picture
        assert not re.search(rb'(?:href|src)="(?!#)', picture)


def test_numbers_are_those_of_the_files(usual, usual_report):
    text, _ = usual_report
    given = pd.read_parquet(f"{usual.store}/runs/reviews-student-s0/predictions.parquet")
    right = (given["prediction"] == given["label"]).mean()
    page = rendered(text)
    row = next(row for row in page.table("recipe", "quality", "disk") if row["recipe"].startswith("int8"))
    assert row["disk"] == "22.5 MB (4.00×) smaller"
    cells = [line[1] for table in page.tables for line in table if line[0].startswith("student (")]
    assert cells and all(cell.startswith(f"{100 * right:.2f}") for cell in cells)


def test_the_answer_comes_first(usual, usual_report):
    text, _ = usual_report
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "The answer"
    assert headings[-1] == "To repeat it"
    assert "**Ship int8.**" in text or "**Ship int8, as far as the measurements can tell.**" in text


def test_words_from_data_stay_words(hostile, hostile_report):
    text, _ = hostile_report
    page = rendered(text)
    assert not any(tag in ("script", "b") for tag, _ in page.opened)
    links = [attributes for tag, attributes in page.opened if tag in ("a", "img")]
    assert all((found.get("src") or "").startswith("charts/") for found in links)
    assert HOSTILE_TASK in page.words
    assert HOSTILE_MESSAGE in page.words
    for label in HOSTILE_LABELS:
        assert label in page.words
    for told in HOSTILE_TEXTS:
        assert " ".join(told.split()) in " ".join(page.words.split())


def test_tables_keep_their_shape_whatever_stands_in_them(hostile_report):
    text, _ = hostile_report
    for table in rendered(text).tables:
        assert len({len(row) for row in table}) == 1


def test_tasks_whose_names_become_one_file_name_keep_their_own_pictures(usual):
    lines = usual.comparison.lines
    other = [line.model_copy(update={"task": "reviews!", "disk": None}) for line in lines]
    both = usual.comparison.model_copy(update={"lines": (*lines, *other)})
    _, pictures = markdown_report(usual.model_copy(update={"comparison": both}))
    assert {"charts/pareto-reviews.svg", "charts/pareto-reviews-2.svg"} <= set(pictures)
    assert pictures["charts/pareto-reviews.svg"] != pictures["charts/pareto-reviews-2.svg"]


def test_nothing_finished_is_a_whole_report(sunk):
    text, pictures = markdown_report(sunk)
    assert pictures == {}
    assert "There is no recommendation" in html.unescape(text)
    assert text.endswith("\n") and not text.endswith("\n\n")
