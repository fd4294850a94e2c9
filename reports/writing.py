"""Writing: the whole report as a folder, there whole or not at all."""

from __future__ import annotations

import contextlib
from pathlib import Path

from reports.data_files import data_files
from reports.html import html_report
from reports.markdown_report import markdown_report
from reports.story import story
from workbench.dossier import Dossier
from workbench.errors import StoreError, UsageError
from workbench.files import files_below, written_whole

PARTIALS = ".workbench-partial"


def write_report(dossier: Dossier, folder: Path) -> list[Path]:
    """Write HTML, Markdown, charts and data into a new folder; give the files, the page to open first."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and nothing is overwritten; choose another folder")
    contents = report_files(dossier)
    partials = folder.parent / PARTIALS
    try:
        with written_whole(folder, partials) as partial:
            for name, content in contents.items():
                path = partial / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written ({error.strerror or error}); choose another folder") from None
    finally:
        with contextlib.suppress(OSError):
            partials.rmdir()
    first = folder / "report.html"
    return [first, *(path for path in files_below(folder) if path != first)]


def report_files(dossier: Dossier) -> dict[str, bytes]:
    """Every file of a report by its path in the folder."""
    # Drawing the charts is what takes time, so it is done once.
    sections = story(dossier)
    markdown, pictures = markdown_report(dossier, sections)
    return {
        "report.html": html_report(dossier, sections).encode(),
        "report.md": markdown.encode(),
        **pictures,
        **{f"data/{name}": text.encode() for name, text in data_files(dossier).items()},
    }
