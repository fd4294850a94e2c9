"""CampaignStore: a folder per campaign beside the runs, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from workbench.campaign import SCHEMA, Campaign
from workbench.errors import StoreError, first_line
from workbench.files import is_disk_full, write_text_whole, written_whole
from workbench.store import RunStore
from workbench.timings import Timings

RECORD = "campaign.json"


class CampaignStore:
    """All campaigns of a run store."""

    def __init__(self, store: RunStore) -> None:
        self.root = store.root / "campaigns"
        self._partials = store.root / "partial"

    def folder(self, campaign_id: str) -> Path:
        """Where a campaign is kept."""
        return self.root / campaign_id

    def keep(self, campaign: Campaign, timings: Timings) -> Campaign:
        """Keep a campaign with its raw timings; where there is no room for these, without them, and say so."""
        try:
            self._write(campaign, timings)
        except OSError as error:
            if not is_disk_full(error):
                raise
            remark = f"the raw timings could not be kept: no space left in {self.root}; what they came to is kept"
            campaign = campaign.model_copy(update={"raw_kept": False, "remarks": (*campaign.remarks, remark)})
            self._write(campaign, None)
        return campaign

    def all(self) -> tuple[list[Campaign], list[str]]:
        """All readable campaigns, oldest first, and a sentence for each record that cannot be read."""
        readable, damaged = [], []
        for path in sorted(self.root.glob(f"*/{RECORD}")):
            try:
                readable.append(self.read(path.parent.name))
            except StoreError as error:
                damaged.append(str(error))
        return sorted(readable, key=lambda campaign: (campaign.created, campaign.id)), damaged

    def read(self, campaign_id: str) -> Campaign:
        """Read one record."""
        path = self.folder(campaign_id) / RECORD
        try:
            text = path.read_text(encoding="utf-8")
            if json.loads(text).get("schema_number", SCHEMA) > SCHEMA:
                raise StoreError(f"{path} was written by a newer workbench; update this one to read it")
            return Campaign.model_validate_json(text)
        except ValidationError as error:
            raise StoreError(f"{path} is damaged ({error.errors()[0]['msg']})") from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise StoreError(f"{path} cannot be read ({first_line(error)})") from None

    def _write(self, campaign: Campaign, timings: Timings | None) -> None:
        with written_whole(self.folder(campaign.id), self._partials) as partial:
            if timings:
                timings.write(partial)
            write_text_whole(partial / RECORD, campaign.model_dump_json(indent=1) + "\n")
