"""What comes from elsewhere is kept as it was and marked; what does not fit its record is refused and harms nothing."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from held_elsewhere import held_elsewhere
from records import a_run
from sent_stores import (
    BASELINE,
    CAMPAIGN,
    DROP,
    ROWS,
    STUDY,
    a_sent_store,
    contents,
    empty_store,
    keep_record,
    keep_whole,
    write_answers,
)

from workbench.campaign_store import CampaignStore
from workbench.errors import UsageError
from workbench.files import folder_hashes
from workbench.importing import Outcome, check_sources, import_from
from workbench.kept_rows import read_rows
from workbench.run import SCHEMA, Run
from workbench.run_index import RunIndex
from workbench.store import ARTIFACT, PREDICTIONS, RECORD, RunStore


@pytest.fixture
def sent(tmp_path) -> RunStore:
    return a_sent_store(tmp_path / "from" / "sent")


@pytest.fixture
def store(tmp_path) -> RunStore:
    return empty_store(tmp_path / "store")


def states(outcomes: list[Outcome]) -> dict[str, str]:
    return {outcome.name: outcome.state for outcome in outcomes}


def only_refusal(outcomes: list[Outcome]) -> str:
    (said,) = [outcome.said for outcome in outcomes if outcome.state == "refused"]
    return said


def tarred(archive: Path, *sources: tuple[Path, str]) -> Path:
    with tarfile.open(archive, "w:gz") as tar:
        for path, name in sources:
            tar.add(path, name)
    return archive


def zipped(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive, "w") as opened:
        for name, held in contents(folder).items():
            opened.writestr(f"{folder.name}/{name}", held)
    return archive


def rewrite(record: Path, **changes: object) -> None:
    record.write_text(json.dumps({**json.loads(record.read_text()), **changes}))


FORMS: dict[str, tuple[set[str], Callable[[RunStore, Path], Path]]] = {
    "a store": ({BASELINE, DROP}, lambda sent, place: sent.root),
    "a folder of runs": ({BASELINE, DROP}, lambda sent, place: sent.root / "runs"),
    "a folder with a store in it": ({BASELINE, DROP}, lambda sent, place: sent.root.parent),
    "a run": ({DROP}, lambda sent, place: sent.folder(DROP)),
    "a record": ({DROP}, lambda sent, place: sent.folder(DROP) / RECORD),
    "a record by another name": (
        {DROP},
        lambda sent, place: Path(shutil.copy(sent.folder(DROP) / RECORD, place / "mine.json")),
    ),
    "a tar of a store": ({BASELINE, DROP}, lambda sent, place: tarred(place / "x.tar.gz", (sent.root, "deep/down"))),
    "a tar of a store's inside": ({BASELINE, DROP}, lambda sent, place: tarred(place / "x.tgz", (sent.root, "."))),
    "a tar of a run": ({DROP}, lambda sent, place: tarred(place / "x.tar.gz", (sent.folder(DROP), DROP))),
    "a tar of a run's inside": ({DROP}, lambda sent, place: tarred(place / "x.tar.gz", (sent.folder(DROP), "."))),
    "a tar of a record": (
        {DROP},
        lambda sent, place: tarred(place / "x.tar.gz", (sent.folder(DROP) / RECORD, RECORD)),
    ),
    "a zip of a run": ({DROP}, lambda sent, place: zipped(place / "x.zip", sent.folder(DROP))),
    "a zip of a store": ({BASELINE, DROP}, lambda sent, place: zipped(place / "x.zip", sent.root)),
}


@pytest.mark.parametrize("form", FORMS)
def test_runs_are_imported_from_whatever_they_come_in(form, sent, store, tmp_path_factory):
    ids, give = FORMS[form]
    source = give(sent, tmp_path_factory.mktemp("form"))
    outcomes = import_from(source, store)
    assert {outcome.state for outcome in outcomes} == {"imported"}, outcomes
    assert set(store.ids()) == ids
    for run_id in ids:
        run = store.read(run_id)
        assert run.imported.source == source.name
        assert run.imported.when > run.created
        assert run.model_copy(update={"imported": None}).model_dump() == sent.read(run_id).model_dump()
    assert [head.imported for head in RunIndex(store).heads()[0]] == [True] * len(ids)
    assert list(store.partials.iterdir()) == []


def test_everything_that_belongs_to_the_runs_of_a_store_comes_along(sent, store):
    outcomes = import_from(sent.root, store)
    assert {(outcome.what, outcome.name) for outcome in outcomes} == {
        *(("run", run_id) for run_id in (BASELINE, DROP)),
        *(("campaign", CAMPAIGN), ("rows", ROWS), ("study", STUDY)),
    }
    for run_id in (BASELINE, DROP):
        assert store.read(run_id).imported.without == ()
        assert contents(store.folder(run_id) / ARTIFACT) == contents(sent.folder(run_id) / ARTIFACT)
        assert (store.folder(run_id) / PREDICTIONS).read_bytes() == (sent.folder(run_id) / PREDICTIONS).read_bytes()
    assert CampaignStore(store).all() == CampaignStore(sent).all()
    assert contents(store.root / "campaigns") == contents(sent.root / "campaigns")
    assert read_rows(store.rows_file(ROWS)) == read_rows(sent.rows_file(ROWS))
    assert store.study_file(STUDY).read_text() == sent.study_file(STUDY).read_text()


def test_rows_of_runs_that_are_not_there_do_not_come_along(sent, store):
    shutil.copy(sent.rows_file(ROWS), sent.rows_file("others"))
    import_from(sent.root, store)
    assert [path.stem for path in (store.root / "rows").iterdir()] == [ROWS]


def test_a_record_says_what_did_not_come_along(sent, store):
    shutil.rmtree(sent.folder(BASELINE) / ARTIFACT)
    import_from(sent.folder(BASELINE), store)
    assert store.read(BASELINE).imported.without == ("artifact",)
    import_from(sent.folder(DROP) / RECORD, store)
    assert store.read(DROP).imported.without == ("predictions", "artifact")
    assert store.read(DROP).artifact == sent.read(DROP).artifact


def test_a_failed_run_lacks_nothing(sent, store):
    keep_record(sent, a_run("failed", failure={"stage": "apply", "message": "no room"}))
    import_from(sent.folder("failed"), store)
    assert store.read("failed").imported.without == ()


def test_records_from_before_there_was_importing_are_read_as_ever():
    facts = json.loads(a_run("x").model_dump_json())
    del facts["imported"]
    assert facts["schema_number"] == SCHEMA == 1
    assert Run.model_validate(facts).imported is None


def test_what_is_there_already_is_said_to_be_and_left_alone(sent, store):
    import_from(sent.root, store)
    before = contents(store.root)
    again = import_from(sent.root, store)
    assert {outcome.state for outcome in again} == {"already there"}
    assert contents(store.root) == before


def test_a_store_and_what_was_imported_from_it_agree(sent, store):
    import_from(sent.root, store)
    assert {outcome.state for outcome in import_from(store.root, sent)} == {"already there"}
    assert sent.read(DROP).imported is None


def test_a_run_that_came_without_its_artifact_is_told_to_lack_it(sent, store):
    import_from(sent.folder(DROP) / RECORD, store)
    assert states(import_from(sent.folder(DROP), store)) == {DROP: "there without its artifact"}


@pytest.mark.parametrize("change", ["record", "answers"])
def test_the_same_id_with_other_content_is_refused_and_ours_stays(change, sent, store):
    import_from(sent.folder(DROP), store)
    before = contents(store.folder(DROP))
    if change == "record":
        rewrite(sent.folder(DROP) / RECORD, command="another")
    else:
        write_answers(sent.folder(DROP) / PREDICTIONS, right=False)
    said = only_refusal(import_from(sent.folder(DROP), store))
    assert f"another run {DROP} is in {store.root} already; remove that one first" in said
    assert contents(store.folder(DROP)) == before


def link_the_folder(folder: Path) -> None:
    moved = folder.rename(folder.parent.parent / "elsewhere")
    folder.symlink_to(moved)


def grow(path: Path) -> None:
    os.truncate(path, 65 * 10**6)


def listed(folder: Path) -> None:
    """The artifact gets a file more, and the record a lie about its files; only the manifest tells the truth."""
    (folder / ARTIFACT / "more.bin").write_bytes(b"pickle")
    there = {name: found for name, found in folder_hashes(folder / ARTIFACT).items() if name != "workbench.json"}
    rewrite(folder / RECORD, artifact={"runtime": "torch", "portable": True, "files": there})


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "an altered artifact": (
        lambda folder: (folder / ARTIFACT / "config.json").write_text('{"a": 1}'),
        "artifact/config.json is not what was saved",
    ),
    "a part of an artifact": (
        lambda folder: (folder / ARTIFACT / "graph" / "model.safetensors").unlink(),
        "artifact/graph/model.safetensors is missing",
    ),
    "a file too many": (
        lambda folder: (folder / ARTIFACT / "pytorch_model.bin").write_bytes(b"pickle"),
        "artifact/pytorch_model.bin is no part of it",
    ),
    "a file that only the record knows": (listed, "workbench.json is the manifest of another artifact"),
    "an artifact without a manifest": (
        lambda folder: (folder / ARTIFACT / "workbench.json").unlink(),
        "its artifact has no manifest",
    ),
    "a manifest that is none": (
        lambda folder: (folder / ARTIFACT / "workbench.json").write_text("{}"),
        "artifact/workbench.json cannot be read",
    ),
    "an artifact that the record does not know": (
        lambda folder: rewrite(folder / RECORD, artifact=None),
        "the record tells of no artifact",
    ),
    "answers that are none": (lambda folder: (folder / PREDICTIONS).write_bytes(b"x"), "predictions.parquet"),
    "answers to other rows": (
        lambda folder: rewrite(folder / RECORD, data={"source": "", "fingerprint": "rows", "rows": {"test": 3}}),
        "holds 2 answers, but the record tells of 3 test rows",
    ),
    "rows for answers": (
        lambda folder: shutil.copy(folder.parent.parent / "rows" / f"{ROWS}.parquet", folder / PREDICTIONS),
        "predictions.parquet",
    ),
    "a damaged record": (lambda folder: (folder / RECORD).write_text("{"), "is damaged"),
    "an unknown fact": (lambda folder: rewrite(folder / RECORD, mood="good"), "is damaged (mood"),
    "a newer record": (lambda folder: rewrite(folder / RECORD, schema_number=SCHEMA + 1), "newer workbench"),
    "no record": (lambda folder: (folder / RECORD).unlink(), "cannot be read"),
    "a huge record": (lambda folder: grow(folder / RECORD), "far too large for a record"),
    "a record of another run": (lambda folder: rewrite(folder / RECORD, id="other"), "is the record of run 'other'"),
    "a study that is a path": (lambda folder: rewrite(folder / RECORD, study="../x"), "cannot be the name of a study"),
    "a task that is a path": (lambda folder: rewrite(folder / RECORD, task="/x"), "cannot be the name of a task"),
    "rows that are a path": (
        lambda folder: rewrite(folder / RECORD, data={"source": "", "fingerprint": "../x", "rows": {"test": 2}}),
        "cannot be the fingerprint of rows",
    ),
    "a link": (lambda folder: (folder / "notes").symlink_to("/etc/passwd"), "notes is a link or special file"),
    "a link for a record": (
        lambda folder: (
            (folder / RECORD).rename(folder / "real").samefile(folder) or (folder / RECORD).symlink_to("real")
        ),
        "run.json is a link or special file",
    ),
    "a pipe": (lambda folder: os.mkfifo(folder / "pipe"), "pipe is a link or special file"),
    "a link for a folder": (link_the_folder, "is a link or special file"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_run_that_does_not_fit_its_record_is_refused_and_the_others_come(fault, sent, store):
    spoil, words = FAULTS[fault]
    spoil(sent.folder(DROP))
    outcomes = import_from(sent.root, store)
    said = only_refusal(outcomes)
    assert words in said
    assert str(sent.folder(DROP)) in said
    assert states(outcomes)[BASELINE] == "imported"
    assert store.ids() == [BASELINE]
    assert list(store.partials.iterdir()) == []


def test_complaints_about_an_archive_name_the_archive(sent, store, tmp_path):
    FAULTS["an altered artifact"][0](sent.folder(DROP))
    archive = tarred(tmp_path / "x.tar.gz", (sent.root, "sent"))
    said = only_refusal(import_from(archive, store))
    assert said.startswith(f"{archive}/sent/runs/{DROP}/{RECORD}: artifact/config.json")


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "..", "", "a b", "é", "x" * 201, "a/b", ".hidden", "-rf", "\u212aelvin"]
)
def test_an_id_that_is_no_name_for_a_folder_is_refused(name, tmp_path, store):
    record = tmp_path / "evil.json"
    record.write_text(a_run(name).model_dump_json())
    before = contents(tmp_path)
    assert "cannot be the id of a run" in only_refusal(import_from(record, store))
    assert contents(tmp_path) == before


@pytest.mark.parametrize("text", ["", "not JSON", "[]", '{"schema_number": "x"}'])
def test_a_file_that_is_no_record_is_refused(text, tmp_path, store):
    (tmp_path / "x.json").write_text(text)
    assert "is damaged" in only_refusal(import_from(tmp_path / "x.json", store))


def test_a_hostile_archive_is_refused_whole(sent, store, tmp_path):
    archive = tarred(tmp_path / "x.tar.gz", (sent.root, "sent"), (sent.root / "studies" / f"{STUDY}.yaml", "../evil"))
    (outcome,) = import_from(archive, store)
    assert (outcome.what, outcome.state) == ("file", "refused")
    assert "leads elsewhere" in outcome.said
    assert store.ids() == []
    assert list(store.partials.iterdir()) == []
    assert not list(tmp_path.rglob("evil"))


def test_where_there_is_no_run_that_is_told(store, tmp_path):
    (tmp_path / "empty" / "folder").mkdir(parents=True)
    said = only_refusal(import_from(tmp_path / "empty", store))
    assert said == f"{tmp_path / 'empty'} holds no run: neither run.json nor a folder 'runs' of runs was found"


def test_a_link_that_the_person_gives_is_followed(sent, store, tmp_path):
    (tmp_path / "shortcut").symlink_to(sent.folder(DROP))
    assert states(import_from(tmp_path / "shortcut", store)) == {DROP: "imported"}


def test_rows_campaigns_and_studies_that_cannot_be_read_stop_nothing_else(sent, store):
    sent.rows_file(ROWS).write_bytes(b"x")
    (sent.root / "campaigns" / CAMPAIGN / "timings.parquet").write_bytes(b"x")
    sent.study_file(STUDY).write_bytes(b"\xff\xfe\x00")
    outcomes = import_from(sent.root, store)
    assert {outcome.what for outcome in outcomes if outcome.state == "refused"} == {"rows", "campaign", "study"}
    assert set(store.ids()) == {BASELINE, DROP}
    assert CampaignStore(store).all() == ([], [])
    assert not store.rows_file(ROWS).exists()


CAMPAIGN_FAULTS: dict[str, dict[str, object]] = {
    "another id": {"id": "other"},
    "a task that is a path": {"task": "../x"},
    "a newer one": {"schema_number": 99},
    "an unknown fact": {"mood": "good"},
}


@pytest.mark.parametrize("fault", CAMPAIGN_FAULTS)
def test_a_campaign_that_does_not_fit_is_refused(fault, sent, store):
    rewrite(sent.root / "campaigns" / CAMPAIGN / "campaign.json", **CAMPAIGN_FAULTS[fault])
    only_refusal(import_from(sent.root, store))
    assert CampaignStore(store).all() == ([], [])


def test_another_campaign_of_the_same_name_is_refused_and_ours_stays(sent, store):
    import_from(sent.root, store)
    rewrite(sent.root / "campaigns" / CAMPAIGN / "campaign.json", command="another")
    assert "another campaign of this name" in only_refusal(import_from(sent.root, store))
    assert CampaignStore(store).read(CAMPAIGN).command != "another"


def test_a_run_that_is_being_made_here_is_not_imported_over(sent, store):
    with held_elsewhere(store.locks / f"{DROP}.lock"):
        outcomes = import_from(sent.root, store)
    assert f"another process is making run {DROP} here" in only_refusal(outcomes)
    assert store.ids() == [BASELINE]


IMPORTER = """
import sys
from pathlib import Path
from workbench.importing import import_from
from workbench.store import RunStore
sys.stdin.readline()
print(*(f"{outcome.name}={outcome.state}" for outcome in import_from(Path(sys.argv[1]), RunStore(Path(sys.argv[2])))))
"""


def test_two_processes_import_the_same_at_once_and_every_run_is_there_whole(sent, store):
    for number in range(4):
        keep_whole(sent, f"more-{number}", "drop")
    command = [sys.executable, "-c", IMPORTER, str(sent.root), str(store.root)]
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    told = [child.communicate()[0].split() for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert store.ids() == sent.ids()
    for run_id in sent.ids():
        assert contents(store.folder(run_id) / ARTIFACT) == contents(sent.folder(run_id) / ARTIFACT)
        states_of_it = {line.partition("=")[2] for lines in told for line in lines if line.startswith(f"{run_id}=")}
        assert "imported" in states_of_it
    assert list(store.partials.iterdir()) == []


def test_what_cannot_be_meant_is_refused_before_anything_is_done(sent, store, tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        check_sources([sent.root, tmp_path / "nowhere"], store)
    for inside in (store.root, store.root / "runs"):
        with pytest.raises(UsageError, match="already; name another store"):
            check_sources([inside], store)
    check_sources([sent.root], store)


def test_an_artifact_that_cannot_fit_the_disk_is_refused(sent, store):
    weights = sent.folder(DROP) / ARTIFACT / "graph" / "model.safetensors"
    os.truncate(weights, shutil.disk_usage(store.root).free + 10**11)
    assert "are free" in only_refusal(import_from(sent.folder(DROP), store))
