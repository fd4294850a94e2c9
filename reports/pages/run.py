"""Run: everything that is known of one run, and the commands to use it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import streamlit as st

from reports.blocks import Block, Figures, Heading, Words, texts
from reports.chart_waterfall import waterfall_figures
from reports.pages.choosing import Choice, kept_choice, one_task, the_choice
from reports.pages.laid_out import lay_out
from reports.pages.plain_words import plain
from reports.pages.recommended import recommended_recipe
from reports.provenance_section import caveat_section, environment_section
from reports.recipe_section import STEPS_CAPTION
from reports.size_section import size_section
from reports.speed_section import speed_section
from reports.wording import ABSENT, duration, megabytes, millions, percent, score, sentence
from workbench.close_look import look_closely
from workbench.dossier import Dossier
from workbench.errors import StoreError
from workbench.line import headline
from workbench.run import Run
from workbench.run_index import RunHead
from workbench.store import ARTIFACT, RunStore

RECIPE_KEY, SEED_KEY = "run recipe", "run seed"
# What a run's runtime is exported as without making anything anew.
FORMATS = {"torch": "hf", "onnxruntime": "onnx", "openvino": "openvino"}
STAGES = {
    "base": "while its base was made ready",
    "apply": "while a step was carried out",
    "save": "while what it made was saved",
    "measure": "while what it made was measured",
}
LONGEST_DETAIL = 240
NUMBER_WIDTH = 165


def show() -> None:
    """Lay out one run."""
    st.title("Run")
    choice = the_choice()
    run = _chosen_run(choice) if choice else None
    if choice is None or run is None:
        return
    _head(run)
    found = look_closely(run, choice.evidence, choice.comparison, choice.store)
    parts = {
        "Steps": _steps(run, found),
        "Size and memory": size_section(found).blocks,
        "Speed": speed_section(found).blocks,
        "To bear in mind": caveat_section(found).blocks,
        "Where it was made": environment_section(found).blocks,
    }
    *places, last = st.tabs([*parts, "Use it"])
    for place, blocks in zip(places, parts.values(), strict=True):
        with place:
            lay_out(blocks)
    with last:
        _use(run, choice.store)


def _chosen_run(choice: Choice) -> Run | None:
    task = one_task(choice)
    heads = [head for head in choice.heads if head.task == task]
    left, right = st.columns(2)
    recipes = list(dict.fromkeys(head.recipe for head in heads))
    recipe = kept_choice(left, "Recipe", recipes, RECIPE_KEY, recommended_recipe(choice.comparison, task))
    fitting = [head for head in heads if head.recipe == recipe]
    seed = kept_choice(right, "Seed", sorted({head.seed for head in fitting}), SEED_KEY)
    newest_first = [head for head in reversed(fitting) if head.seed == seed]
    head = newest_first[0]
    if len(newest_first) > 1:
        head = st.selectbox(f"Made {len(newest_first)} times", newest_first, format_func=_spoken_head)
    try:
        return choice.store.read(head.id)
    except StoreError as error:
        st.error(plain(sentence(str(error))))
        return None


def _spoken_head(head: RunHead) -> str:
    return f"{head.created[:16].replace('T', ' ')}, {head.status}"


def _head(run: Run) -> None:
    st.code(run.id, language=None)
    st.caption(plain(" · ".join(_origins(run))))
    if run.failure:
        st.error(plain(f"Failed {STAGES[run.failure.stage]}: {sentence(run.failure.message)}"))
    if run.recipe.when:
        st.markdown(plain(sentence(run.recipe.when)))
    facts = {
        f"{run.metrics[0]} × 100": score(headline(run)),
        "agrees with the baseline": percent(_measured(run, "agreement")),
        "on disk": megabytes(_measured(run, "disk")),
        "parameters": millions(_measured(run, "parameters")),
        "its steps took": duration(sum(step.cost.wall_seconds for step in run.steps)) if run.steps else ABSENT,
    }
    known = {name: value for name, value in facts.items() if value != ABSENT}
    with st.container(horizontal=True):
        for name, value in known.items():
            st.metric(plain(name), value, width=NUMBER_WIDTH)


def _origins(run: Run) -> Iterator[str]:
    yield f"made {run.created[:16].replace('T', ' ')} UTC"
    if run.base:
        yield f"from {run.base.name}"
    if run.artifact:
        yield f"runs in {run.artifact.runtime}"
        yield "opens with stock transformers" if run.artifact.portable else "opens with the workbench"
    if run.imported:
        yield f"imported from {run.imported.source}"


def _steps(run: Run, found: Dossier) -> Iterator[Block]:
    if not run.recipe.steps:
        yield Words("The baseline: nothing is done to the base.")
        return
    rows = [
        (f"{number}. {step.use}", _spoken(step.options), _spoken(step.detail), _unbroken(step.cost.wall_seconds))
        for number, step in enumerate(run.steps, 1)
    ]
    rows += [
        (f"{number}. {step.use}", _spoken(step.options), "not carried out", ABSENT)
        for number, step in enumerate(run.recipe.steps[len(run.steps) :], 1 + len(run.steps))
    ]
    yield texts(("step", "options", "what it decided", "took"), rows)
    figures = [figure for explanation in found.explanations for figure in waterfall_figures(explanation)]
    if figures:
        yield Heading("What each step gave and took")
        yield Figures(tuple(figures), STEPS_CAPTION)
    elif not run.failure:
        yield Words("There is no finished baseline of this seed to start the steps from.")


def _spoken(facts: Mapping[str, Any]) -> str:
    """Options or details on one line; what was left open is left out."""
    told = [f"{name} {_brief(value)}" for name, value in facts.items() if value is not None]
    line = ", ".join(told)
    return (line if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]} …") or ABSENT


def _brief(value: Any) -> str:
    """A value as JSON without quotation marks, numbers to four digits."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {_brief(inner)}' for name, inner in value.items())})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_brief, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


def _unbroken(seconds: float) -> str:
    return duration(seconds).replace(" ", "\u00a0")


def _use(run: Run, store: RunStore) -> None:
    artifact = store.folder(run.id) / ARTIFACT
    if run.artifact and artifact.is_dir():
        st.markdown("What was made is in this folder, written in full:")
        st.code(str(artifact.resolve()), language=None)
    else:
        st.info("There are no weights of this run in this store, so it can be looked at, but not used.")
    for title, command in _commands(run, store):
        st.markdown(title)
        st.code(command, language="bash", wrap_lines=True)


def _commands(run: Run, store: RunStore) -> Iterator[tuple[str, str]]:
    """What to do, and the command that does it."""
    where = ["--store", str(store.root)]
    yield "Repeat it (what is done is not made twice):", run.command or "workbench run STUDY"
    yield "See its whole record:", shlex.join(["workbench", "show", run.id, *where])
    if run.artifact and (store.folder(run.id) / ARTIFACT).is_dir():
        to = FORMATS.get(run.artifact.runtime, "hf")
        yield "Take it out of the store:", shlex.join(["workbench", "export", run.id, "exported", "--to", to, *where])
        yield "Ask it:", shlex.join(["workbench", "predict", run.id, "a text of your own", *where])
        yield "Time and weigh it beside its baseline:", shlex.join(["workbench", "measure", run.id, *where])


def _measured(run: Run, metric: str) -> float | None:
    found = run.measured(metric)
    return found.value if found else None
