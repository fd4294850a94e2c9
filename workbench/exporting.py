"""Exporting: a kept run as a folder of its own, with its card and an example, tried before it is handed over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.campaign import Campaign
from workbench.campaign_store import CampaignStore
from workbench.contest import Contestant, kept_baseline, spread_over_lengths
from workbench.encoder import Encoder
from workbench.errors import ArtifactError, StoreError, UsageError, WorkbenchError, first_line
from workbench.export_check import ExportCheck, check_export
from workbench.export_formats import writer_for
from workbench.files import files_below, hash_of, is_disk_full, sweep_partials, write_text_whole, written_whole
from workbench.kept_rows import read_rows
from workbench.lineage import Manifest
from workbench.model_card import CARD, model_card
from workbench.run import Run
from workbench.store import ARTIFACT, PREDICTIONS, RunStore
from workbench.tasks.task import Row
from workbench.tokens import tokenize
from workbench.usage_example import EXAMPLE, usage_example

ROWS_TRIED = 64


@dataclass(frozen=True)
class Exported:
    """What was written, and whether it answers as it should."""

    folder: Path
    bytes: int
    portable: bool
    check: ExportCheck


def export_run(run: Run, store: RunStore, folder: Path, to: str) -> Exported:
    """Write a kept run into a new folder in a format (hf, onnx or openvino), whole or not at all.

    The folder is opened afresh and answers some kept test rows; one that answers otherwise than the run did, beyond
    rounding, is not handed over.
    """
    if run.failure:
        raise UsageError(f"run {run.id} failed ({run.failure.message}); there is nothing to export")
    write = writer_for(run, to)
    target = _free_place(folder, store)
    artifact = store.folder(run.id) / ARTIFACT
    manifest = _manifest_of(run, artifact)
    with handed_over(target, run, to) as partial:
        write(artifact, manifest, partial)
        made = Manifest.read(partial)
        check = _tried(run, store, partial)
        baseline = None if run.is_baseline else kept_baseline(run, store)
        card = model_card(run, made, baseline, _campaign_of(run, store), check)
        write_text_whole(partial / EXAMPLE, usage_example(made))
        write_text_whole(partial / CARD, card)
    size = sum(path.stat().st_size for path in files_below(target))
    return Exported(target, size, made.portable, check)


def _free_place(folder: Path, store: RunStore) -> Path:
    """Where the export will stand; a folder that holds anything is left alone."""
    target = folder.expanduser().resolve()
    if target.is_relative_to(store.root.resolve()):
        raise UsageError(f"{folder} lies inside the store {store.root}; export to a folder outside it")
    if target == Path.cwd():
        raise UsageError(f"{folder} is the folder this command runs in; name a new one")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{folder} is already there and would be overwritten; name a new or an empty folder")
    return target


def _manifest_of(run: Run, artifact: Path) -> Manifest:
    manifest = Manifest.read(artifact)
    if run.artifact is None or manifest.files != run.artifact.files:
        raise ArtifactError(f"{artifact}: it is not what the record of run {run.id} tells; make the run again")
    return manifest


@contextmanager
def handed_over(target: Path, run: Run, to: str) -> Iterator[Path]:
    """Lend a folder that becomes the target when all went well, and say in one sentence what kept it from that."""
    partials = target.with_name(f".{target.name}.partial")
    try:
        sweep_partials(partials)
        with written_whole(target, partials) as partial:
            yield partial
            own = partial.stat().st_ino
    except WorkbenchError:
        raise
    except Exception as error:
        raise _told(error, target, run, to) from error
    finally:
        with contextlib.suppress(OSError):
            partials.rmdir()
    if target.stat().st_ino != own:
        raise UsageError(f"{target} came into being meanwhile and was left alone; name another folder")


def _told(error: Exception, target: Path, run: Run, to: str) -> WorkbenchError:
    """Exporters are strangers' code and may raise anything."""
    if is_disk_full(error):
        return StoreError(f"no space left while writing {target} ({first_line(error)}); make room and export again")
    if isinstance(error, OSError):
        return UsageError(f"{target} cannot be written ({error.strerror or first_line(error)}); name another folder")
    return ArtifactError(f"run {run.id} cannot be written as {to} ({type(error).__name__}: {first_line(error)})")


def _tried(run: Run, store: RunStore, folder: Path) -> ExportCheck:
    """Open an exported folder and compare its answers with the kept ones."""
    tests = read_rows(store.rows_file(run.data.fingerprint))
    rows = spread_over_lengths([row for part in tests.values() for row in part], ROWS_TRIED)
    check = check_export(_answers(folder, rows), _kept_answers(run, store, rows))
    if check.beyond_rounding:
        raise ArtifactError(f"run {run.id} was not exported, because the result is another model: {check.words}")
    return check


def _kept_answers(run: Run, store: RunStore, rows: tuple[Row, ...]) -> list[NDArray[np.float32]]:
    """What the run answered; a study that measures no quality kept no answers, so its artifact is asked again."""
    kept = Contestant(run.id, run, store.folder(run.id) / ARTIFACT, store.folder(run.id) / PREDICTIONS)
    if not kept.predictions.is_file() and not any(run.measured(metric) for metric in run.metrics):
        return _answers(kept.artifact, rows)
    return kept.kept_logits([row.id for row in rows])


def _answers(folder: Path, rows: tuple[Row, ...]) -> list[NDArray[np.float32]]:
    """Ask about each row alone, as whoever uses the folder does; int8 may answer a little otherwise in company."""
    encoder = Encoder.load(folder)
    tokens = tokenize(encoder.tokenizer, rows)
    return [encoder.runtime.logits(tokens.batch([number]))[0] for number in range(len(tokens))]


def _campaign_of(run: Run, store: RunStore) -> Campaign | None:
    """The newest campaign that timed just this artifact."""
    kept, _ = CampaignStore(store).all()
    artifact = hash_of(run.artifact.files if run.artifact else {})
    timed = [
        campaign
        for campaign in kept
        if any(entry.run == run.id and entry.artifact == artifact and not entry.failure for entry in campaign.entries)
    ]
    return timed[-1] if timed else None
