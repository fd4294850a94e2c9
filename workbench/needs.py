"""Needs: what the kept runs and campaigns of a store refer to, in it and in the cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from workbench.errors import StoreError
from workbench.step_keys import step_keys_of
from workbench.store import RunStore


@dataclass(frozen=True)
class Needs:
    """The keys of bases and trained steps, and the fingerprints of rows.

    ``unread`` are the ids of runs, and ``damaged`` sentences about campaigns, of which nobody can know what they need.
    """

    bases: set[str] = field(default_factory=set)
    steps: set[str] = field(default_factory=set)
    rows: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, store: RunStore) -> Self:
        """Read every record, one at a time."""
        from workbench.campaign_store import CampaignStore

        found = cls()
        for run_id in store.ids():
            try:
                run = store.read(run_id)
            except StoreError:
                found.unread.append(run_id)
                continue
            found.bases.update([run.base.key] if run.base else [])
            found.steps.update(step_keys_of(run))
            found.rows.add(run.data.fingerprint)
        campaigns, damaged = CampaignStore(store).all()
        found.rows.update(campaign.rows for campaign in campaigns)
        found.damaged.extend(damaged)
        return found

    @property
    def unknown(self) -> int:
        """How many records cannot be read."""
        return len(self.unread) + len(self.damaged)
