"""The model card of an exported run: what it is, how it was made, what was measured, and how to use and repeat it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from workbench.campaign import Campaign, Entry
from workbench.card_metadata import card_metadata, quality_of
from workbench.export_check import ExportCheck
from workbench.lineage import Manifest
from workbench.markdown_text import escaped, fenced, plain_table
from workbench.measurement import Measurement
from workbench.run import Cost, Run, StepRecord
from workbench.usage_example import EXAMPLE, opener_of, usage_example

CARD = "README.md"
ABSENT = "–"
ROLES_OF_TRAINING = ("train", "calibrate", "select")
FORMATS = {"torch": "hf", "onnxruntime": "onnx", "openvino": "openvino"}
SIZES = {
    "disk": "files needed to run",
    "parameters": "parameters",
    "macs": "multiply-accumulates of one text of usual length",
}
SPEEDS = {
    "latency": "median call on one text",
    "latency/p90": "nine of ten calls take at most",
    "end-to-end": "the same with the making of tokens",
    "throughput": "texts in length-sorted batches",
    "memory": "the model's own memory at its highest",
}


def model_card(
    run: Run,
    manifest: Manifest,
    baseline: Run | None = None,
    campaign: Campaign | None = None,
    check: ExportCheck | None = None,
) -> str:
    """Write the card of a run in the format that the manifest tells of; what was not measured is not in it."""
    metadata = yaml.safe_dump(card_metadata(run, manifest), sort_keys=False, allow_unicode=True, width=10**6)
    sections = {
        "What it is": _what(run, manifest),
        "How it was made": _how(run),
        "Quality": _quality(run, baseline, check),
        "Size": _table(_sizes(run, baseline), baseline),
        "Speed and memory": _speed(run, manifest, campaign),
        "Intended use and limits": _limits(run, manifest),
        "How to use it": _usage(manifest),
        "How to repeat it": _repetition(run, manifest),
    }
    title = f"# {escaped(run.recipe.name)} for {escaped(run.task)}"
    told = [f"## {heading}\n\n{text}" for heading, text in sections.items() if text]
    return f"---\n{metadata}---\n\n" + "\n\n".join([title, *told]) + "\n"


def _what(run: Run, manifest: Manifest) -> str:
    lineage = manifest.lineage
    done = f"compressed by the recipe {escaped(run.recipe.name)}" if run.steps else "with nothing done to it"
    answers = f"one of {len(lineage.labels)} labels" if lineage.labels else "a score"
    given = "a text" if lineage.text_count == 1 else "two texts"
    said = [
        f"The encoder {escaped(lineage.base)}, fitted to the task {escaped(run.task)} and {done}.",
        f"It is given {given} and answers {answers}. {opener_of(manifest).about}",
        f"It was made and measured by the encoder workbench {escaped(manifest.workbench)}.",
    ]
    if run.recipe.when:
        said.append(f"What the recipe is for: {escaped(run.recipe.when)}")
    return "\n".join(said)


def _how(run: Run) -> str:
    lines = [_start(run), *(_step(step, run.metrics[0]) for step in run.steps)]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(filter(None, lines), 1))


def _start(run: Run) -> str:
    if not run.base:
        return ""
    at = f" at revision {escaped(run.base.revision)}" if run.base.revision else ""
    told = f"Base: {escaped(run.base.name)}{at} (content {run.base.hash[:12]})"
    if not run.base.finetuned:
        return f"{told}, used as it is."
    rows = run.data.rows.get("train")
    counted = f" on {rows:,} training rows" if rows else ""
    return f"{told}, fine-tuned{counted} with {_options(run.base.settings)}, {_cost(run.base.cost)}."


def _step(step: StepRecord, headline: str) -> str:
    options = f" with {_options(step.options)}" if any(value is not None for value in step.options.values()) else ""
    told = [one for one in step.measurements if one.metric.partition("/")[0] == headline or one.metric == "disk"]
    after = f" Right after it: {', '.join(f'{escaped(one.metric)} {_spoken(one)}' for one in told)}." if told else ""
    by = f"{escaped(step.provider)} {escaped(step.version)}"
    return f"Step {escaped(step.use)}{options} (by {by}), {_cost(step.cost)}.{after}"


def _options(options: Mapping[str, Any]) -> str:
    """Options as they would be written again; those that were left to the strategy are not told."""
    told = (f"{key}={_plain(value)}" for key, value in options.items() if value is not None)
    return escaped(", ".join(told))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cost(cost: Cost) -> str:
    return f"in {cost.wall_seconds:.1f} s ({cost.cpu_seconds:.1f} s of processor time)"


def _quality(run: Run, baseline: Run | None, check: ExportCheck | None) -> str:
    theirs = quality_of(baseline) if baseline else {}
    rows: list[tuple[str, Measurement | None, Measurement | None]] = [
        (f"{name}, {part} rows", one, theirs.get(part, {}).get(name))
        for part, metrics in quality_of(run).items()
        for name, one in metrics.items()
    ]
    agreement = run.measured("agreement")
    if agreement:
        rows.append(("answers like the baseline's", agreement, None))
    judged = f"Judged on {escaped(_test_rows(run))}."
    if baseline:
        judged += " The baseline is the same base, fitted to the task, with nothing else done to it."
    told = [_table(rows, baseline), judged] if rows else []
    if check:
        doubt = f"; {check.doubt}" if check.doubt else ""
        told.append(f"The numbers are the kept run's. When this folder was written it was tried: {check.words}{doubt}.")
    return "\n\n".join(told)


def _sizes(run: Run, baseline: Run | None) -> list[tuple[str, Measurement | None, Measurement | None]]:
    found = [(words, run.measured(name), name) for name, words in SIZES.items()]
    return [(words, one, baseline.measured(name) if baseline else None) for words, one, name in found if one]


def _table(rows: Sequence[tuple[str, Measurement | None, Measurement | None]], baseline: Any) -> str:
    """What was measured of this model and, where there is a baseline, of that."""
    if not rows:
        return ""
    width = 3 if baseline else 2
    cells = [(words, _spoken(ours), _spoken(theirs))[:width] for words, ours, theirs in rows]
    return plain_table(("", "this model", "baseline")[:width], cells)


def _speed(run: Run, manifest: Manifest, campaign: Campaign | None) -> str:
    entry = campaign.entry_of(run.id) if campaign else None
    if campaign is None or entry is None or entry.failure:
        return ""
    base = None if entry.name == campaign.baseline else campaign.entry(campaign.baseline)
    found = [(words, entry.measured(name), base.measured(name) if base else None) for name, words in SPEEDS.items()]
    table = _table([row for row in found if row[1]], base)
    if not table:
        return ""
    told = [table, f"Measured {_where(campaign)}, run by {escaped(entry.runtime)}."]
    if base and entry.ratio:
        told.append(_faster(campaign, entry))
    if manifest.runtime != entry.runtime:
        told.append(f"That was the kept artifact. This folder is run by {escaped(manifest.runtime)} and was not timed.")
    return "\n\n".join(told)


def _where(campaign: Campaign) -> str:
    machine = campaign.environment
    threads = "1 thread" if campaign.settings.threads == 1 else f"{campaign.settings.threads} threads"
    length = f", {campaign.mean_tokens:.0f} tokens on average" if campaign.mean_tokens else ""
    inside = f", {machine.virtualisation}" if machine.virtualisation else ""
    place = f"{machine.cpu or machine.machine}, {machine.cores} cores{inside}"
    return escaped(f"on {campaign.created[:10]} with {threads} on {place}; batch 1{length}")


def _faster(campaign: Campaign, entry: Entry) -> str:
    assert entry.ratio is not None
    ratio = f"{entry.ratio.value:.2f} (95 % interval {entry.ratio.low:.2f} to {entry.ratio.high:.2f})"
    doubt = f" Doubt: {escaped(campaign.fault)}." if campaign.fault else ""
    return f"Times as fast as the baseline: {ratio}; verdict: {campaign.verdict(entry)}.{doubt}"


def _limits(run: Run, manifest: Manifest) -> str:
    lineage = manifest.lineage
    what = "pairs of texts" if lineage.text_count == 2 else "single texts"
    lines = [
        f"Task: {run.task}, {lineage.kind} of {what}.",
        f"Labels, in the order of the outputs: {', '.join(lineage.labels)}." if lineage.labels else "",
        f"Longest input: {lineage.max_length} tokens; what is longer is cut.",
        f"Seeds: one, {run.seed}; another seed trains another model.",
        f"Data: {run.data.source}{f', limited to {run.data.limit} rows of each role' if run.data.limit else ''}.",
        f"Judged on {_test_rows(run)}, and on nothing else: other kinds of text, other languages and unfair "
        "answers were not looked at.",
    ]
    return _bullets(line for line in lines if line)


def _test_rows(run: Run) -> str:
    tests = {part: count for part, count in run.data.rows.items() if part not in ROLES_OF_TRAINING}
    return " and ".join(f"{count:,} {part} rows" for part, count in tests.items()) or "test rows"


def _usage(manifest: Manifest) -> str:
    opener = opener_of(manifest)
    return "\n\n".join(
        [
            f"{opener.about} `{EXAMPLE}` beside this file is all it takes:",
            fenced(f"pip install {opener.packages}\npython {EXAMPLE}", "bash"),
            fenced(usage_example(manifest), "python"),
        ]
    )


def _repetition(run: Run, manifest: Manifest) -> str:
    export = shlex.join(["workbench", "export", run.id, "FOLDER", "--to", FORMATS[manifest.runtime]])
    commands = [run.command, export] if run.command else [export]
    versions = (f"{name} {number}" for name, number in run.environment.versions.items())
    facts = [
        f"Study {run.study}, run {run.id}, made {run.created[:10]}.",
        f"Rows: fingerprint {run.data.fingerprint[:12]}. Recipe and settings: fingerprint {run.fingerprint[:12]}.",
        f"Versions: Python {run.environment.python}, {', '.join(versions)}.",
    ]
    return "\n\n".join([fenced("\n".join(commands), "bash"), _bullets(facts)])


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)


def _spoken(found: Measurement | None) -> str:
    if found is None:
        return ABSENT
    value = found.value
    if found.unit == "bytes":
        return f"{value / 1e6:.2f} MB"
    if found.unit in {"count", "MACs"}:
        return f"{value:,.0f}"
    if found.unit == "ms":
        return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"
    return f"{value:,.0f} a second" if found.unit == "samples/s" else f"{value:.4f}"
