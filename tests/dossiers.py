"""Dossiers of small real stores: runs with real answers to real rows, judged and timed like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from records import a_failed_run, a_run, a_step, answers, keep_run, keep_timings, observed

from workbench.campaign import Campaign, Entry
from workbench.campaign_store import CampaignStore
from workbench.dossier import Dossier, gather_dossier
from workbench.evidence import gather
from workbench.kept_rows import keep_rows
from workbench.predictions import Predictions
from workbench.run import Run
from workbench.store import RunStore
from workbench.tasks.task import Row
from workbench.timings import Timings
from workbench.wish import Wish

# Words that would be markup, scripts, templates or formulas if anybody took them for it.
HOSTILE_TASK = "<script>alert(1)</script> | `{{ 7*7 }}` {% raw %}"
HOSTILE_LABELS = ("=cmd|' /C calc'!A0", "</script><b onclick=x>")
HOSTILE_TEXTS = (
    "</script><script>alert('text')</script>",
    "<!-- <script> never closed",
    "@SUM(1+1)*cmd | pipe `code` [link](http://example.org) ![x](y)",
    "a\u2028line\u2029apart {{ config }} {% for %} <img src=x onerror=alert(1)>",
)
HOSTILE_MESSAGE = '<img src="http://example.org/x.png"> & [red]no[/red] room | `here`'

STUDY_FILE = "name: s\ntasks: [reviews]   # kept word for word\n"


@dataclass(frozen=True)
class Version:
    """A recipe with how many of 400 answers it mends and breaks, how much smaller and how much faster it is."""

    recipe: str
    mended: int = 0
    broken: int = 0
    smaller: float = 1.0
    faster: float = 1.0
    steps: tuple[str, ...] = ("layer-drop", "distillation")
    more: dict[str, Any] = field(default_factory=dict)


VERSIONS = (
    Version("baseline", steps=()),
    Version("student", mended=12, broken=20, smaller=2.0, faster=2.0),
    Version("student-control", mended=10, broken=40, smaller=2.0, faster=2.0, more={"control_of": "student"}),
    Version("int8", mended=2, broken=3, smaller=4.0, faster=6.0, steps=("int8-dynamic",)),
)


def a_dossier(folder: Path, wish: Wish | None = None, **how: Any) -> Dossier:
    """The dossier of a study on one task, timed, with its file kept."""
    store = RunStore(folder)
    runs = keep_versions(store, **how)
    keep_campaign(store, runs, {version.recipe: version.faster for version in VERSIONS})
    store.study_file("s").parent.mkdir(exist_ok=True)
    store.study_file("s").write_text(STUDY_FILE)
    return dossier_of(store, wish)


def dossier_of(store: RunStore, wish: Wish | None = None) -> Dossier:
    """The dossier of the study that a store holds."""
    return gather_dossier(gather(store), store, wish)


def keep_versions(
    store: RunStore,
    task: str = "reviews",
    versions: Sequence[Version] = VERSIONS,
    labels: tuple[str, ...] = ("negative", "positive"),
    texts: Sequence[str] = (),
    **changes: Any,
) -> list[Run]:
    """Keep versions of one task and what they answered; ``texts`` stand in the first rows that int8 answers anew."""
    store.prepare()
    slug = "".join(letter for letter in task if letter.isalnum())
    rows = tuple(Row(f"r{row}", (f"text {row} of a test",), row % 2) for row in range(400))
    changed = [*range(317, 320), *range(320, 400)]
    given = {f"r{row}": text for row, text in zip(changed, texts, strict=False)}
    kept_rows = tuple(Row(row.id, (given.get(row.id, row.texts[0]),), row.label) for row in rows)
    keep_rows(store.rows_file(f"rows-{slug}"), {"test": kept_rows})
    return [
        _keep(
            store,
            version,
            f"{slug}-{version.recipe}-s0",
            labels,
            {"task": task, "created": f"2026-01-01T00:00:{place:02}.000+00:00", **changes},
        )
        for place, version in enumerate(versions)
    ]


def _keep(store: RunStore, version: Version, run_id: str, labels: tuple[str, ...], changes: dict[str, Any]) -> Run:
    ours, base = answers(320 - version.broken, version.mended, version.broken, 80 - version.mended)
    slug = run_id.partition("-")[0]
    facts: dict[str, Any] = {
        "recipe": {"name": version.recipe, "steps": [{"use": use} for use in version.steps], **version.more},
        "data": {
            "source": "files",
            "fingerprint": f"rows-{slug}",
            "rows": {"train": 900, "test": 400},
            "labels": labels,
        },
        "artifact": {"runtime": "torch", "portable": True, "files": {}},
        "measurements": _measured(version),
        "steps": [
            {**a_step(number + 1.5, accuracy=0.7 + 0.02 * number, disk=80e6, parameters=16e6), "use": use}
            for number, use in enumerate(version.steps)
        ],
    }
    given = base if version.recipe == "baseline" else ours
    return keep_run(store, Run.model_validate({**a_run(run_id).model_dump(), **facts, **changes}), given)


def _measured(version: Version) -> list[dict[str, Any]]:
    disk = 90_123_456 / version.smaller
    count = 22_713_986 / version.smaller
    agreement = {} if version.recipe == "baseline" else {"agreement": 1 - (version.mended + version.broken) / 400}
    parts = {"disk__weights": disk - 1.2e6, "disk__tokenizer": 1e6, "disk__rest": 2e5}
    shares = {"parameters__embeddings": count / 2, "parameters__encoder": 0.4 * count, "parameters__head": 0.1 * count}
    kinds = {"bytes__int8": count} if version.recipe == "int8" else {"bytes__float32": 4 * count}
    return observed(
        accuracy=0.8 + (version.mended - version.broken) / 400,
        **agreement,
        **{"disk": disk, **parts, "parameters": count, **shares, **kinds, "parameters__zeroed": 0.0, "macs": 3e8},
    )


def keep_campaign(store: RunStore, runs: Sequence[Run], speeds: dict[str, float]) -> Campaign:
    """Keep a campaign over runs, with memory by phase, under a name made of the first run's."""
    name = f"{runs[0].id.partition('-')[0]}-1"
    first = keep_timings(store, runs, speeds, id=f"draft-{name}")
    entries = [_weighed(entry) for entry in first.entries]
    whole = first.model_copy(update={"id": name, "entries": tuple(entries), "command": f"workbench measure {name}"})
    places = CampaignStore(store)
    timings = Timings.read(places.folder(first.id))
    for path in places.folder(first.id).iterdir():
        path.unlink()
    places.folder(first.id).rmdir()
    return places.keep(whole, timings)


def _weighed(entry: Entry) -> Entry:
    memory = entry.measured("memory")
    if memory is None or entry.name == "baseline again":
        return entry
    shares = {"load": 0.3, "first call": 0.9, "steady": 1.0, "imports": 2.0, "process": 3.0}
    phases = [
        memory.model_copy(update={"metric": f"memory/{phase}", "values": (share * memory.value,)})
        for phase, share in shares.items()
    ]
    return entry.model_copy(update={"measurements": (*entry.measurements, *phases)})


def keep_scores(store: RunStore, task: str = "similarity") -> list[Run]:
    """Keep a baseline and a version of it that answer a task with numbers."""
    store.prepare()
    chance = np.random.default_rng(0)
    truth = chance.uniform(0, 5, 200)
    rows = tuple(Row(f"p{row}", ("one", "other"), float(value)) for row, value in enumerate(truth))
    keep_rows(store.rows_file(f"rows-{task}"), {"test": rows})
    kept = []
    for recipe, noise in (("baseline", 0.5), ("student", 0.9)):
        guesses = truth + chance.normal(0, noise, len(truth))
        logits = [np.array([guess], np.float32) for guess in guesses]
        given = Predictions("test", [row.id for row in rows], truth.tolist(), guesses.tolist(), logits)
        facts = {
            "task": task,
            "metrics": ["pearson"],
            "data": {"source": "files", "fingerprint": f"rows-{task}", "rows": {"test": 200}},
            "measurements": observed(pearson=float(np.corrcoef(truth, guesses)[0, 1]), disk=9e7),
        }
        kept.append(keep_run(store, a_run(f"{task}-{recipe}-s0", recipe, **facts), given))
    return kept


def keep_failure(store: RunStore, recipe: str, message: str, **changes: Any) -> Run:
    """Keep a run that came to nothing."""
    store.prepare()
    data = {"source": "files", "fingerprint": "rows-reviews", "rows": {"test": 400}}
    return keep_run(store, a_failed_run(f"failed-{recipe}-s0", recipe, message, **{"data": data, **changes}))
