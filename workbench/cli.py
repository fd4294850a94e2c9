"""The command `workbench`: parses, calls, prints."""

from __future__ import annotations

import os
import traceback
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from workbench import __version__
from workbench.answer_commands import compare, recommend, report
from workbench.console import JsonOption, StoreOption, err, given_command, out, print_json
from workbench.dashboard_command import dashboard
from workbench.errors import DEBUG_VARIABLE, StoppedError, UsageError, WorkbenchError
from workbench.files import is_disk_full, replace_folder, write_text_whole
from workbench.listing import LISTINGS, Listing, listing_of
from workbench.measuring_commands import doctor, measure
from workbench.plugins import REPORTS, load
from workbench.run_filter import RunFilter
from workbench.store import RunStore, default_store
from workbench.store_commands import gc, import_, pack, remove
from workbench.study import Study, find_study
from workbench.tasks.sources import GLUE_DIR_VARIABLE
from workbench.using_commands import export, predict

if TYPE_CHECKING:
    # It brings scipy along, which would double the time of every listing.
    from workbench.campaign import Campaign
    from workbench.plan import Plan

Subject = StrEnum("Subject", list(LISTINGS))  # type: ignore[misc]  # made from what can be listed
Status = StrEnum("Status", ["done", "failed"])
# Rich takes half a millisecond to lay out a row of a table.
MOST_ROWS_IN_A_BOX = 300

app = typer.Typer(
    name="workbench",
    help="Compress BERT-family encoders, measure every version the same way, and choose which one to ship.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(__version__)
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Options of every command."""
    os.environ[DEBUG_VARIABLE] = "1" if debug else ""


@app.command()
def run(
    study: Annotated[str, typer.Argument(help="A study file, or the name of an embedded study (demo, glue).")],
    store: StoreOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Run only this recipe, and the baseline; may be repeated.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", help="Run only this task of the study; may be repeated.")
    ] = None,
    seed: Annotated[
        list[int] | None, typer.Option("--seed", help="Use this seed instead of the study's; may be repeated.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Use at most this many rows of each role.")
    ] = None,
    glue_dir: Annotated[
        Path | None,
        typer.Option("--glue-dir", help=f"GLUE data in its classic folder layout; by default ${GLUE_DIR_VARIABLE}."),
    ] = None,
    timing: Annotated[
        bool, typer.Option("--timing/--no-timing", help="Measure speed and memory at the end, or leave it for later.")
    ] = True,
    check: Annotated[bool, typer.Option("--check", help="Only say what would be made, and do nothing.")] = False,
) -> None:
    """Carry out a study: make, measure and keep every run that is not there yet."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("a study is carried out by one process; start workbench run without torchrun")
    if glue_dir:
        os.environ[GLUE_DIR_VARIABLE] = str(glue_dir.resolve())
    chosen = find_study(study).narrowed(tuple(task or ()), tuple(seed or ())).changed(limit=limit)
    if not timing:
        chosen = chosen.changed(measure=chosen.run_probes)
    try:
        code = _carry_out(chosen, RunStore(store or default_store()), tuple(only or ()), check)
    except KeyboardInterrupt:
        # Typer would end without a word.
        raise StoppedError("stopped; what was finished is kept, run the same command to go on") from None
    raise typer.Exit(code)


@app.command("list")
def list_(
    what: Annotated[Subject, typer.Argument(help="What to list.")],
    store: StoreOption = None,
    study: Annotated[list[str] | None, typer.Option("--study", help="Only runs of this study; repeatable.")] = None,
    task: Annotated[list[str] | None, typer.Option("--task", help="Only runs of this task; repeatable.")] = None,
    recipe: Annotated[list[str] | None, typer.Option("--recipe", help="Only runs of this recipe; repeatable.")] = None,
    seed: Annotated[list[int] | None, typer.Option("--seed", help="Only runs with this seed; repeatable.")] = None,
    status: Annotated[Status | None, typer.Option("--status", help="Only runs that came to this end.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List strategies, tasks, recipes, studies, runs or plugins."""
    wanted = RunFilter(
        study=tuple(study or ()),
        task=tuple(task or ()),
        recipe=tuple(recipe or ()),
        seed=tuple(seed or ()),
        status=(status.value,) if status else (),
    )
    listing = listing_of(what.value, RunStore(store or default_store()), wanted)
    if as_json:
        print_json({"rows": listing.rows, "remarks": listing.remarks})
    else:
        _print_listing(listing)


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="A run's id, or an unambiguous beginning of it.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show everything that is known of a run."""
    from workbench.showing import run_facts

    kept = RunStore(store or default_store())
    found = kept.find(run)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    table = Table("fact", "value", title=Text(f"run {found.id}"), title_justify="left")
    for fact, value in run_facts(found, kept.folder(found.id)):
        table.add_row(fact, Text(value))
    out.print(table)


app.command()(compare)
app.command()(recommend)
app.command()(report)
app.command()(dashboard)
app.command()(export)
app.command()(predict)
app.command()(measure)
app.command()(doctor)
app.command()(remove)
app.command()(gc)
app.command("import")(import_)
app.command()(pack)


def main() -> None:
    """Run a command; what goes wrong is told in a sentence, with the traceback only on request."""
    try:
        app(standalone_mode=True)
    except WorkbenchError as error:
        _complain(str(error), error.exit_code)
    except OSError as error:
        way_out = "; make room and try again" if is_disk_full(error) else ""
        _complain(f"{error.filename or 'the system'}: {error.strerror or error}{way_out}", 1)


def _carry_out(study: Study, store: RunStore, only: tuple[str, ...], check: bool) -> int:
    from workbench.hub import settle_hub_access
    from workbench.progress import reporter_on

    settle_hub_access()
    progress = reporter_on(out)
    with out.status("reading the study, its base and its data"):
        from workbench.cache import Cache
        from workbench.execute import Executor
        from workbench.plan import make_plan
        from workbench.silence import quieten_libraries
        from workbench.study_campaigns import measure_study

        quieten_libraries()
        plan = make_plan(study, only)
    for remark in plan.remarks:
        out.print(Text(remark, style="yellow"), soft_wrap=True)
    if check:
        return _tell_plan(plan, store)
    tally = Executor(plan, store, Cache.default(), progress, given_command()).run_all()
    if not (tally.made or tally.failed or tally.skipped):
        progress.say(f"nothing to do: all {len(tally.there)} runs of study {study.name} are in {store.root}")
    done = [store.read(run_id) for run_id in (*tally.there, *tally.made)]
    campaigns = measure_study(study, done, store, progress, given_command())
    _print_results(study, store, {planned.data.fingerprint for planned in plan.runs}, campaigns)
    missing = any(entry.failure for campaign in campaigns for entry in campaign.entries)
    return 1 if tally.failed or tally.skipped or missing else 0


def _tell_plan(plan: Plan, store: RunStore) -> int:
    there = {planned.id for planned in plan.runs if store.finished(planned.id)}
    count = len(plan.runs)
    for number, planned in enumerate(plan.runs, 1):
        state = "already done" if planned.id in there else "to be made"
        out.print(Text(f"[{number}/{count}] {planned.title}: {state}"), soft_wrap=True)
    said = f"study {plan.study.name}: {count} runs, {len(there)} already done, {count - len(there)} to be made"
    out.print(Text(said), soft_wrap=True)
    return 0


def _print_results(study: Study, store: RunStore, rows: set[str], campaigns: list[Campaign]) -> None:
    from workbench.dossier import gather_dossier
    from workbench.evidence import gather

    if study.file:
        write_text_whole(store.study_file(study.name), study.file.read_text(encoding="utf-8"))
    dossier = gather_dossier(gather(store, [study.name], rows), store)
    out.print(load(REPORTS, "terminal")(dossier.comparison), *map(load(REPORTS, "campaign"), campaigns))
    if dossier.recommendation:
        out.print(load(REPORTS, "recommendation")(dossier.recommendation), soft_wrap=True)
    page = store.root / "reports" / study.name
    with store.scratch("report") as scratch:
        load(REPORTS, "folder")(dossier, scratch / "new")
        replace_folder(scratch / "new", page)
    told = f"report: {page / 'report.html'}\nrecords: {store.root}/runs (workbench list runs --store {store.root})"
    out.print(Text(told), soft_wrap=True)


def _print_listing(listing: Listing) -> None:
    if not listing.rows:
        out.print(Text(f"no {listing.title} yet"))
    elif len(listing.rows) > MOST_ROWS_IN_A_BOX:
        out.print(Text(_plain_table(listing)), soft_wrap=True)
    else:
        columns = listing.columns or tuple(listing.rows[0])
        table = Table(title=Text(listing.title), title_justify="left", show_lines=any(map(_is_long, listing.rows)))
        for number, column in enumerate(columns):
            table.add_column(column, overflow="fold", no_wrap=number == 0)
        for row in listing.rows:
            table.add_row(*(Text(_cell(row[column])) for column in columns))
        out.print(table)
    for remark in listing.remarks:
        err.print(Text(remark, style="yellow"))


def _plain_table(listing: Listing) -> str:
    columns = listing.columns or tuple(listing.rows[0])
    rows = [list(columns), *([_cell(row[column]) for column in columns] for row in listing.rows)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join([listing.title, *lines])


def _is_long(row: dict[str, Any]) -> bool:
    return any(len(_cell(value)) > 60 for value in row.values())


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4f}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _complain(message: str, code: int) -> None:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exc()
    err.print(Text(f"error: {message}", style="red"), soft_wrap=True)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
