"""Reading: what a store holds, read once for everybody who looks, and again as soon as the store changed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from reports.pages.shelf import Shelf
from reports.pages.store_field import runs_folder
from workbench.campaign_store import CampaignStore
from workbench.compare import Comparison
from workbench.errors import WorkbenchError
from workbench.evidence import Evidence, gather
from workbench.run_index import RunHead, RunIndex
from workbench.store import RunStore

# A record that was changed by hand is noticed after so many seconds; new ones are at once.
HEADS_SECONDS = 30.0
Heads = tuple[list[RunHead], list[str]]
_HEADS: Shelf[Heads] = Shelf(most=4, seconds=HEADS_SECONDS)
_STUDIES: Shelf[tuple[Evidence, Comparison]] = Shelf(most=8)


def heads_of(store: RunStore) -> Heads:
    """The heads of all runs, oldest first, and a sentence for each record that cannot be read."""
    return _HEADS.get(_key(store), RunIndex(store).heads)


def are_listed(store: RunStore) -> bool:
    """Whether the heads of all runs can be had without waiting."""
    return _HEADS.holds(_key(store))


def study_of(store: RunStore, names: Sequence[str]) -> tuple[Evidence, Comparison]:
    """Everything that a comparison of a study, or of some runs, rests on, and the comparison."""
    return _STUDIES.get(_key(store, *names), lambda: _compared(store, names))


def is_read(store: RunStore, names: Sequence[str]) -> bool:
    """Whether a study can be had without waiting."""
    return _STUDIES.holds(_key(store, *names))


def newest_first(heads: Sequence[RunHead]) -> list[str]:
    """The studies of some runs, which come oldest first; of the studies, the one comes first that was run last."""
    return list(dict.fromkeys(head.study for head in reversed(heads)))


def read_ahead(store: RunStore) -> None:
    """Read what is shown to whoever looks first; what is in the way is told when somebody does look."""
    with suppress(WorkbenchError, OSError):
        heads, _ = heads_of(store)
        for study in newest_first(heads)[:1]:
            study_of(store, (study,))


def _compared(store: RunStore, names: Sequence[str]) -> tuple[Evidence, Comparison]:
    evidence = gather(store, names)
    return evidence, evidence.comparison()


def _key(store: RunStore, *names: str) -> tuple[object, ...]:
    """Changes whenever a run or a campaign comes or goes."""
    folders = (runs_folder(store), CampaignStore(store).root)
    state = tuple(folder.stat().st_mtime_ns if folder.is_dir() else 0 for folder in folders)
    return (str(store.root), state, names)
