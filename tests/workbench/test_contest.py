"""A contest enters what can stand beside each other, the baseline twice, and refuses the rest in words."""

import re

import numpy as np
import pytest
from kept_stand_ins import TEXTS, a_store, keep_stand_in, right_answers
from records import a_run

from workbench.campaign import TWIN
from workbench.contest import contest_of, spread_over_lengths
from workbench.errors import StoreError, UsageError
from workbench.kept_rows import keep_rows
from workbench.store import ARTIFACT, PREDICTIONS
from workbench.tasks.task import Row


@pytest.fixture
def store(tmp_path):
    return a_store(tmp_path / "store")


@pytest.fixture
def baseline(store):
    return keep_stand_in(store, "baseline")


@pytest.fixture
def drop(store, baseline):
    return keep_stand_in(store, "drop")


def refused(runs, store) -> str:
    with pytest.raises(UsageError) as error:
        contest_of(runs, store, 32)
    return str(error.value)


def test_the_baseline_joins_and_is_entered_twice(store, baseline, drop):
    contest = contest_of([drop], store, 32)
    assert [entered.name for entered in contest.contestants] == ["baseline", TWIN, "drop"]
    assert [entered.run for entered in contest.contestants] == [baseline, baseline, drop]
    assert contest.baseline.run == baseline
    assert contest.field.baseline == "baseline"
    assert contest.field.artifacts["drop"] == store.folder(drop.id) / ARTIFACT
    assert set(contest.field.texts) <= {(text,) for text in TEXTS}


def test_a_baseline_alone_is_a_contest_with_itself(store, baseline):
    assert [entered.name for entered in contest_of([baseline], store, 32).contestants] == ["baseline", TWIN]


def test_naming_a_run_twice_or_the_baseline_too_changes_nothing(store, baseline, drop):
    assert contest_of([drop, baseline, drop], store, 32) == contest_of([drop], store, 32)


def test_runs_of_one_recipe_go_by_their_ids(store, drop):
    again = keep_stand_in(store, "drop", id="reviews-drop-again")
    other = keep_stand_in(store, "share")
    names = [entered.name for entered in contest_of([drop, other, again], store, 32).contestants]
    assert names == ["baseline", TWIN, drop.id, "share", again.id]


def test_a_failed_run_is_refused_with_its_failure(store, drop):
    failed = a_run("reviews-sharp", "sharp", failure={"stage": "apply", "message": "no [red] room"})
    assert refused([drop, failed], store) == "run reviews-sharp failed (no [red] room); there is nothing to measure"


def test_runs_of_another_task_or_of_other_rows_are_refused(store, drop):
    other = a_run("sst2-drop", "drop", task="sst2")
    assert refused([drop, other], store).startswith(f"{drop.id} answers reviews and sst2-drop sst2")
    fewer = a_run("fewer", "drop", data={"source": "files", "fingerprint": "fewer rows", "rows": {"test": 1}})
    assert "other rows" in refused([drop, fewer], store)
    assert "one task at a time" in refused([drop, fewer], store)


def test_runs_of_another_seed_are_refused(store, drop):
    told = refused([drop, a_run("other", "drop", seed=1)], store)
    assert told == f"{drop.id} and other have different seeds; measure one seed at a time"


@pytest.mark.parametrize(
    "stranger",
    [
        {"study": "another"},
        {"seed": 1},
        {"task": "sst2"},
        {"data": {"source": "files", "fingerprint": "other rows", "rows": {"test": 1}}},
        {"failure": {"stage": "save", "message": "no room"}},
    ],
)
def test_a_run_without_its_baseline_is_refused_with_the_way_out(store, stranger):
    keep_stand_in(store, "baseline", **stranger)
    alone = keep_stand_in(store, "drop")
    assert refused([alone], store) == (
        f"run {alone.id} has no baseline in {store.root}; run its study again, or name the store that holds it"
    )


def test_the_newest_fitting_baseline_is_taken(store, drop):
    newer = keep_stand_in(store, "baseline", id="a-newer-one", created="2026-02-01T00:00:00.000+00:00")
    keep_stand_in(store, "baseline", id="of-another-study", study="t", created="2026-03-01T00:00:00.000+00:00")
    assert contest_of([drop], store, 32).baseline.run == newer


def test_rows_that_were_not_kept_are_missed(store, drop):
    store.rows_file("rows").unlink()
    with pytest.raises(StoreError, match="were not kept; run their study again"):
        contest_of([drop], store, 32)


def test_an_artifact_s_hash_is_that_of_all_its_files(store, baseline, drop):
    other = keep_stand_in(store, "slow", {"sleep": 1})
    contest = contest_of([drop, other], store, 32)
    hashes = {entered.name: entered.artifact_hash for entered in contest.contestants}
    assert hashes["baseline"] == hashes[TWIN] == hashes["drop"] != hashes["slow"]


def test_kept_outputs_come_in_the_order_asked_for(store, drop):
    entered = contest_of([drop], store, 32).contestants[-1]
    answers = right_answers()
    wanted = [answers.ids[3], answers.ids[0]]
    np.testing.assert_array_equal(entered.kept_logits(wanted), [answers.logits[3], answers.logits[0]])


def test_a_row_that_was_never_answered_is_named(store, drop):
    entered = contest_of([drop], store, 32).contestants[-1]
    with pytest.raises(StoreError, match=r"predictions\.parquet: it has no answer to row 'test-99'"):
        entered.kept_logits(["test-0", "test-99"])
    (store.folder(drop.id) / PREDICTIONS).write_bytes(b"torn")
    with pytest.raises(StoreError, match=re.escape(f"{entered.predictions}: predictions cannot be read")):
        entered.kept_logits(["test-0"])


def test_rows_of_all_parts_are_texts_of_the_contest(store, drop):
    short, long = Row("matched-0", ("short",), 0), Row("mismatched-0", ("rather longer",), 0)
    store.rows_file("rows").unlink()
    keep_rows(store.rows_file("rows"), {"matched": (short,) * 4, "mismatched": (long,) * 4})
    assert set(contest_of([drop], store, 4).rows) == {short, long}


def row(number: int, length: int) -> Row:
    return Row(f"test-{number:03}", ("x" * length,), None)


def test_chosen_rows_are_as_long_as_rows_are():
    rows = [row(number, 1 + number) for number in reversed(range(101))]
    lengths = [len(chosen.texts[0]) for chosen in spread_over_lengths(rows, 9)]
    assert len(lengths) == 9
    assert np.mean(lengths) == pytest.approx(51, abs=1)
    assert set(np.diff(lengths)) <= {10, 11, 12}


def test_mostly_short_rows_make_mostly_short_choices():
    rows = [row(number, 10 if number < 90 else 500) for number in range(100)]
    lengths = [len(chosen.texts[0]) for chosen in spread_over_lengths(rows, 20)]
    assert lengths.count(500) == 2


@pytest.mark.parametrize(
    ("there", "wanted"),
    [(32, 5), (400, 32), (2, 1), (1, 32), (33, 32), (5, 5), (5, 32)],
)
def test_as_many_rows_as_asked_for_are_chosen_or_all_and_none_twice(there, wanted):
    chosen = spread_over_lengths([row(number, 7) for number in range(there)], wanted)
    assert len({one.id for one in chosen}) == len(chosen) == min(there, wanted)


def test_the_choice_does_not_depend_on_the_order_of_the_rows():
    rows = [row(number, number % 7) for number in range(50)]
    assert spread_over_lengths(rows, 8) == spread_over_lengths(rows[::-1], 8)
