"""Checkable: what a report says, together with the small records that anybody can compute it from again."""

from __future__ import annotations

from pathlib import Path

from workbench.dossier import Dossier, gather_dossier
from workbench.errors import StoreError
from workbench.evidence import gather
from workbench.importing import import_from
from workbench.packing import parcel_of, write_parcel
from workbench.store import RunStore
from workbench.wish import Wish

RECORDS = "records.tar.gz"


def checkable_dossier(study: str | None, store: RunStore, wish: Wish, workplace: Path) -> tuple[Dossier, Path]:
    """Pack a study's records, and gather its dossier from the packed ones alone; gives it and the archive.

    Artifacts and texts stay behind: the former are large, the latter may not be passed on. So nothing in the dossier
    can come from anything but what is in the archive.
    """
    runs = gather(store, [study] if study else []).runs
    archive = workplace / RECORDS
    write_parcel(parcel_of(runs, store, artifacts=False, texts=False), store, archive)
    return dossier_from(archive, workplace / "store", wish), archive


def dossier_from(archive: Path, folder: Path, wish: Wish) -> Dossier:
    """Gather the dossier of the study in an archive, in a new store at ``folder``."""
    other = RunStore(folder)
    other.prepare()
    refused = [outcome for outcome in import_from(archive, other) if outcome.state == "refused"]
    if refused:
        raise StoreError(f"{archive}: {refused[0].name} cannot be read back: {refused[0].said}")
    return gather_dossier(gather(other), other, wish).model_copy(update={"store": archive.name})
