"""Lineage and Manifest: what an encoder was made from, step by step, and what its folder holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from workbench import __version__
from workbench.errors import ArtifactError, first_line
from workbench.files import folder_hashes, write_text_whole

MANIFEST = "workbench.json"
# Under this name a step that refits layers tells, of each, which layer of the base it stands in for.
STANDS_FOR = "stands_for"
SCHEMA = 1


class MadeStep(BaseModel):
    """A step that was carried out: the strategy, its options, who provided it, and what it decided."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    use: str
    options: dict[str, Any]
    provider: str
    version: str
    portable: bool
    detail: dict[str, Any]


class Lineage(BaseModel):
    """Where an encoder comes from and what it serves; enough to rebuild its architecture."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: str
    base_hash: str
    base_config: dict[str, Any]
    task: str
    kind: str
    labels: tuple[str, ...]
    text_count: int
    max_length: int
    steps: tuple[MadeStep, ...] = ()

    @property
    def portable(self) -> bool:
        """Whether a stock transformers class can hold the result."""
        return all(step.portable for step in self.steps)

    @property
    def stands_for(self) -> list[int] | None:
        """The base's layers, counted from 0, that those of the encoder give the results of, where one step says so."""
        told = [step.detail[STANDS_FOR] for step in self.steps if STANDS_FOR in step.detail]
        return list(told[0]) if len(told) == 1 else None

    def plus(self, step: MadeStep) -> Lineage:
        """The lineage after one more step."""
        return self.model_copy(update={"steps": (*self.steps, step)})


class Manifest(BaseModel):
    """What stands in an artifact's ``workbench.json``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # An older reader must be able to see that a file is too new for it before anything else.
    schema_number: int = SCHEMA
    workbench: str = __version__
    runtime: str
    portable: bool
    lineage: Lineage
    files: dict[str, str]

    @classmethod
    def describe(cls, folder: Path, lineage: Lineage, runtime: str) -> Self:
        """Describe a folder in which everything else is already written."""
        portable = lineage.portable and runtime == "torch"
        return cls(runtime=runtime, portable=portable, lineage=lineage, files=folder_hashes(folder))

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read and check an artifact's manifest; a missing, newer or altered artifact is a clear error."""
        path = folder / MANIFEST
        try:
            text = path.read_text(encoding="utf-8")
            if json.loads(text).get("schema_number", SCHEMA) > SCHEMA:
                raise ArtifactError(f"{path} was written by a newer workbench; update this one to open it")
            manifest = cls.model_validate_json(text)
        except FileNotFoundError:
            raise ArtifactError(f"{folder}: not an artifact of the workbench (no {MANIFEST})") from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ArtifactError(f"{path}: is damaged ({first_line(error)})") from None
        manifest.check(folder)
        return manifest

    def write(self, folder: Path) -> None:
        """Write the manifest; it is the last file of an artifact."""
        write_text_whole(folder / MANIFEST, self.model_dump_json(indent=2) + "\n")

    def check(self, folder: Path) -> None:
        """Compare every file with its hash."""
        there = folder_hashes(folder)
        missing = sorted(set(self.files) - set(there))
        if missing:
            raise ArtifactError(f"{folder}: {missing[0]} is missing; make the run again")
        altered = sorted(name for name, digest in self.files.items() if there[name] != digest)
        if altered:
            raise ArtifactError(f"{folder}: {altered[0]} is not what was saved; make the run again")
