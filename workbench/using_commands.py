"""The commands that use what was made: `workbench export` and `workbench predict`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from workbench.console import JsonOption, StoreOption, err, out, print_json
from workbench.errors import StoppedError, UsageError
from workbench.given_texts import given_texts
from workbench.lineage import Manifest
from workbench.prediction_records import Answer, Answered
from workbench.run import Run
from workbench.store import ARTIFACT, RunStore, default_store
from workbench.usage_example import EXAMPLE

LONGEST_TEXT = 60
RunArgument = Annotated[str, typer.Argument(help="A run's id, or an unambiguous beginning of it.")]


class Format(StrEnum):
    """What a run can be exported as."""

    HF = "hf"
    ONNX = "onnx"
    OPENVINO = "openvino"


def export(
    run: RunArgument,
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.", metavar="DIR")],
    to: Annotated[Format, typer.Option("--to", help="A transformers folder, an ONNX or an OpenVINO graph.")],
    store: StoreOption = None,
) -> None:
    """Write a kept run as a folder that works by itself, with its model card and an example."""
    kept = RunStore(store or default_store())
    found = kept.find(run)
    try:
        with err.status(f"exporting {found.id}"):
            from workbench.exporting import export_run
            from workbench.silence import quieten_libraries

            quieten_libraries()
            made = export_run(found, kept, folder, to.value)
    except KeyboardInterrupt:
        raise StoppedError("stopped; an export is written whole or not at all, so nothing was written") from None
    lines = [f"exported {found.id} as {to.value} to {made.folder} ({made.bytes / 1e6:.1f} MB)", made.check.words]
    if made.check.doubt:
        lines.append(made.check.doubt)
    if to is Format.HF and not made.portable:
        lines.append("no stock transformers class has its shape, so it opens with the workbench; its card says how")
    lines.append(f"try it: python {made.folder / EXAMPLE}")
    out.print(Text("\n".join(lines)), soft_wrap=True)


def predict(
    run: RunArgument,
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="Texts; the two of a pair are separated by a tab or by ' ||| '.", metavar="TEXT"),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="One text, or pair, a line; - is standard input.")] = None,
    beside: Annotated[
        list[str] | None, typer.Option("--beside", help="Another run to ask the same; may be repeated.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask kept runs about texts of your own: labels with probabilities, or scores, and the time of each answer."""
    kept = RunStore(store or default_store())
    runs = list({found.id: found for found in map(kept.find, [run, *(beside or ())])}.values())
    given = given_texts(texts or (), file, _text_count(runs, kept))
    try:
        # What moves on the screen takes time from what is being timed.
        with err.status(f"asking {', '.join(found.id for found in runs)}", refresh_per_second=1):
            answered = _ask(runs, kept, given)
    except KeyboardInterrupt:
        raise StoppedError("stopped") from None
    if as_json:
        print_json([one.model_dump(mode="json", exclude_none=True) for one in answered])
    else:
        out.print(_table(answered))


def _ask(runs: Sequence[Run], store: RunStore, texts: Sequence[tuple[str, ...]]) -> tuple[Answered, ...]:
    from workbench.predicting import Predictor
    from workbench.silence import quieten_libraries

    quieten_libraries()
    return Predictor(len(runs)).answers({run.id: store.folder(run.id) / ARTIFACT for run in runs}, texts)


def _text_count(runs: Sequence[Run], store: RunStore) -> int:
    """How many texts the runs take at a time; those that take different numbers cannot be asked the same."""
    counts = {}
    for run in runs:
        if run.failure:
            raise UsageError(f"run {run.id} failed ({run.failure.message}); there is nothing to ask")
        counts[run.id] = Manifest.read(store.folder(run.id) / ARTIFACT).lineage.text_count
    first, *others = counts
    for other in others:
        if counts[other] != counts[first]:
            raise UsageError(
                f"{first} takes {counts[first]} text(s) at a time and {other} {counts[other]}; ask each alone"
            )
    return counts[first]


def _table(answered: Sequence[Answered]) -> Table:
    """A row for each answer; with several runs, a group of rows for each text."""
    several = len(answered[0].answers) > 1
    table = Table("text", *(["run"] if several else []), "answer")
    table.add_column("probability", justify="right", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    for one in answered:
        shown = _cut(" ||| ".join(one.texts))
        for name, answer in one.answers.items():
            table.add_row(*map(Text, [shown, *([name] if several else []), *_cells(answer)]))
            shown = ""
        if several:
            table.add_section()
    return table


def _cells(answer: Answer) -> tuple[str, str, str]:
    time = f"{answer.milliseconds:.2f}"
    if answer.label is None:
        return f"{answer.score:.4f}", "–", time
    return answer.label, f"{answer.probability:.4f}", time


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"
