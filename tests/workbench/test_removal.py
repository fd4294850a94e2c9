"""A run goes whole or not at all, not from under another process, and not as the last baseline of others unasked."""

import subprocess
import sys

import pytest
from held_elsewhere import held_elsewhere
from records import a_run
from sent_stores import BASELINE, CAMPAIGN, DROP, a_sent_store, contents, empty_store, keep_record

from workbench.campaign_store import CampaignStore
from workbench.errors import UnknownNameError, UsageError
from workbench.files import bytes_below
from workbench.removal import Removal, orphans_of
from workbench.run_index import RunHead, RunIndex
from workbench.store import RECORD

FAILURE = {"stage": "apply", "message": "no room"}


@pytest.fixture
def store(tmp_path):
    return a_sent_store(tmp_path / "store")


def head(run_id: str, recipe: str = "baseline", **changes: object) -> RunHead:
    return RunHead.of(run_id, a_run(run_id, recipe, **changes))


def test_a_run_goes_with_all_it_holds_and_the_rest_stays(store):
    others = contents(store.folder(BASELINE))
    removal = Removal.plan([DROP[:-2]], store)
    assert [run.id for run in removal.doomed] == [DROP]
    assert removal.bytes == sum(len(held) for held in contents(store.folder(DROP)).values()) > 1000
    assert removal.carry_out(store) == ([DROP], [])
    assert store.ids() == [BASELINE]
    assert contents(store.folder(BASELINE)) == others
    assert list(store.partials.iterdir()) == []


def test_campaigns_that_mention_the_run_stay(store):
    Removal.plan([DROP], store).carry_out(store)
    (campaign,) = CampaignStore(store).all()[0]
    assert campaign.id == CAMPAIGN
    assert campaign.entry_of(DROP)


def test_planning_removes_nothing(store):
    before = contents(store.folder(DROP))
    Removal.plan([DROP], store)
    assert contents(store.folder(DROP)) == before


def test_the_last_baseline_of_others_is_not_removed_unasked(store):
    removal = Removal.plan([BASELINE], store)
    with pytest.raises(UsageError, match=rf"^{DROP} would have no baseline .*--with-variants"):
        removal.check()
    together = Removal.plan([BASELINE], store, with_variants=True)
    together.check()
    assert {run.id for run in together.doomed} == {BASELINE, DROP}
    named = Removal.plan([BASELINE, DROP, DROP], store)
    named.check()
    assert [run.id for run in named.doomed] == [BASELINE, DROP]


@pytest.mark.parametrize(
    ("others", "doomed", "lost"),
    [
        ([head("v", "drop")], ["b"], {"v"}),
        ([head("v", "drop"), head("b2")], ["b"], set()),
        ([head("v", "drop"), head("b2", failure=FAILURE)], ["b"], {"v"}),
        ([head("v", "drop"), head("b2")], ["b", "b2"], {"v"}),
        ([head("v", "drop", failure=FAILURE)], ["b"], set()),
        ([head("v", "drop", seed=1)], ["b"], set()),
        ([head("v", "drop", task="topics")], ["b"], set()),
        ([head("v", "drop", study="other")], ["b"], set()),
        ([head("v", "drop", data={"source": "files", "fingerprint": "others", "rows": {}})], ["b"], set()),
        ([head("v", "drop"), head("w", "int8")], ["v"], set()),
        ([head("v", "drop"), head("w", "int8")], ["b", "v"], {"w"}),
    ],
)
def test_a_run_loses_its_baseline_when_no_finished_one_of_its_study_task_seed_and_rows_is_left(others, doomed, lost):
    assert {found.id for found in orphans_of(doomed, [head("b"), *others])} == lost


def test_a_damaged_run_can_be_removed(store):
    (store.folder(DROP) / RECORD).write_text("")
    removal = Removal.plan([DROP], store)
    assert removal.doomed[0].head is None
    assert removal.carry_out(store) == ([DROP], [])
    assert store.ids() == [BASELINE]


def test_an_unknown_run_is_refused_before_anything_is_removed(store):
    with pytest.raises(UnknownNameError, match="did you mean"):
        Removal.plan([DROP, "reviews-dorp-s0"], store)
    assert store.ids() == [BASELINE, DROP]


@pytest.mark.parametrize("name", ["..", ".", "/", "../partial", ""])
def test_what_is_no_run_cannot_be_removed(name, tmp_path):
    store = empty_store(tmp_path / "store")
    with pytest.raises(UnknownNameError):
        Removal.plan([name], store)


def test_a_run_that_another_process_claims_is_left_alone_and_the_others_go(store):
    keep_record(store, a_run("reviews-other", "other"))
    with held_elsewhere(store.locks / f"{DROP}.lock"):
        gone, kept = Removal.plan([DROP, "reviews-other"], store).carry_out(store)
        assert gone == ["reviews-other"]
        assert kept == [f"run {DROP} stays: another process is at work on it; wait until it has ended"]
        assert store.ids() == [BASELINE, DROP]
    assert Removal.plan([DROP], store).carry_out(store) == ([DROP], [])


def test_a_run_that_another_process_removed_meanwhile_is_told(store):
    first, second = Removal.plan([DROP], store), Removal.plan([DROP], store)
    first.carry_out(store)
    gone, kept = second.carry_out(store)
    assert gone == []
    assert "not there any more" in kept[0]


DYING = """
import os, shutil, signal, sys
from pathlib import Path
from workbench import files
from workbench.removal import Removal
from workbench.store import RunStore
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
store = RunStore(Path(sys.argv[1]))
removal = Removal.plan([sys.argv[2]], store)
store.prepare()
files.shutil.rmtree = die
removal.carry_out(store)
"""


def test_a_kill_between_moving_away_and_deleting_leaves_no_half_run_and_is_swept_up(store):
    size = bytes_below(store.folder(DROP))
    done = subprocess.run([sys.executable, "-c", DYING, str(store.root), DROP], check=False)
    assert done.returncode == -9
    assert store.ids() == [BASELINE]
    assert [found.id for found in RunIndex(store).heads()[0]] == [BASELINE]
    assert bytes_below(store.partials) == size
    store.prepare()
    assert list(store.partials.iterdir()) == []
