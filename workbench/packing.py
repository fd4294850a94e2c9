"""Packing: runs with their rows, campaigns and studies in one archive, to be imported elsewhere."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.campaign_store import CampaignStore
from workbench.errors import StoreError, UsageError
from workbench.files import files_below
from workbench.run import Run
from workbench.store import ARTIFACT, RunStore

SUFFIXES = (".tar.gz", ".tgz")


@dataclass(frozen=True)
class Parcel:
    """What is packed: folders and files of a store. ``absent`` are sentences about what does not come along."""

    runs: tuple[str, ...]
    campaigns: tuple[str, ...]
    files: tuple[Path, ...]
    absent: tuple[str, ...]


def parcel_of(runs: Sequence[Run], store: RunStore, artifacts: bool = True, texts: bool = True) -> Parcel:
    """Gather everything that belongs to some runs: their folders, test rows, studies and the campaigns they were in.

    Without texts the test rows stay behind; answers and labels are with the runs, so all can be compared elsewhere.
    """
    ids = {run.id for run in runs}
    campaigns = [
        campaign.id for campaign in CampaignStore(store).all()[0] if any(entry.run in ids for entry in campaign.entries)
    ]
    rows = {store.rows_file(run.data.fingerprint) for run in runs} if texts else set()
    studies = {store.study_file(run.study) for run in runs}
    files = [path for run in runs for path in _of_run(store.folder(run.id), artifacts)]
    files += [path for name in campaigns for path in files_below(CampaignStore(store).folder(name))]
    files += [path for path in sorted(rows | studies) if path.is_file()]
    absent = [f"{path.name}: these test rows were not kept" for path in sorted(rows) if not path.is_file()]
    return Parcel(tuple(run.id for run in runs), tuple(campaigns), tuple(files), (*absent, *_baseless(runs)))


def write_parcel(parcel: Parcel, store: RunStore, target: Path) -> int:
    """Write a parcel as an archive, whole or not at all; gives its size in bytes."""
    check_target(target)
    passing = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with passing.open("xb") as stream:
            # Weights hardly shrink, so trying hard would only take time.
            with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as tar:
                for path in parcel.files:
                    _add(tar, path, f"{_stem(target)}/{path.relative_to(store.root).as_posix()}")
            stream.flush()
            os.fsync(stream.fileno())
        check_target(target)
        passing.replace(target)
    except FileNotFoundError as error:
        raise StoreError(f"{error.filename} went away while it was being packed; nothing was written") from None
    finally:
        passing.unlink(missing_ok=True)
    return target.stat().st_size


def check_target(target: Path) -> None:
    """Refuse to overwrite, and names that importing would not know for an archive."""
    if not target.name.lower().endswith(SUFFIXES):
        raise UsageError(f"{target}: name the archive so that it ends in {' or '.join(SUFFIXES)}")
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already; name another file or remove it first")
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder")


def _of_run(folder: Path, artifacts: bool) -> Iterator[Path]:
    for path in files_below(folder):
        if artifacts or path.relative_to(folder).parts[0] != ARTIFACT:
            yield path


def _baseless(runs: Sequence[Run]) -> list[str]:
    groups = {_group(run) for run in runs if run.is_baseline and not run.failure}
    alone = [run.id for run in runs if not run.is_baseline and not run.failure and _group(run) not in groups]
    return [f"{run_id}: its baseline is not packed, so it cannot be compared elsewhere" for run_id in alone]


def _group(run: Run) -> tuple[str, str, int, str]:
    return (run.study, run.task, run.seed, run.data.fingerprint)


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file's bytes under a name; who owned it on this machine is nobody's business elsewhere."""
    with path.open("rb") as stream:
        info = tar.gettarinfo(arcname=name, fileobj=stream)
        info.type, info.linkname, info.mode = tarfile.REGTYPE, "", 0o644
        info.size = os.fstat(stream.fileno()).st_size
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        tar.addfile(info, stream)


def _stem(target: Path) -> str:
    suffix = next(suffix for suffix in SUFFIXES if target.name.lower().endswith(suffix))
    return target.name[: -len(suffix)] or "runs"
