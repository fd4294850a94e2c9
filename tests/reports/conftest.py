"""Dossiers that several tests of reports look at; each is gathered once, from a store of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from dossiers import (
    HOSTILE_LABELS,
    HOSTILE_MESSAGE,
    HOSTILE_TASK,
    HOSTILE_TEXTS,
    a_dossier,
    dossier_of,
    keep_failure,
    keep_scores,
    keep_versions,
)

from reports.html import html_report
from workbench.dossier import Dossier
from workbench.store import RunStore


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives a new folder for a store."""
    return tmp_path_factory.mktemp


@pytest.fixture(scope="session")
def usual(made) -> Dossier:
    """One task, four versions, judged, timed and weighed."""
    return a_dossier(made("usual"))


@pytest.fixture(scope="session")
def usual_page(usual) -> str:
    return html_report(usual)


@pytest.fixture(scope="session")
def hostile(made) -> Dossier:
    """Names and texts that would be markup, scripts, templates or formulas if anybody took them for it."""
    store = RunStore(made("hostile"))
    keep_versions(store, HOSTILE_TASK, labels=HOSTILE_LABELS, texts=HOSTILE_TEXTS, command="=HYPERLINK(1) </script>")
    data = {"source": HOSTILE_MESSAGE, "fingerprint": "rows-scriptalert1script77raw", "rows": {"test": 400}}
    keep_failure(store, "broken", HOSTILE_MESSAGE, task=HOSTILE_TASK, data=data)
    return dossier_of(store)


@pytest.fixture(scope="session")
def hostile_page(hostile) -> str:
    return html_report(hostile)


@pytest.fixture(scope="session")
def several(made) -> Dossier:
    """A classification and a task of scores, nothing timed, one run failed."""
    store = RunStore(made("several"))
    keep_versions(store)
    keep_scores(store)
    keep_failure(store, "sunk", "no room left on the device")
    return dossier_of(store)


@pytest.fixture(scope="session")
def several_page(several) -> str:
    return html_report(several)


@pytest.fixture(scope="session")
def sunk(made) -> Dossier:
    """A study whose baseline failed like everything else."""
    store = RunStore(made("sunk"))
    keep_failure(store, "baseline", "the base cannot be opened")
    keep_failure(store, "int8", "the base cannot be opened")
    return dossier_of(store)
