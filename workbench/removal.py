"""Removal: taking runs out of a store, each whole or not at all, and none whose loss would spoil others unasked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from filelock import Timeout

from workbench.errors import StoreError, UsageError
from workbench.files import bytes_below, discard_folder
from workbench.run_index import RunHead, RunIndex
from workbench.store import RunStore


@dataclass(frozen=True)
class Doomed:
    """A run that is to go, and what it holds; a run whose record cannot be read has no head."""

    id: str
    bytes: int
    head: RunHead | None


@dataclass(frozen=True)
class Removal:
    """Runs that are to go. ``orphans`` stay and would have no baseline any more."""

    doomed: tuple[Doomed, ...]
    orphans: tuple[RunHead, ...]

    @classmethod
    def plan(cls, names: Iterable[str], store: RunStore, with_variants: bool = False) -> Self:
        """Find out what would go and what that would cost the others, before anything is touched."""
        ids = dict.fromkeys(map(store.whole_id, names))
        heads = {head.id: head for head in RunIndex(store).heads()[0]}
        orphans = orphans_of(ids, list(heads.values()))
        if with_variants:
            ids |= dict.fromkeys(head.id for head in orphans)
            orphans = ()
        doomed = tuple(Doomed(run_id, bytes_below(store.folder(run_id)), heads.get(run_id)) for run_id in ids)
        return cls(doomed, orphans)

    @property
    def bytes(self) -> int:
        """What all of them hold."""
        return sum(run.bytes for run in self.doomed)

    def check(self) -> None:
        """Refuse to take a baseline from runs that stay."""
        if self.orphans:
            names = ", ".join(head.id for head in self.orphans[:5])
            more = f" and {len(self.orphans) - 5} more" if len(self.orphans) > 5 else ""
            raise UsageError(
                f"{names}{more} would have no baseline to be compared with; "
                "remove these too with --with-variants, or keep the baseline"
            )

    def carry_out(self, store: RunStore) -> tuple[list[str], list[str]]:
        """Remove them; gives the ids of those that are gone and a sentence for each that had to stay."""
        store.prepare()
        gone, kept = [], []
        for run in self.doomed:
            try:
                remove_run(run.id, store)
                gone.append(run.id)
            except StoreError as error:
                kept.append(str(error))
        return gone, kept


def orphans_of(doomed: Iterable[str], heads: Sequence[RunHead]) -> tuple[RunHead, ...]:
    """The finished runs that stay, and whose last baseline would go."""
    going = set(doomed)
    baselines = [head for head in heads if head.is_baseline and head.status == "done"]
    left = {head.group for head in baselines if head.id not in going}
    lost = {head.group for head in baselines if head.id in going} - left
    staying = (head for head in heads if head.id not in going and head.status == "done")
    return tuple(head for head in staying if head.group in lost)


def remove_run(run_id: str, store: RunStore) -> None:
    """Remove one run, unless another process is at work on it; campaigns that mention it stay."""
    try:
        with store.claim(run_id).acquire(timeout=0):
            discard_folder(store.folder(run_id), store.partials)
    except Timeout:
        raise StoreError(f"run {run_id} stays: another process is at work on it; wait until it has ended") from None
    except FileNotFoundError:
        raise StoreError(f"run {run_id} is not there any more: another process removed it meanwhile") from None
