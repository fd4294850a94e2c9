"""A report's folder is there whole or not at all, and nothing is overwritten."""

import pytest

from reports.writing import write_report
from workbench.errors import StoreError, UsageError


def test_everything_is_written_and_listed_with_the_page_first(usual, tmp_path):
    folder = tmp_path / "deep" / "report"
    written = write_report(usual, folder)
    assert written[0] == folder / "report.html"
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {path.relative_to(folder).as_posix() for path in written}
    assert {"report.html", "report.md", "data/comparison.csv", "data/dossier.json"} <= found
    assert any(name.startswith("charts/") and name.endswith(".svg") for name in found)
    assert [path.name for path in folder.parent.iterdir()] == ["report"]


def test_an_empty_folder_is_filled(sunk, tmp_path):
    folder = tmp_path / "report"
    folder.mkdir()
    write_report(sunk, folder)
    assert (folder / "report.html").is_file()


def test_a_folder_that_holds_something_is_left_as_it_is(sunk, tmp_path):
    (tmp_path / "mine.txt").write_text("dear to me")
    with pytest.raises(UsageError, match="nothing is overwritten"):
        write_report(sunk, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_place_that_cannot_be_written_is_told_in_a_sentence(sunk, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write_report(sunk, tmp_path / "file" / "report")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
