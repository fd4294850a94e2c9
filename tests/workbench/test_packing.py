"""A parcel holds all that belongs to its runs, is written whole, and comes out elsewhere as it went in."""

import shutil
import tarfile

import pytest
from records import a_run
from sent_stores import BASELINE, CAMPAIGN, DROP, ROWS, STUDY, a_sent_store, contents, empty_store, keep_record

from workbench.campaign_store import CampaignStore
from workbench.errors import StoreError, UsageError
from workbench.importing import import_from
from workbench.packing import check_target, parcel_of, write_parcel
from workbench.run import Run
from workbench.store import ARTIFACT, RunStore


@pytest.fixture
def store(tmp_path) -> RunStore:
    return a_sent_store(tmp_path / "store")


def runs_of(store: RunStore, *ids: str) -> list[Run]:
    return [store.read(run_id) for run_id in ids]


def test_what_was_packed_is_imported_as_it_was(store, tmp_path):
    target = tmp_path / "both.tar.gz"
    parcel = parcel_of(runs_of(store, BASELINE, DROP), store)
    assert (parcel.runs, parcel.campaigns, parcel.absent) == ((BASELINE, DROP), (CAMPAIGN,), ())
    assert write_parcel(parcel, store, target) == target.stat().st_size
    other = empty_store(tmp_path / "other")
    assert {outcome.state for outcome in import_from(target, other)} == {"imported"}
    for run_id in (BASELINE, DROP):
        ours, theirs = contents(store.folder(run_id)), contents(other.folder(run_id))
        assert ours.keys() == theirs.keys()
        assert {name for name in ours if ours[name] != theirs[name]} == {"run.json"}
    for folder in ("campaigns", "rows", "studies"):
        assert contents(other.root / folder) == contents(store.root / folder)


def test_only_what_belongs_to_the_chosen_runs_is_packed(store, tmp_path):
    keep_record(store, a_run("reviews-other", "other"))
    shutil.copy(store.rows_file(ROWS), store.rows_file("others"))
    parcel = parcel_of(runs_of(store, "reviews-other"), store)
    names = {path.relative_to(store.root).as_posix() for path in parcel.files}
    assert parcel.campaigns == ()
    assert names == {
        "runs/reviews-other/run.json",
        f"rows/{ROWS}.parquet",
        f"studies/{STUDY}.yaml",
    }


def test_artifacts_can_stay_behind(store, tmp_path):
    target = tmp_path / "light.tgz"
    parcel = parcel_of(runs_of(store, BASELINE, DROP), store, artifacts=False)
    write_parcel(parcel, store, target)
    other = empty_store(tmp_path / "other")
    import_from(target, other)
    for run in other.runs()[0]:
        assert run.imported.without == ("artifact",)
        assert not (other.folder(run.id) / ARTIFACT).exists()
    assert len(other.ids()) == 2


def test_texts_can_stay_behind_and_all_answers_come_along(store, tmp_path):
    target = tmp_path / "discreet.tgz"
    write_parcel(parcel_of(runs_of(store, BASELINE, DROP), store, texts=False), store, target)
    with tarfile.open(target) as tar:
        assert not [name for name in tar.getnames() if "/rows/" in name]
    other = empty_store(tmp_path / "other")
    assert {outcome.state for outcome in import_from(target, other)} == {"imported"}
    for run_id in (BASELINE, DROP):
        assert contents(other.folder(run_id)).keys() == contents(store.folder(run_id)).keys()


def test_what_a_parcel_lacks_is_told(store):
    store.rows_file(ROWS).unlink()
    said = parcel_of(runs_of(store, DROP), store).absent
    assert said == (
        f"{ROWS}.parquet: these test rows were not kept",
        f"{DROP}: its baseline is not packed, so it cannot be compared elsewhere",
    )


def test_a_parcel_tells_nothing_of_this_machine_s_owners_and_unpacks_into_a_folder_of_its_own(store, tmp_path):
    target = tmp_path / "both.tar.gz"
    write_parcel(parcel_of(runs_of(store, DROP), store), store, target)
    with tarfile.open(target) as tar:
        members = tar.getmembers()
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}
    assert {member.name.partition("/")[0] for member in members} == {"both"}
    assert all(member.isreg() for member in members)


def test_a_link_in_a_run_is_packed_as_what_it_points_to(store, tmp_path):
    weights = store.folder(DROP) / ARTIFACT / "graph" / "model.safetensors"
    weights.symlink_to(weights.rename(tmp_path / "weights"))
    write_parcel(parcel_of(runs_of(store, DROP), store), store, tmp_path / "x.tar.gz")
    other = empty_store(tmp_path / "other")
    assert {outcome.state for outcome in import_from(tmp_path / "x.tar.gz", other)} == {"imported"}


def test_an_existing_file_is_never_overwritten(store, tmp_path):
    target = tmp_path / "x.tar.gz"
    target.write_text("dear")
    with pytest.raises(UsageError, match="there already"):
        write_parcel(parcel_of(runs_of(store, DROP), store), store, target)
    assert target.read_text() == "dear"


@pytest.mark.parametrize("name", ["x.zip", "x", "x.tar", "nowhere/x.tar.gz"])
def test_a_target_that_would_not_do_is_refused(name, tmp_path):
    with pytest.raises(UsageError):
        check_target(tmp_path / name)
    check_target(tmp_path / "x.tar.gz")


def test_a_run_that_goes_away_meanwhile_leaves_no_archive(store, tmp_path):
    parcel = parcel_of(runs_of(store, BASELINE, DROP), store)
    shutil.rmtree(store.folder(DROP))
    (tmp_path / "out").mkdir()
    with pytest.raises(StoreError, match="went away while it was being packed; nothing was written"):
        write_parcel(parcel, store, tmp_path / "out" / "x.tar.gz")
    assert list((tmp_path / "out").iterdir()) == []


def test_campaigns_are_found_by_the_runs_they_mention(store):
    assert parcel_of(runs_of(store, DROP), store).campaigns == (CAMPAIGN,)
    shutil.rmtree(CampaignStore(store).folder(CAMPAIGN))
    assert parcel_of(runs_of(store, DROP), store).campaigns == ()
