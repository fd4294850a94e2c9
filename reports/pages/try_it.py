"""Try it: type a text and see what the baseline and its variants answer, beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from reports.chart_answers import answers_figure
from reports.pages.choosing import one_task, the_choice
from reports.pages.drawing import draw
from reports.pages.plain_words import plain
from reports.wording import counted
from workbench.errors import ArtifactError, StoreError
from workbench.kept_rows import read_rows
from workbench.lineage import MANIFEST, Manifest
from workbench.prediction_desk import DeskReply, PredictionDesk
from workbench.prediction_records import Answer
from workbench.run import Run
from workbench.store import ARTIFACT, RunStore
from workbench.tasks.task import Row

FIELDS = ("first text", "second text")
QUESTION, EXAMPLE, REPLY = "try text {}", "try test row", "try reply"
# Who chose nothing sees this many beside the baseline.
CHOSEN_AT_FIRST = 3
MOST_EXAMPLES = 200
LONGEST_EXAMPLE = 110


def show() -> None:
    """Lay out the question, and the answers once there are some."""
    st.title("Try it")
    choice = the_choice()
    if choice is None:
        return
    store, task = choice.store, one_task(choice)
    there, missing = _divided(_runs_of_one_seed([run for run in choice.evidence.runs if run.task == task]), store)
    if missing:
        st.caption(f"Left out, because there are no weights of them in this store: {plain(', '.join(missing))}.")
    if not there:
        st.info("None of these runs can be asked. Make the study again, and their weights will be kept.")
        return
    chosen = _chosen_variants(there)
    rows = _test_rows(store, next(iter(there.values())))
    texts = _asked_texts(there, store, rows)
    if texts:
        _show_reply(_reply(store, chosen, texts), chosen, _truth(rows, texts))
    else:
        st.caption("The first question takes some seconds, because the encoders have to be opened.")


def _runs_of_one_seed(runs: Sequence[Run]) -> list[Run]:
    """The runs of the seed that is chosen, where there are several."""
    seeds = sorted({run.seed for run in runs})
    seed = seeds[0]
    if len(seeds) > 1:
        seed = st.selectbox("Seed", seeds, help="Each seed has encoders of its own", key="try seed")
    return [run for run in runs if run.seed == seed]


def _divided(runs: Sequence[Run], store: RunStore) -> tuple[dict[str, Run], list[str]]:
    """The newest run of each recipe that can be asked, the baseline first, and the recipes that cannot."""
    found = {run.recipe.name: run for run in runs if (_artifact(run, store) / MANIFEST).is_file() and not run.failure}
    first = sorted(found, key=lambda name: not found[name].is_baseline)
    missing = sorted({run.recipe.name for run in runs} - found.keys())
    return {name: found[name] for name in first}, missing


def _chosen_variants(there: Mapping[str, Run]) -> dict[str, Run]:
    """The baseline, where it can be asked, and the variants that are wanted beside it."""
    baseline = {name: run for name, run in there.items() if run.is_baseline}
    # A control says what a teacher was worth; nobody ships it.
    others = sorted(there.keys() - baseline.keys(), key=lambda name: (bool(there[name].recipe.control_of), name))
    # Names that are not in this study must not stay chosen.
    key = f"try variants of {'/'.join(others)}"
    wanted = st.multiselect("Variants beside the baseline", others, default=others[:CHOSEN_AT_FIRST], key=key)
    return {**baseline, **{name: there[name] for name in wanted}}


def _asked_texts(there: Mapping[str, Run], store: RunStore, rows: Sequence[Row]) -> tuple[str, ...] | None:
    """The text, or pair, that was last asked about; absent until there is one."""
    try:
        count = _text_count([str(_artifact(run, store)) for run in there.values()])
    except ArtifactError as error:
        st.error(plain(str(error)))
        return None
    keys = [QUESTION.format(number) for number in range(1, count + 1)]
    _offer_examples(rows, keys)
    with st.form("try question"):
        labels = ["Text"] if count == 1 else [f"The {name}" for name in FIELDS]
        for label, key in zip(labels, keys, strict=True):
            st.text_area(label, key=key, height=80)
        pressed = st.form_submit_button("Ask", type="primary")
    texts = tuple(st.session_state[key].strip() for key in keys)
    if not all(texts):
        if pressed:
            st.warning("Write something to ask about." if count == 1 else "Write both texts.")
        return None
    if pressed:
        st.session_state.pop(REPLY, None)
    return texts if pressed or _known(store, texts) else None


def _offer_examples(rows: Sequence[Row], keys: Sequence[str]) -> None:
    """Let a person take texts from the test rows instead of typing."""
    fitting = [row for row in rows if len(row.texts) == len(keys)]
    if not fitting:
        return
    few = fitting[:: max(1, len(fitting) // MOST_EXAMPLES)][:MOST_EXAMPLES]
    spoken = {" ||| ".join(row.texts): row for row in few}

    def take() -> None:
        row = spoken.get(st.session_state[EXAMPLE])
        for key, text in zip(keys, row.texts if row else (), strict=False):
            st.session_state[key] = text

    st.selectbox(
        f"Take a test row ({counted(len(spoken), 'example')} of {len(fitting):,})",
        list(spoken),
        index=None,
        key=EXAMPLE,
        format_func=_cut,
        on_change=take,
        placeholder="or type a text of your own below",
    )


def _reply(store: RunStore, chosen: Mapping[str, Run], texts: tuple[str, ...]) -> DeskReply:
    """What was answered already, and the answers of those that were not asked yet."""
    known = _known(store, texts) or DeskReply(answers={}, faults={})
    # A run that failed to answer is asked again when somebody presses the button, not whenever the page is drawn.
    new = {name: run for name, run in chosen.items() if run.id not in {*known.answers, *known.faults}}
    if new:
        with st.spinner(f"asking {counted(len(new), 'encoder')}"):
            told = _desk(str(store.root.resolve())).ask({run.id: _artifact(run, store) for run in new.values()}, texts)
        known = DeskReply(
            answers={**known.answers, **told.answers}, faults={**known.faults, **told.faults}, remark=told.remark
        )
        st.session_state[REPLY] = (str(store.root), texts, known)
    return known


def _known(store: RunStore, texts: tuple[str, ...]) -> DeskReply | None:
    root, asked, reply = st.session_state.get(REPLY, (None, None, None))
    return reply if (root, asked) == (str(store.root), texts) else None


def _show_reply(reply: DeskReply, chosen: Mapping[str, Run], truth: Any) -> None:
    if reply.remark:
        st.warning(plain(f"{reply.remark}. Another one has taken its place."))
    for name, run in chosen.items():
        if run.id in reply.faults:
            st.error(plain(f"{name} did not answer: {reply.faults[run.id]}."))
    answers = {name: reply.answers[run.id] for name, run in chosen.items() if run.id in reply.answers}
    if not answers:
        return
    if truth is not None:
        st.text(f"The test row's own label: {_spoken_truth(truth, answers)}")
    st.dataframe([_cells(name, answer, answers) for name, answer in answers.items()], column_config=_columns())
    figure = answers_figure(answers)
    if figure:
        draw(figure)
    st.caption(
        "The time is that of one call with this text alone, on one thread, making tokens included. One call says "
        "little: how fast a variant is was measured with many, and stands in the comparison."
    )


def _cells(name: str, answer: Answer, answers: Mapping[str, Answer]) -> dict[str, Any]:
    """A row of the table; who answers otherwise than the first, the baseline, is marked."""
    first = next(iter(answers.values()))
    if answer.label is None:
        return {"variant": name, "score": answer.score, "time": answer.milliseconds}
    alike = "" if answer is first else "the same" if answer.label == first.label else "another answer"
    facts = {"variant": name, "answer": answer.label, "probability": answer.probability, "time": answer.milliseconds}
    return {**facts, "beside the baseline": alike} if len(answers) > 1 else facts


def _columns() -> dict[str, Any]:
    return {
        "probability": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
        "score": st.column_config.NumberColumn(format="%.3f"),
        "time": st.column_config.NumberColumn("time of this call, ms", format="%.2f"),
    }


def _spoken_truth(truth: Any, answers: Mapping[str, Answer]) -> str:
    labels = list(next(iter(answers.values())).probabilities or ())
    return labels[truth] if isinstance(truth, int) and 0 <= truth < len(labels) else f"{truth}"


def _test_rows(store: RunStore, run: Run) -> tuple[Row, ...]:
    """The test rows that a run answered, where they were kept."""
    try:
        return _kept_rows(str(store.rows_file(run.data.fingerprint)))
    except StoreError:
        return ()


def _truth(rows: Sequence[Row], texts: tuple[str, ...]) -> Any:
    return next((row.label for row in rows if tuple(text.strip() for text in row.texts) == texts), None)


def _artifact(run: Run, store: RunStore) -> Path:
    return store.folder(run.id) / ARTIFACT


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_EXAMPLE else f"{line[: LONGEST_EXAMPLE - 1]}…"


@st.cache_resource(max_entries=4, show_spinner=False)
def _desk(root: str) -> PredictionDesk:
    """The one process that answers for a store, whoever asks; it ends when nobody can ask any more."""
    return PredictionDesk()


@st.cache_resource(max_entries=8, show_spinner=False)
def _kept_rows(path: str) -> tuple[Row, ...]:
    return tuple(row for rows in read_rows(Path(path)).values() for row in rows)


@st.cache_resource(max_entries=32, show_spinner="looking at the encoders")
def _text_count(artifacts: list[str]) -> int:
    """How many texts are asked about at a time; told by the first artifact that is whole."""
    fault = ArtifactError("there is nothing to ask")
    for artifact in artifacts:
        try:
            return Manifest.read(Path(artifact)).lineage.text_count
        except ArtifactError as error:
            fault = error
    raise fault
