"""The commands that measure: `workbench measure` and `workbench doctor`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from workbench.console import JsonOption, StoreOption, given_command, out, print_json
from workbench.doctor import Finding, a_a_finding, examine, fit
from workbench.errors import StoppedError
from workbench.measuring import Measuring
from workbench.plugins import REPORTS, load
from workbench.progress import OnConsole, Quiet, Reporter
from workbench.store import RunStore, default_store

STYLES = {"good": "green", "doubtful": "yellow", "bad": "red"}


def measure(
    runs: Annotated[list[str], typer.Argument(help="Runs, by id or an unambiguous beginning; their baseline joins.")],
    store: StoreOption = None,
    threads: Annotated[int, typer.Option("--threads", min=0, help="Threads of an encoder; 0: all usable cores.")] = 1,
    grid: Annotated[bool, typer.Option("--grid", help="Also time batches of 1, 8, 32 by 16 to 128 tokens.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A short look: about half a minute a run.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure speed and memory of kept runs again, all beside each other and their baseline."""
    from workbench.campaigning import hold_campaign
    from workbench.contest import contest_of

    kept = RunStore(store or default_store())
    chosen = [kept.find(name) for name in runs]
    settings = Measuring(threads=threads, grid=grid, quick=quick)
    contest = contest_of(chosen, kept, settings.texts)
    kept.prepare()
    progress = Quiet() if as_json else OnConsole(out)
    try:
        campaign = hold_campaign(contest, settings, kept, progress, given_command())
    except KeyboardInterrupt:
        raise StoppedError("stopped; a campaign is kept whole or not at all, so nothing was kept of it") from None
    if as_json:
        print_json(campaign.model_dump(mode="json"))
    else:
        out.print(load(REPORTS, "campaign")(campaign))
    raise typer.Exit(1 if any(entry.failure for entry in campaign.entries) else 0)


def doctor(
    store: StoreOption = None,
    timing: Annotated[
        bool, typer.Option("--timing/--no-timing", help="Time a small encoder against itself (about a minute).")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Say in plain words whether this machine is fit to measure on, and what to do about it."""
    from workbench.cache import Cache

    progress = Quiet() if as_json else OnConsole(out)
    findings = examine(store or default_store(), Cache.default().root)
    if timing:
        findings.append(timed_against_itself(progress, Measuring(quick=True).settled()))
    if as_json:
        print_json({"verdict": fit(findings), "findings": [vars(finding) for finding in findings]})
    else:
        _print_findings(findings)
    raise typer.Exit(1 if any(finding.level == "bad" for finding in findings) else 0)


def timed_against_itself(progress: Reporter, settings: Measuring) -> Finding:
    """Time a small encoder of random weights beside itself, and say how alike both came out."""
    from workbench.coordinator import RULER, Coordinator, Field
    from workbench.ratios import ratio_of
    from workbench.ruler_texts import TEXTS

    with TemporaryDirectory() as scratch:
        artifact = Path(scratch) / "ruler"
        artifact.mkdir()
        field = Field({"first": artifact, "second": artifact}, TEXTS)
        log = Coordinator(field, settings, Path(scratch), progress, RULER).time_all()
    failures = [seen.failure for seen in log.seen.values() if seen.failure]
    if failures:
        return Finding("same against same", "bad", f"nothing can be timed: {failures[0]}", "mend this first")
    ratio = ratio_of(log.timings().log_ratios("first", "second"))
    assert ratio is not None
    return a_a_finding(ratio.value, ratio.low, ratio.high)


def _print_findings(findings: list[Finding]) -> None:
    table = Table("topic", "", "seen", "what to do", show_lines=True)
    for finding in findings:
        level = Text(finding.level, style=STYLES[finding.level])
        table.add_row(Text(finding.topic), level, Text(finding.saw), Text(finding.advice))
    out.print(table)
    out.print(Text(fit(findings), style="bold"))
