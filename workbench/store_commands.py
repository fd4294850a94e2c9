"""The commands that look after the store: `workbench remove`, `gc`, `import` and `pack`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from workbench.cache import Cache
from workbench.console import StoreOption, err, out
from workbench.errors import UsageError
from workbench.sizes import spoken_size
from workbench.store import RunStore, default_store

if TYPE_CHECKING:
    from workbench.importing import Outcome
    from workbench.leftovers import Sort
    from workbench.removal import Removal

RunsArgument = Annotated[list[str], typer.Argument(help="Runs, by id or an unambiguous beginning.", metavar="RUN")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it without asking.")]
# What a person can take in at once.
MOST_LINES = 40


def remove(
    runs: RunsArgument,
    with_variants: Annotated[
        bool, typer.Option("--with-variants", help="With a baseline, also remove the runs compared with it.")
    ] = False,
    yes: YesOption = False,
    store: StoreOption = None,
) -> None:
    """Remove runs with all they hold; campaigns that timed them stay."""
    from workbench.removal import Removal

    kept = RunStore(store or default_store())
    removal = Removal.plan(runs, kept, with_variants)
    _print_removal(removal, kept)
    removal.check()
    if not yes and not _agreed(f"Remove {_counted(len(removal.doomed), 'run')}?", refuse_unasked=True):
        raise typer.Exit(1)
    gone, stayed = removal.carry_out(kept)
    out.print(Text(f"removed {_counted(len(gone), 'run')} from {kept.root}"), soft_wrap=True)
    _print_remarks(stayed)
    raise typer.Exit(1 if stayed else 0)


def gc(
    yes: YesOption = False,
    unused: Annotated[
        float, typer.Option("--unused", min=0, help="What nobody needs can go when not read for so many days.")
    ] = 7,
    store: StoreOption = None,
) -> None:
    """Show what the store and the cache hold and what can go, then remove that if you agree."""
    from workbench.leftovers import Survey, clear_away

    kept, cache = RunStore(store or default_store()), Cache.default()
    with err.status("looking at the store and the cache"):
        shown = Survey.take(kept, cache, unused).sorts()
    _print_sorts(shown, kept, cache)
    spare = {leftover.path for sort in shown for leftover in sort.leftovers}
    if not spare:
        out.print("nothing can go")
        return
    if not yes and not _agreed("Remove what can go?", refuse_unasked=False):
        return
    # The answer may have taken long: only what was shown and can still go does.
    current = Survey.take(kept, cache, unused).sorts()
    count, size = clear_away(left for sort in current for left in sort.leftovers if left.path in spare)
    out.print(Text(f"removed {_counted(count, 'thing')}, {spoken_size(size)}"), soft_wrap=True)


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="A run's folder or run.json, a store's folder, or a .tar, .tar.gz or .zip of such.", metavar="FILE"
        ),
    ],
    store: StoreOption = None,
) -> None:
    """Bring in runs that were made elsewhere; each is checked before it is kept, and marked as imported."""
    from workbench.importing import check_sources, import_from

    kept = RunStore(store or default_store())
    check_sources(files, kept)
    kept.prepare()
    outcomes: list[Outcome] = []
    for path in files:
        with err.status(f"importing {path}"):
            outcomes += import_from(path, kept)
    _print_outcomes(outcomes, kept)
    raise typer.Exit(1 if any(outcome.state == "refused" for outcome in outcomes) else 0)


def pack(
    runs: RunsArgument,
    target: Annotated[Path, typer.Option("-o", "--output", help="The archive to write, ending in .tar.gz.")],
    without_artifacts: Annotated[
        bool, typer.Option("--without-artifacts", help="Records and answers only: to compare, not to run.")
    ] = False,
    without_texts: Annotated[
        bool,
        typer.Option("--without-texts", help="Leave the texts of the test rows out, where they must not be passed on."),
    ] = False,
    store: StoreOption = None,
) -> None:
    """Pack runs with their rows and campaigns into one file, for workbench import elsewhere."""
    from workbench.packing import check_target, parcel_of, write_parcel

    kept = RunStore(store or default_store())
    check_target(target)
    chosen = {run.id: run for run in map(kept.find, runs)}
    parcel = parcel_of(list(chosen.values()), kept, artifacts=not without_artifacts, texts=not without_texts)
    with err.status(f"packing {_counted(len(chosen), 'run')}"):
        size = write_parcel(parcel, kept, target)
    beside = f" and {_counted(len(parcel.campaigns), 'campaign')}" if parcel.campaigns else ""
    told = f"packed {_counted(len(chosen), 'run')}{beside} into {target} ({spoken_size(size)})"
    out.print(Text(told), soft_wrap=True)
    _print_remarks(parcel.absent)


def _agreed(question: str, refuse_unasked: bool) -> bool:
    """Ask a person; where there is none, nothing is removed."""
    if sys.stdin.isatty():
        return typer.confirm(question)
    if refuse_unasked:
        raise UsageError("there is no terminal to ask on; say --yes to remove without being asked")
    out.print("nothing was removed: there is no terminal to ask on; say --yes to remove what can go")
    return False


def _print_removal(removal: Removal, store: RunStore) -> None:
    table = Table("run", "study", "status", "size", title=Text(f"to be removed from {store.root}"))
    for run in removal.doomed[:MOST_LINES]:
        study, status = (run.head.study, run.head.status) if run.head else ("–", "damaged")
        table.add_row(*map(Text, (run.id, study, status, spoken_size(run.bytes))))
    out.print(table)
    hidden = len(removal.doomed) - MOST_LINES
    more = f" ({hidden} of them not shown)" if hidden > 0 else ""
    told = f"{_counted(len(removal.doomed), 'run')}{more}, {spoken_size(removal.bytes)}; campaigns that timed them stay"
    out.print(Text(told), soft_wrap=True)


def _print_sorts(sorts: Sequence[Sort], store: RunStore, cache: Cache) -> None:
    table = Table("where", "what", "there", "size", "can go", "frees", "why")
    for sort in sorts:
        size = sum(leftover.bytes for leftover in sort.leftovers)
        spare = (str(len(sort.leftovers)), spoken_size(size)) if sort.leftovers else ("–", "–")
        table.add_row(*map(Text, (sort.place, sort.name, str(sort.count), spoken_size(sort.bytes), *spare, sort.why)))
    out.print(Text(f"store: {store.root}\ncache: {cache.root}"), soft_wrap=True)
    if sorts:
        out.print(table)


def _print_outcomes(outcomes: Sequence[Outcome], store: RunStore) -> None:
    counts = Counter((outcome.state, outcome.what) for outcome in outcomes)
    for state in dict.fromkeys(outcome.state for outcome in outcomes):
        told = [_counted(count, what) for (found, what), count in counts.items() if found == state]
        out.print(Text(f"{state}: {', '.join(told)}"), soft_wrap=True)
    if any(outcome.state == "there without its artifact" for outcome in outcomes):
        out.print("to have the artifact too, remove the run and import it again")
    out.print(Text(f"store: {store.root}"), soft_wrap=True)
    _print_remarks([f"refused: {outcome.said}" for outcome in outcomes if outcome.state == "refused"])


def _print_remarks(remarks: Sequence[str]) -> None:
    for remark in remarks:
        err.print(Text(remark, style="yellow"), soft_wrap=True)


def _counted(count: int, thing: str) -> str:
    """A number of things; a set of rows and one of many are called alike."""
    if thing == "rows":
        return f"test rows of {_counted(count, 'task')}"
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"1 {thing}" if count == 1 else f"{count} {plural}"
