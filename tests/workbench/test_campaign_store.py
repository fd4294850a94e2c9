"""Campaigns are kept whole or not at all, without their raw timings where there is no room, and never hide another."""

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from records import a_campaign, an_entry

from workbench.campaign import SCHEMA
from workbench.campaign_store import RECORD, CampaignStore
from workbench.errors import StoreError
from workbench.ratios import Ratio
from workbench.store import RunStore
from workbench.timings import COLUMNS, FILE, Timings

MIB = 1 << 20
WITHOUT = "the raw timings could not be kept: no space left in {}; what they came to is kept"


def timings(count: int = 3) -> Timings:
    """So many calls whose times no program could write in fewer bytes."""
    chance = np.random.default_rng(0)
    calls = Timings.of([]).table.reindex(range(count))
    facts = {"entry": "baseline", "sort": "natural", "kept": True, **dict.fromkeys(COLUMNS, 0)}
    facts |= {name: chance.integers(2**62, size=count) for name in ("model_ns", "tokenize_ns")}
    return Timings(calls.assign(**facts).astype(COLUMNS)[list(COLUMNS)])


@pytest.fixture
def runs(tmp_path):
    store = RunStore(tmp_path / "store")
    store.prepare()
    return store


@pytest.fixture
def store(runs):
    return CampaignStore(runs)


def test_a_kept_campaign_and_its_timings_are_read_back_as_they_were(store):
    ratio = Ratio(value=2 / 3, low=0.1 + 0.2, high=1e-300 + 7, processes=5)
    campaign = a_campaign(an_entry("drop", ratio), remarks=("a [red] remark",))
    assert store.keep(campaign, timings()) == campaign
    assert store.read(campaign.id) == campaign
    assert Timings.read(store.folder(campaign.id)).table.equals(timings().table)
    assert store.all() == ([campaign], [])


def test_campaigns_come_oldest_first(store):
    for name, created in (("a", "2026-03"), ("c", "2026-01"), ("b", "2026-01")):
        store.keep(a_campaign(id=name, created=created), timings())
    assert [campaign.id for campaign in store.all()[0]] == ["b", "c", "a"]


def test_a_store_without_campaigns_has_none_and_stays_as_it_is(tmp_path):
    assert CampaignStore(RunStore(tmp_path / "never")).all() == ([], [])
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_is_never_overwritten(store):
    store.keep(a_campaign(seed=1), timings())
    store.keep(a_campaign(seed=2), timings())
    assert store.read("reviews-1").seed == 1


class Interrupted(Timings):
    """A table whose writing is interrupted."""

    by: BaseException = KeyboardInterrupt()

    def write(self, folder: Path) -> None:
        super().write(folder)
        raise self.by


class Forbidden(Interrupted):
    by = PermissionError(errno.EACCES, "Permission denied")


def test_an_interrupted_writer_leaves_nothing(store, runs):
    with pytest.raises(KeyboardInterrupt):
        store.keep(a_campaign(), Interrupted(timings().table))
    assert store.all() == ([], [])
    assert list((runs.root / "partial").iterdir()) == []


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "3", '{"id": "x"}', a_campaign().model_dump_json()[:-20]])
def test_a_damaged_record_is_named_and_hides_no_other(text, store):
    store.keep(a_campaign(id="torn"), timings())
    whole = store.keep(a_campaign(id="whole"), timings())
    path = store.folder("torn") / RECORD
    path.write_text(text)
    readable, (said,) = store.all()
    assert readable == [whole]
    assert said.startswith(f"{path} ")
    assert "damaged" in said or "cannot be read" in said
    assert "newer" not in said


def test_a_record_that_is_no_text_is_named(store):
    store.keep(a_campaign(), timings())
    (store.folder("reviews-1") / RECORD).write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match=rf"{RECORD} cannot be read"):
        store.read("reviews-1")


def test_a_campaign_that_is_not_there_is_named(store):
    with pytest.raises(StoreError, match=rf"nothing/{RECORD} cannot be read \(.*No such file"):
        store.read("nothing")


def test_a_newer_record_is_refused_and_said_to_be_newer(store):
    store.keep(a_campaign(), timings())
    path = store.folder("reviews-1") / RECORD
    facts = json.loads(path.read_text())
    path.write_text(json.dumps({**facts, "schema_number": SCHEMA + 1, "invented_later": 1}))
    assert store.all() == ([], [f"{path} was written by a newer workbench; update this one to read it"])


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a megabyte."""
    point = tmp_path / "small"
    point.mkdir()
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only root on Linux can make a small file system")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(point)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here ({made.stderr.strip()})")
    yield point
    subprocess.run(["umount", str(point)], check=True)


def test_where_the_disk_is_full_a_campaign_is_kept_without_its_raw_timings_and_says_so(small_disk):
    runs = RunStore(small_disk / "store")
    runs.prepare()
    store = CampaignStore(runs)
    kept = store.keep(a_campaign(remarks=("before",)), timings(200_000))
    assert not kept.raw_kept
    assert kept.remarks == ("before", WITHOUT.format(store.root))
    assert store.all() == ([kept], [])
    assert [path.name for path in store.folder(kept.id).iterdir()] == [RECORD]
    assert list((runs.root / "partial").iterdir()) == []


def test_where_not_even_the_record_has_room_nothing_is_kept(small_disk):
    runs = RunStore(small_disk / "store")
    runs.prepare()
    with (small_disk / "other").open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):
        while True:
            stream.write(b"x" * 4096)
    with pytest.raises(OSError, match="No space left"):
        CampaignStore(runs).keep(a_campaign(), timings())
    assert CampaignStore(runs).all() == ([], [])


KEEPER = """
import sys
from pathlib import Path
from workbench.campaign import Campaign
from workbench.campaign_store import CampaignStore
from workbench.store import RunStore
from workbench.timings import Timings
store = CampaignStore(RunStore(Path(sys.argv[1])))
store.keep(Campaign.model_validate_json(sys.stdin.read()), Timings.read(Path(sys.argv[2])))
"""


def test_where_files_may_not_grow_a_campaign_is_kept_without_its_raw_timings(store, runs, tmp_path):
    timings(100_000).write(tmp_path)
    assert (tmp_path / FILE).stat().st_size > MIB
    subprocess.run(
        [sys.executable, "-c", KEEPER, str(runs.root), str(tmp_path)],
        input=a_campaign().model_dump_json(),
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MIB // 2, MIB // 2)),
    )
    (kept,), damaged = store.all()
    assert damaged == []
    assert (kept.raw_kept, kept.remarks) == (False, (WITHOUT.format(store.root),))
    assert [path.name for path in store.folder(kept.id).iterdir()] == [RECORD]


def test_another_fault_of_the_disk_is_not_taken_for_a_full_one(store):
    with pytest.raises(PermissionError):
        store.keep(a_campaign(), Forbidden(timings().table))
    assert store.all() == ([], [])
