"""Where a report's numbers come from: machines, versions, base and data; what to bear in mind; how to repeat it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reports.blocks import Block, Bullets, Code, Fold, Heading, Section, Table, Words, texts
from reports.campaign import doubts
from reports.wording import ABSENT, duration, ended
from workbench.dossier import Dossier
from workbench.environment import Environment
from workbench.run import Run

# What makes a command one for a part of a study.
PIECE = re.compile(r" (--(task|seed|only)[ =]\S+|--(no-)?timing)(?=\s|$)")

GIGABYTE = 1e9


def environment_section(dossier: Dossier) -> Section:
    """Tell of every machine and set of versions, then of the base and the data of each task."""
    blocks: list[Block] = []
    known = _environments(dossier)
    for place, (environment, uses) in enumerate(known, 1):
        if len(known) > 1:
            blocks.append(Heading(f"Machine {place}: {', '.join(uses)}"))
        blocks.append(texts(("fact", "value"), list(_machine(environment))))
        versions = [(name, version) for name, version in environment.versions.items()]
        blocks.append(Fold("Versions", (texts(("package", "version"), versions),)))
    blocks += [Heading("Base and data"), *_origins(dossier.runs)]
    return Section("Where it was measured", "environment", tuple(blocks))


def caveat_section(dossier: Dossier) -> Section:
    """Gather everything to bear in mind: of the whole, of single recipes, and of what could not be read."""
    of_lines = [f"{line.task} {line.recipe}: {caveat}" for line in dossier.comparison.lines for caveat in line.caveats]
    of_campaigns = [f"timing {campaign.task}: {doubt}" for campaign in dossier.campaigns for doubt in doubts(campaign)]
    groups = (
        ("Of the whole", dossier.comparison.caveats),
        ("Of single recipes", of_lines),
        ("Of the timings", of_campaigns),
        ("What could not be read", dossier.remarks),
    )
    blocks = tuple(Bullets(title, tuple(map(ended, dict.fromkeys(found)))) for title, found in groups if found)
    return Section("To bear in mind", "caveats", blocks or (Words("Nothing that the records show."),))


def repeat_section(dossier: Dossier) -> Section:
    """Give the commands and the study file that repeat it."""
    blocks: list[Block] = [
        *_commands(dossier),
        Words(
            f"The records are in {dossier.store}; this report was written by encoder-workbench {dossier.workbench} on "
            f"{dossier.created[:16].replace('T', ' ')}."
        ),
    ]
    if dossier.study_file is None:
        blocks.append(Words("The study's file was not kept beside its runs."))
    else:
        blocks += [Heading("The study"), Code(dossier.study_file, "yaml")]
    blocks.append(Fold("The runs", (_run_table(dossier.runs),)))
    return Section("To repeat it", "repeat", tuple(blocks))


def _commands(dossier: Dossier) -> Iterator[Block]:
    """The commands that were given; of a study made in pieces, first the one that makes it whole."""
    given = [command for command in dossier.commands if command]
    pieces = Code("\n".join(given), "bash") if given else Words("The commands were not recorded.")
    whole = {PIECE.sub("", command) for command in given if command.startswith("workbench run ")}
    if len(given) < 2 or len(whole) != 1:
        yield pieces
        return
    yield Words("One command makes all of it, and skips what is done:")
    yield Code(whole.pop(), "bash")
    yield Fold("The commands it was made by", (pieces,))


def _environments(dossier: Dossier) -> list[tuple[Environment, list[str]]]:
    """Every environment that differs in what matters, and what it was used for."""
    found: dict[str, tuple[Environment, list[str]]] = {}
    uses = [(campaign.environment, "timed here") for campaign in dossier.campaigns]
    uses += [(run.environment, "made here") for run in dossier.runs]
    for environment, use in uses:
        key = f"{environment.machine_key()} {sorted(environment.versions.items())}"
        known = found.setdefault(key, (environment, []))[1]
        if use not in known:
            known.append(use)
    return list(found.values())


def _machine(found: Environment) -> Iterator[tuple[str, str]]:
    facts = {
        "processor": found.cpu or found.machine,
        "usable cores": str(found.cores),
        "instructions": ", ".join(found.flags) or None,
        "memory": _gigabytes(found.memory_bytes),
        "memory limit": _gigabytes(found.memory_limit_bytes),
        "system": found.system,
        "virtualisation": found.virtualisation,
        "governor": found.governor,
        "boost": None if found.boost is None else "on" if found.boost else "off",
        "instructions held below": found.isa_limit,
        "Python": found.python,
    }
    yield from ((name, value) for name, value in facts.items() if value)


def _gigabytes(value: int | None) -> str | None:
    return None if value is None else f"{value / GIGABYTE:.1f} GB"


def _origins(runs: Sequence[Run]) -> Iterator[Block]:
    """The base and the rows of each task, as its first run recorded them."""
    first = {run.task: run for run in reversed(runs)}
    rows = [(run.task, run.data.source, _rows(run), _labels(run), _base(run)) for run in reversed(first.values())]
    yield texts(("task", "data from", "rows", "labels", "base"), rows)


def _rows(run: Run) -> str:
    counts = ", ".join(f"{role} {count:,}" for role, count in run.data.rows.items())
    return f"{counts}; at most {run.data.limit:,} of each role" if run.data.limit else counts


def _labels(run: Run) -> str:
    labels = run.data.labels
    return ", ".join(labels[:8]) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "") or ABSENT


def _base(run: Run) -> str:
    base = run.base
    if base is None:
        return ABSENT
    revision = f" at {base.revision[:12]}" if base.revision else ""
    if not base.finetuned:
        return f"{base.name}{revision}, not fine-tuned here"
    settings = ", ".join(f"{name} {value}" for name, value in base.settings.items() if not isinstance(value, dict))
    return f"{base.name}{revision}, fine-tuned in {duration(base.cost.wall_seconds)} ({settings})"


def _run_table(runs: Sequence[Run]) -> Table:
    head = ("run", "task", "recipe", "seed", "made", "status", "came from")
    rows = [
        (
            run.id,
            run.task,
            run.recipe.name,
            str(run.seed),
            run.created[:16].replace("T", " "),
            f"failed in {run.failure.stage}: {run.failure.message}" if run.failure else "done",
            run.imported.source if run.imported else "made here",
        )
        for run in runs
    ]
    return texts(head, rows)
