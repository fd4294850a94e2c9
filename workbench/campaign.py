"""Campaign: the immutable record of one measuring of several encoders beside each other, as in ``campaign.json``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from workbench.environment import Environment
from workbench.measurement import Measurement
from workbench.measuring import Measuring
from workbench.ratios import Ratio, Verdict, fault_of_control
from workbench.run import Cost

SCHEMA = 1
# The baseline's second entry: whatever it shows against the first is noise.
TWIN = "baseline again"


class Record(BaseModel):
    """A frozen part of a campaign."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answers(Record):
    """Whether what was timed answered like the quality run did."""

    timed: int
    differing: int
    beyond_rounding: int


class Entry(Record):
    """One encoder in a campaign. ``failure`` says why it has no numbers, ``unchecked`` why nobody could tell whether
    what was timed answered like the quality run.
    """

    name: str
    run: str
    recipe: str
    artifact: str
    runtime: str
    measurements: tuple[Measurement, ...] = ()
    ratio: Ratio | None = None
    end_to_end: Ratio | None = None
    answers: Answers | None = None
    unchecked: str | None = None
    failure: str | None = None

    def measured(self, metric: str) -> Measurement | None:
        """Look a metric up; absent when it was not measured."""
        return next((found for found in self.measurements if found.metric == metric), None)


class Round(Record):
    """What the machine did during one round. One that was not quiet is run again, and kept only when time is up."""

    process: int
    round: int
    seconds: float
    load: float | None
    steal_share: float | None
    others_cores: float | None
    involuntary_switches: int
    quiet: bool
    kept: bool


class Campaign(Record):
    """Several encoders of one task measured beside each other on one machine.

    ``cost`` is the coordinator's own: its processor time is what measuring took from what was measured.
    """

    schema_number: int = SCHEMA
    id: str
    created: str
    command: str
    task: str
    seed: int
    rows: str
    baseline: str
    environment: Environment
    settings: Measuring
    entries: tuple[Entry, ...]
    rounds: tuple[Round, ...]
    mean_tokens: float | None
    raw_kept: bool
    cost: Cost
    remarks: tuple[str, ...] = ()

    def entry(self, name: str) -> Entry | None:
        """Look an entry up by its name."""
        return next((entry for entry in self.entries if entry.name == name), None)

    def entry_of(self, run_id: str) -> Entry | None:
        """The entry of a run; the baseline's is its first one."""
        return next((entry for entry in self.entries if entry.run == run_id and entry.name != TWIN), None)

    @property
    def control(self) -> Ratio | None:
        """The baseline measured against itself."""
        twin = self.entry(TWIN)
        return twin.ratio if twin else None

    @property
    def was_timed(self) -> bool:
        """Whether this campaign timed anything, or tried to; one may also only weigh."""
        return bool(self.rounds) or any(entry.failure for entry in self.entries)

    @property
    def fault(self) -> str | None:
        """Why only what exceeds the control can be told here; absent when all is well."""
        return fault_of_control(self.control) if self.was_timed else None

    def verdict(self, entry: Entry) -> Verdict | None:
        """The word for an entry's speed; without a control or with wrong answers it is unclear."""
        if entry.ratio is None or entry.name == self.baseline:
            return None
        return entry.ratio.verdict_beside(self.control) if self.control and self.trusts(entry) else "unclear"

    def trusts(self, entry: Entry) -> bool:
        """Whether an entry's times are those of what was judged, beside a baseline that was measured twice."""
        right = entry.answers is not None and not entry.answers.beyond_rounding
        return right and self.control is not None

    @property
    def dropped_rounds(self) -> int:
        """How many rounds were too noisy to count."""
        return sum(not found.kept for found in self.rounds)
