"""The nine GLUE tasks, declared: their columns in both homes (classic folder and hub), labels and official metrics.

Test rows are GLUE's validation split, because the labels of its test split are not public.
"""

from __future__ import annotations

from typing import Any

from workbench.tasks.sources import GlueFolder, HubDataset
from workbench.tasks.task import Task

HUB_PATH = "nyu-mll/glue"
HUB_REVISION = "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"

PAIR = ("sentence1", "sentence2")
ENTAILMENT = ("entailment", "not_entailment")


def _hub(config: str, texts: tuple[str, ...], labels: tuple[str, ...] = (), **more: Any) -> HubDataset:
    return HubDataset(path=HUB_PATH, config=config, revision=HUB_REVISION, texts=texts, labels=labels, **more)


def _numbered(labels: tuple[str, ...]) -> dict[str, str]:
    """The classic files write some labels as their number."""
    return {str(number): label for number, label in enumerate(labels)}


COLA_LABELS = ("unacceptable", "acceptable")
COLA = Task(
    name="cola",
    about="is this an acceptable English sentence?",
    kind="classification",
    labels=COLA_LABELS,
    metrics=("matthews",),
    sources=(
        GlueFolder(
            folder="CoLA",
            spelled=_numbered(COLA_LABELS),
            header=("source", "label", "mark", "sentence"),
            texts=("sentence",),
        ),
        _hub("cola", ("sentence",), COLA_LABELS),
    ),
)

SST2_LABELS = ("negative", "positive")
SST2 = Task(
    name="sst2",
    about="is this film-review phrase positive?",
    kind="classification",
    labels=SST2_LABELS,
    metrics=("accuracy",),
    sources=(
        GlueFolder(folder="SST-2", spelled=_numbered(SST2_LABELS), texts=("sentence",)),
        _hub("sst2", ("sentence",), SST2_LABELS),
    ),
)

MRPC_LABELS = ("not_equivalent", "equivalent")
MRPC = Task(
    name="mrpc",
    about="do two news sentences say the same?",
    kind="classification",
    labels=MRPC_LABELS,
    metrics=("f1", "accuracy"),
    text_count=2,
    sources=(
        GlueFolder(folder="MRPC", spelled=_numbered(MRPC_LABELS), texts=("#1 String", "#2 String"), label="Quality"),
        _hub("mrpc", PAIR, MRPC_LABELS),
    ),
)

QQP_LABELS = ("not_duplicate", "duplicate")
QQP = Task(
    name="qqp",
    about="do two questions ask the same?",
    kind="classification",
    labels=QQP_LABELS,
    metrics=("f1", "accuracy"),
    text_count=2,
    sources=(
        # The classic download carries a few truncated lines; the hub's copy of the task left them out as well.
        GlueFolder(
            folder="QQP",
            spelled=_numbered(QQP_LABELS),
            texts=("question1", "question2"),
            label="is_duplicate",
            skip_short_lines=True,
        ),
        _hub("qqp", ("question1", "question2"), QQP_LABELS),
    ),
)

STSB = Task(
    name="stsb",
    about="how similar are two sentences, from 0 to 5?",
    kind="regression",
    metrics=("pearson", "spearman"),
    text_count=2,
    sources=(GlueFolder(folder="STS-B", texts=PAIR, label="score"), _hub("stsb", PAIR)),
)

MNLI_LABELS = ("entailment", "neutral", "contradiction")
MNLI = Task(
    name="mnli",
    about="does the second sentence follow from the first, contradict it, or neither?",
    kind="classification",
    labels=MNLI_LABELS,
    metrics=("accuracy",),
    tests=("matched", "mismatched"),
    text_count=2,
    sources=(
        GlueFolder(
            folder="MNLI",
            files={
                "train": "train.tsv",
                "matched": "dev_matched.tsv",
                "mismatched": "dev_mismatched.tsv",
            },
            texts=PAIR,
            label="gold_label",
        ),
        _hub(
            "mnli",
            ("premise", "hypothesis"),
            MNLI_LABELS,
            splits={"train": "train", "matched": "validation_matched", "mismatched": "validation_mismatched"},
        ),
    ),
)

QNLI = Task(
    name="qnli",
    about="does the sentence answer the question?",
    kind="classification",
    labels=ENTAILMENT,
    metrics=("accuracy",),
    text_count=2,
    sources=(
        GlueFolder(folder="QNLI", texts=("question", "sentence")),
        _hub("qnli", ("question", "sentence"), ENTAILMENT),
    ),
)

RTE = Task(
    name="rte",
    about="does the second sentence follow from the first?",
    kind="classification",
    labels=ENTAILMENT,
    metrics=("accuracy",),
    text_count=2,
    sources=(GlueFolder(folder="RTE", texts=PAIR), _hub("rte", PAIR, ENTAILMENT)),
)

WNLI_LABELS = ("not_entailment", "entailment")
WNLI = Task(
    name="wnli",
    about="is the pronoun resolved rightly?",
    kind="classification",
    labels=WNLI_LABELS,
    metrics=("accuracy",),
    text_count=2,
    sources=(
        GlueFolder(folder="WNLI", spelled=_numbered(WNLI_LABELS), texts=PAIR),
        _hub("wnli", PAIR, WNLI_LABELS),
    ),
)
