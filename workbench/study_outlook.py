"""Study outlooks: what a study would do, found out by a full plan in a process of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel, ConfigDict

from workbench.log_text import plain_line
from workbench.started_study import STUDY
from workbench.study_draft import StudyDraft

PATIENCE_SECONDS = 900.0


class RunOptions(BaseModel):
    """The options of ``workbench run``; what is absent is as the study says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    only: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    limit: int | None = None
    glue_dir: Path | None = None

    def words(self, file: Path, store: Path) -> list[str]:
        """The command that carries a study out; a value can never be taken for an option."""
        limit = [] if self.limit is None else [f"--limit={self.limit}"]
        glue = [] if self.glue_dir is None else [f"--glue-dir={self.glue_dir.expanduser().resolve()}"]
        chosen = [*(f"--only={name}" for name in self.only), *(f"--seed={seed}" for seed in self.seeds)]
        return ["run", str(file), "--store", str(store), *chosen, *limit, *glue]


AS_WRITTEN = RunOptions()


class Outlook(BaseModel):
    """What a study would do, line by line, or why it cannot be carried out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lines: tuple[str, ...] = ()
    complaint: str | None = None


def outlook_of(draft: StudyDraft, store: Path, options: RunOptions, command: Sequence[str]) -> Outlook:
    """Make the full plan of a draft whose paths are whole, and do none of it; nothing is written to the store."""
    with TemporaryDirectory() as scratch:
        file = Path(scratch).resolve() / STUDY
        file.write_text(draft.text(), encoding="utf-8")
        words = [*command, *options.words(file, store), "--check"]
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Outlook(complaint=f"the study could not be checked within {PATIENCE_SECONDS:.0f} s")
    said = _lines(done.stdout)
    if done.returncode == 0:
        return Outlook(lines=said)
    complaint = "\n".join(_lines(done.stderr) or said).removeprefix("error: ")
    # Nobody has seen the file it names.
    unplaced = re.sub(rf"{re.escape(str(file))}(:\d+)?: ", "", complaint)
    return Outlook(complaint=unplaced or f"the check ended with exit code {done.returncode} and said nothing")


def _lines(said: bytes) -> tuple[str, ...]:
    lines = (plain_line(line) for line in said.decode("utf-8", errors="replace").split("\n"))
    return tuple(line for line in lines if line)
