"""What nobody needs can go, what somebody may need stays, and the reason is told for each sort of thing."""

import os
import shutil
import time
from pathlib import Path

import pytest
from held_elsewhere import held_elsewhere
from leftover_things import aged
from records import a_run
from sent_stores import BASELINE, CAMPAIGN, DROP, ROWS, a_sent_store, keep_record, keep_whole

from workbench.cache import Cache
from workbench.leftovers import Sort, Survey, clear_away
from workbench.step_keys import step_keys_of
from workbench.store import RECORD, RunStore

KEY, OTHER = "a" * 64, "b" * 64
BASE = {
    **{"name": "./base", "hash": "h", "finetuned": True, "key": KEY, "settings": {}},
    "cost": {"wall_seconds": 1.0, "cpu_seconds": 1.0},
}
STEP = {
    **{"use": "finetune", "options": {"epochs": 1.0}, "provider": "encoder-workbench", "version": "0.1.0"},
    **{"detail": {}, "cost": {"wall_seconds": 1.0, "cpu_seconds": 1.0}},
}
FAILURE = {"stage": "measure", "message": "no room"}


@pytest.fixture
def store(tmp_path) -> RunStore:
    return a_sent_store(tmp_path / "store")


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path / "cache")


def make(cache: Cache, sort: str, key: str, days_ago: float = 30) -> Path:
    made = cache.make(sort, key, lambda folder: (folder / "thing").write_bytes(b"x" * 1000) and None)
    return aged(made, days_ago)


def sorts(store: RunStore, cache: Cache, days: float = 7) -> dict[tuple[str, str], Sort]:
    return {(sort.place, sort.name): sort for sort in Survey.take(store, cache, days).sorts()}


def spare(store: RunStore, cache: Cache, days: float = 7) -> set[str]:
    """What can go, locks aside, by its place below the two roots."""
    found = [left.path for sort in sorts(store, cache, days).values() for left in sort.leftovers]
    return {path.relative_to(store.root.parent).as_posix() for path in found if path.suffix != ".lock"}


def clear(store: RunStore, cache: Cache, days: float = 7) -> tuple[int, int]:
    survey = Survey.take(store, cache, days).sorts()
    return clear_away(left for sort in survey for left in sort.leftovers if left.path.suffix != ".lock")


def test_a_fresh_store_with_its_cache_holds_nothing_to_spare(store, cache):
    assert spare(store, cache) == set()
    found = sorts(store, cache)
    assert found["store", "finished runs"].count == 2
    assert found["store", "campaigns"].count == 1
    assert found["store", "test rows"].bytes == store.rows_file(ROWS).stat().st_size
    assert found["store", "studies"].count == 1
    assert ("cache", "fine-tuned bases") not in found


def test_an_absent_store_and_cache_hold_nothing_and_stay_absent(tmp_path):
    assert Survey.take(RunStore(tmp_path / "a"), Cache(tmp_path / "b"), 7).sorts() == []
    assert list(tmp_path.iterdir()) == []


def test_a_base_goes_when_no_kept_run_started_from_it(store, cache):
    keep_whole(store, "with-base", "other", base=BASE)
    make(cache, "bases", KEY)
    make(cache, "bases", OTHER)
    assert spare(store, cache) == {f"cache/bases/{OTHER}"}
    sort = sorts(store, cache)["cache", "fine-tuned bases"]
    assert (sort.count, sort.bytes, sort.leftovers[0].bytes) == (2, 2000, 1000)
    assert sort.why == f"no run in {store.root} started from them, not read for 7 days"
    assert clear(store, cache) == (1, 1000)
    assert [path.name for path in (cache.root / "bases").iterdir()] == [KEY]


def test_a_trained_step_goes_when_no_kept_run_has_it(store, cache):
    run = keep_whole(store, "with-step", "other", base=BASE, steps=[STEP, {**STEP, "use": "int8-dynamic"}])
    first, second = step_keys_of(run)
    for key in (first, second, OTHER):
        make(cache, "steps", key)
    assert spare(store, cache) == {f"cache/steps/{OTHER}"}


def test_what_was_read_lately_stays_until_it_is_said_otherwise(store, cache):
    make(cache, "bases", OTHER, days_ago=3)
    assert spare(store, cache) == set()
    assert spare(store, cache, days=2) == {f"cache/bases/{OTHER}"}
    thing = make(cache, "steps", OTHER, days_ago=30) / "thing"
    os.utime(thing, (time.time(), thing.stat().st_mtime))
    assert f"cache/steps/{OTHER}" not in spare(store, cache)
    assert f"cache/steps/{OTHER}" in spare(store, cache, days=0)


@pytest.mark.parametrize("sort", ["teachers", "tokens"])
def test_what_is_made_again_at_little_cost_goes_when_nobody_read_it_for_long(sort, store, cache):
    make(cache, sort, KEY, days_ago=8)
    make(cache, sort, OTHER, days_ago=1)
    assert spare(store, cache) == {f"cache/{sort}/{KEY}"}


def test_interrupted_training_stays_until_it_is_finished_or_forgotten(store, cache):
    for key in (KEY, OTHER):
        cache.workplace(key).mkdir(parents=True)
        (cache.workplace(key) / "checkpoint").write_bytes(b"x")
    assert spare(store, cache) == set()
    make(cache, "steps", KEY, days_ago=0)
    assert spare(store, cache) == {f"cache/unfinished/{KEY}"}
    aged(cache.workplace(OTHER), 8)
    assert spare(store, cache) == {f"cache/unfinished/{KEY}", f"cache/unfinished/{OTHER}"}


def test_of_the_descriptions_of_strategies_only_the_newest_stays(store, cache):
    folder = cache.root / "catalogue"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.json").write_text("[]")
        aged(folder / f"{number}.json", 10 * number)
    assert spare(store, cache) == {"cache/catalogue/1.json", "cache/catalogue/2.json"}
    assert clear(store, cache)[0] == 2
    assert [path.name for path in folder.iterdir()] == ["0.json"]


def test_rows_go_when_neither_a_run_nor_a_campaign_is_about_them(store, cache):
    for name in ("lonely", "timed"):
        shutil.copy(store.rows_file(ROWS), store.rows_file(name))
    record = store.root / "campaigns" / CAMPAIGN / "campaign.json"
    record.write_text(record.read_text().replace('"rows": "rows"', '"rows": "timed"'))
    aged(store.root / "rows", 30)
    assert spare(store, cache) == {"store/rows/lonely.parquet"}
    for run_id in (BASELINE, DROP):
        shutil.rmtree(store.folder(run_id))
    assert spare(store, cache) == {"store/rows/lonely.parquet", f"store/rows/{ROWS}.parquet"}


def test_a_failed_run_goes_once_it_was_made_again(store, cache):
    keep_record(store, a_run("failed-1", "drop", failure=FAILURE, created="2025"))
    keep_record(store, a_run("failed-2", "drop", failure=FAILURE, created="2027"))
    keep_record(store, a_run("failed-3", "drop", failure=FAILURE, created="2025", seed=1))
    keep_record(store, a_run("failed-4", "int8", failure=FAILURE, created="2025"))
    assert spare(store, cache) == {"store/runs/failed-1"}
    clear(store, cache)
    assert store.ids() == sorted(["failed-2", "failed-3", "failed-4", BASELINE, DROP])


def test_judgements_go_when_nobody_read_them_for_long(store, cache):
    store.judged_file("x").parent.mkdir()
    store.judged_file("x").write_text("{}")
    assert spare(store, cache) == set()
    aged(store.judged_file("x"), 8)
    assert spare(store, cache) == {"store/judged/x.json"}


def test_what_killed_writers_left_goes(store, cache):
    for root in (store.root, cache.root):
        (root / "partial" / "dead.1.abc").mkdir(parents=True)
        (root / "partial" / "dead.1.abc" / "half").write_bytes(b"x" * 10)
        (root / ".index.json.1.abc").write_text("half")
    assert spare(store, cache) == {"store/partial/dead.1.abc", "cache/partial/dead.1.abc"}
    aged(store.root / ".index.json.1.abc", 1)
    assert "store/.index.json.1.abc" in spare(store, cache)
    assert clear(store, cache) == (3, 24)
    assert list((store.root / "partial").iterdir()) == []
    assert not (store.root / ".index.json.1.abc").exists()


@pytest.mark.parametrize("damaged", ["run", "campaign"])
def test_while_a_record_cannot_be_read_nobody_knows_what_it_needs(damaged, store, cache):
    make(cache, "bases", OTHER)
    make(cache, "tokens", OTHER)
    aged(Path(shutil.copy(store.rows_file(ROWS), store.rows_file("lonely"))), 30)
    record = store.folder(DROP) / RECORD if damaged == "run" else store.root / "campaigns" / CAMPAIGN / "campaign.json"
    record.write_text("{")
    assert spare(store, cache) == {f"cache/tokens/{OTHER}"}
    why = sorts(store, cache)["cache", "fine-tuned bases"].why
    assert why == "records that cannot be read: 1; they may need any of them"


@pytest.mark.parametrize("lock", ["store/locks/x.lock", "store/partial/x.1.a.lock", "cache/locks/bases-x.lock"])
def test_while_a_living_process_is_at_work_only_dead_partials_go(lock, store, cache):
    make(cache, "bases", OTHER)
    make(cache, "tokens", OTHER)
    keep_record(store, a_run("failed-1", "drop", failure=FAILURE, created="2025"))
    (store.partials / "dead.1.abc").mkdir()
    (store.partials / "x.1.a").mkdir()
    with held_elsewhere(store.root.parent / lock):
        alone = {"store/partial/dead.1.abc"}
        assert spare(store, cache) == (alone if "partial" in lock else alone | {"store/partial/x.1.a"})
        found = Survey.take(store, cache, 7).sorts()
        assert [left for sort in found for left in sort.leftovers if left.path.suffix == ".lock"] == []
        clear_away(left for sort in found for left in sort.leftovers)
        assert (store.partials / "x.1.a").exists() == ("partial" in lock)
        assert cache.find("bases", OTHER) and cache.find("tokens", OTHER)
    assert {f"cache/bases/{OTHER}", "store/runs/failed-1"} <= spare(store, cache)


def test_what_somebody_took_since_it_was_looked_at_stays(store, cache):
    make(cache, "bases", OTHER)
    keep_record(store, a_run("failed-1", "drop", failure=FAILURE, created="2025"))
    seen = [left for sort in Survey.take(store, cache, 7).sorts() for left in sort.leftovers]
    with (
        held_elsewhere(cache.root / "locks" / f"bases-{OTHER}.lock"),
        held_elsewhere(store.locks / "failed-1.lock"),
    ):
        clear_away(seen)
        assert cache.find("bases", OTHER)
        assert "failed-1" in store.ids()


def test_free_locks_go_and_whoever_needs_one_makes_it_again(store, cache):
    make(cache, "bases", KEY)
    with store.claim(DROP):
        pass
    found = Survey.take(store, cache, 7).sorts()
    clear_away(left for sort in found for left in sort.leftovers)
    assert list(store.locks.iterdir()) == []
    assert list((cache.root / "locks").iterdir()) == []
    make(cache, "bases", OTHER)
    with store.claim(DROP).acquire(timeout=0):
        assert cache.find("bases", OTHER)


def test_what_went_away_meanwhile_is_no_fault(store, cache):
    make(cache, "bases", OTHER)
    found = [left for sort in Survey.take(store, cache, 7).sorts() for left in sort.leftovers]
    shutil.rmtree(cache.root / "bases" / OTHER)
    assert clear_away(left for left in found if left.path.suffix != ".lock") == (0, 0)


def test_a_cache_inside_the_store_is_told_apart_from_it(store):
    cache = Cache(store.root / "cache")
    made = make(cache, "bases", OTHER)
    clear_away(left for sort in Survey.take(store, cache, 7).sorts() for left in sort.leftovers)
    assert not made.exists()
    assert store.ids() == [BASELINE, DROP]


def test_what_is_not_known_is_shown_and_stays(store, cache):
    (cache.root / "future").mkdir(parents=True)
    aged(cache.root / "future", 99)
    (cache.root / "future" / "x").write_bytes(b"12345")
    sort = sorts(store, cache)["cache", "future"]
    assert (sort.count, sort.bytes, sort.leftovers) == (1, 5, ())
