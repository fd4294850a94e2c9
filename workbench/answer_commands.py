"""The commands that answer: `workbench compare`, `workbench recommend` and `workbench report`."""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from workbench.console import JsonOption, StoreOption, out, print_json
from workbench.errors import UsageError
from workbench.plugins import REPORTS, load
from workbench.store import RunStore, default_store
from workbench.wish import Aim, Wish

NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(help="A study, or runs by id or an unambiguous beginning; by default the study that was run last."),
]
LatencyOption = Annotated[float | None, typer.Option("--max-latency-ms", help="Median time of one call, at most.")]
SizeOption = Annotated[float | None, typer.Option("--max-size-mb", help="Size on disk in MB, at most.")]
MemoryOption = Annotated[float | None, typer.Option("--max-memory-mb", help="The model's own memory in MB, at most.")]
QualityOption = Annotated[
    str | None,
    typer.Option("--min-quality", help="At least this: 97% of the baseline's (the default), or a score like 85."),
]
OptimiseOption = Annotated[
    Aim | None, typer.Option("--optimise", help="What is to be best within the limits; by default latency.")
]
TaskOption = Annotated[
    str | None, typer.Option("--task", help="One task; by default the only one, or the mean over all.")
]


def compare(
    names: NamesArgument = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of a table.")] = False,
) -> None:
    """Compare a study's runs with their baselines: quality, speed, memory and size, each with its doubts."""
    from workbench.evidence import gather

    if as_json and as_csv:
        raise UsageError("--json and --csv cannot both be printed; choose one")
    comparison = gather(RunStore(store or default_store()), names or ()).comparison()
    if as_json:
        print_json(comparison.model_dump(mode="json"))
    elif as_csv:
        header, *rows = load(REPORTS, "rows")(comparison)
        csv.writer(sys.stdout).writerows([header, *rows])
    else:
        out.print(load(REPORTS, "terminal")(comparison))
    raise typer.Exit(0 if any(line.quality for line in comparison.lines) else 1)


def recommend(
    names: NamesArgument = None,
    store: StoreOption = None,
    max_latency_ms: LatencyOption = None,
    max_size_mb: SizeOption = None,
    max_memory_mb: MemoryOption = None,
    min_quality: QualityOption = None,
    optimise: OptimiseOption = None,
    task: TaskOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which version to ship within your limits, why, how sure that is, and what came next.

    Exit code 1 when nothing qualifies; the nearest miss is told all the same.
    """
    from workbench.evidence import gather
    from workbench.recommend import recommend as pick

    wish = Wish.of(max_latency_ms, max_size_mb, max_memory_mb, min_quality, optimise)
    found = pick(gather(RunStore(store or default_store()), names or ()).comparison(), wish, task)
    if as_json:
        print_json({"headline": found.headline, **found.model_dump(mode="json")})
    else:
        caveats = [Text(f"- {caveat}", style="yellow") for caveat in found.caveats]
        out.print(load(REPORTS, "recommendation")(found), *caveats, sep="\n", soft_wrap=True)
    raise typer.Exit(0 if found.pick else 1)


def report(
    study: Annotated[str | None, typer.Argument(help="A study; by default the one that was run last.")] = None,
    folder: Annotated[Path, typer.Option("-o", "--output", help="Folder to write; it must not exist yet.")] = Path(
        "report"
    ),
    with_records: Annotated[
        bool,
        typer.Option(
            "--with-records", help="Add the records it is computed from, small and without texts, to check it by."
        ),
    ] = False,
    store: StoreOption = None,
    max_latency_ms: LatencyOption = None,
    max_size_mb: SizeOption = None,
    max_memory_mb: MemoryOption = None,
    min_quality: QualityOption = None,
    optimise: OptimiseOption = None,
) -> None:
    """Write a report to look at and pass on: one HTML file, Markdown with charts, and all numbers as CSV and JSON."""
    from workbench.checkable import checkable_dossier
    from workbench.dossier import gather_dossier
    from workbench.evidence import gather

    _check_output(folder)
    kept = RunStore(store or default_store())
    wish = Wish.of(max_latency_ms, max_size_mb, max_memory_mb, min_quality, optimise)
    with tempfile.TemporaryDirectory(prefix="workbench-report-") as workplace:
        if with_records:
            dossier, archive = checkable_dossier(study, kept, wish, Path(workplace))
        else:
            dossier = gather_dossier(gather(kept, [study] if study else []), kept, wish)
        written = load(REPORTS, "folder")(dossier, folder)
        if with_records:
            written.append(Path(shutil.copy(archive, folder)))
    out.print(Text(f"{len(written)} files in {folder}; open {folder / 'report.html'}"), soft_wrap=True)


def _check_output(folder: Path) -> None:
    """Refuse before any work to write where something is."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and nothing is overwritten; choose another folder with -o")
