"""A started study runs on its own, and is watched, stopped and found again by whoever asks; no other process is."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from tiny import write_base, write_task_files

from workbench.errors import StoreError, StudyError, UnknownNameError, UsageError, WorkbenchError
from workbench.log_text import WINDOW_BYTES, last_lines, plain_line
from workbench.process_mark import boot_of, is_alive, mark_of
from workbench.progress import PROGRESS_VARIABLE, InFile, Quiet, Standing, last_standing, reporter_on
from workbench.recipe import Step
from workbench.started_study import END, PROCESS, Ending, StartedStudy, StudyStatus
from workbench.store import RunStore
from workbench.study import Study
from workbench.study_draft import RecipeDraft, StudyDraft
from workbench.study_outlook import RunOptions
from workbench.study_process import StudyProcesses

# Stands in for the workbench where only the process matters; it does what the study's ``about`` says.
STAND_IN = """
import json, os, signal, subprocess, sys, time
import yaml
about = yaml.safe_load(open(sys.argv[2]))["about"]
print("\\x1b[31mhello\\x1b[0m", json.dumps(sys.argv[1:]), flush=True)
if "deaf" in about:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "with a child" in about:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    print("child", child.pid, flush=True)
if "ends with" in about:
    sys.exit(int(about.split()[-1]))
if "dies" in about:
    os.kill(os.getpid(), signal.SIGSEGV)
print("ready", flush=True)
try:
    time.sleep(600)
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(130)
"""
# Waits for a word, so that two of them start at the same moment; then starts a study and tells how that went.
STARTER = """
import sys
from pathlib import Path
from workbench.errors import UsageError
from workbench.store import RunStore
from workbench.study_draft import StudyDraft
from workbench.study_process import StudyProcesses
processes = StudyProcesses(RunStore(Path(sys.argv[1])), (sys.executable, sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
try:
    print("started", processes.start(StudyDraft(name="one", about="waits", tasks=("sst2",))).id, flush=True)
except UsageError as error:
    print("refused", error, flush=True)
"""
NAMES = ["../up", "/etc/x", "a/b", "", ".", "..", ".hidden", "a b", "A", "x\n", "x\0y", "-rf", "~", "$(id)", "a;b", "é"]


@pytest.fixture
def stand_in(tmp_path) -> Path:
    path = tmp_path / "stand_in.py"
    path.write_text(STAND_IN)
    return path


@pytest.fixture
def processes(tmp_path, stand_in) -> Iterator[StudyProcesses]:
    """Processes of a store that carry out what a draft's ``about`` says; none outlives the test."""
    made = StudyProcesses(RunStore(tmp_path / "store"), (sys.executable, str(stand_in)), grace=60.0)
    yield made
    for started in made.running():
        for pid, mark in ((started.supervisor, started.supervisor_mark), (started.pid, started.mark)):
            if is_alive(pid, mark):
                os.kill(pid, signal.SIGKILL)


def draft(about: str = "waits", **changes: Any) -> StudyDraft:
    return StudyDraft.model_validate({"name": "one", "about": about, "tasks": ("sst2",), **changes})


def until(wanted: Callable[[], object], seconds: float = 300.0) -> Any:
    """Look until something is there; the time is only for those who wait in vain."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = wanted()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it never came")


def ended(processes: StudyProcesses, started: StartedStudy) -> StudyStatus:
    until(lambda: processes.status(started).state != "running")
    return processes.status(started)


def ready(processes: StudyProcesses, started: StartedStudy) -> StartedStudy:
    until(lambda: "ready" in processes.tail(started))
    return started


def gone(pid: int) -> bool:
    return mark_of(pid) is None


def test_a_started_study_runs_by_itself_with_its_own_file_and_log(processes, tmp_path):
    started = ready(processes, processes.start(draft(), RunOptions(only=("int8",), seeds=(1, 2), limit=9)))
    folder = tmp_path / "store" / "started" / started.id
    assert started.command[2:] == ("run", str(folder / "study.yaml"), "--store", str(tmp_path / "store"),
                                   "--only=int8", "--seed=1", "--seed=2", "--limit=9")  # fmt: skip
    assert Study.load(folder / "study.yaml").model_dump() == draft().study().model_dump()
    assert processes.tail(started) == [f"hello {json.dumps(list(started.command[2:]))}", "ready"]
    assert processes.tail(started, 1) == ["ready"]
    assert processes.status(started).state == "running"
    assert os.getsid(started.pid) == started.pid != os.getsid(0)
    assert os.getsid(started.supervisor) not in {started.pid, os.getsid(0)}
    assert (started.study, started.machine) == ("one", platform.node())
    assert processes.progress(started) is None


def test_it_is_found_again_by_somebody_who_did_not_start_it(processes, tmp_path):
    first, second = processes.start(draft("ends with 0")), processes.start(draft(name="two"))
    ended(processes, first)
    again = processes.start(draft())
    other = StudyProcesses(RunStore(tmp_path / "store"))
    assert other.all() == [first, second, again]
    assert other.running() == [second, again]
    assert other.find("one") == again
    assert other.find("three") is None
    assert other.read(first.id) == first


@pytest.mark.parametrize(
    ("about", "state", "code"),
    [
        ("ends with 0", "done", 0),
        ("ends with 1", "failed", 1),
        ("ends with 130", "stopped", 130),
        ("dies", "failed", -11),
    ],
)
def test_how_it_ended_is_known(processes, about, state, code):
    status = ended(processes, started := processes.start(draft(about)))
    assert (status.state, status.exit_code) == (state, code)
    assert started.started <= status.ended
    assert gone(started.supervisor) or until(lambda: gone(started.supervisor))


def test_what_cannot_be_started_says_why_and_leaves_nothing(tmp_path):
    processes = StudyProcesses(RunStore(tmp_path / "store"), ("/nowhere/python",))
    with pytest.raises(WorkbenchError, match=r"study 'one' could not be started: .*No such file.*'/nowhere/python'"):
        processes.start(draft())
    assert processes.all() == []
    assert [path.name for path in (tmp_path / "store" / "started").iterdir()] == ["locks"]


def test_a_second_start_is_refused_with_a_pointer_to_the_first(processes):
    first = processes.start(draft())
    with pytest.raises(UsageError, match=f"study 'one' is running already \\({first.id}\\); wait for its end or stop"):
        processes.start(draft("another of the same name"))
    assert processes.all() == [first]
    assert processes.start(draft(name="two")).study == "two"


def test_of_two_starts_at_the_same_moment_one_wins(processes, stand_in, tmp_path):
    line = [sys.executable, "-c", STARTER, str(tmp_path / "store"), str(stand_in)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    rivals = [subprocess.Popen(line, **pipes) for _ in range(3)]
    for rival in rivals:
        assert rival.stdout.readline() == "ready\n"
    for rival in rivals:
        rival.stdin.write("go\n")
        rival.stdin.flush()
    said = [rival.communicate(timeout=120)[0] for rival in rivals]
    (winner,) = processes.all()
    assert sorted(words.partition(" ")[0] for words in said) == ["refused", "refused", "started"]
    assert all(winner.id in words for words in said)
    assert sorted(path.name for path in (tmp_path / "store" / "started").iterdir()) == sorted(["locks", winner.id])
    # They are dead by now.
    assert processes.status(winner).state == "running"
    assert processes.stop(ready(processes, winner)).state == "stopped"
    assert processes.status(winner).exit_code == 130


def test_the_name_stays_taken_while_the_study_lives_even_without_its_supervisor(processes, tmp_path):
    first = ready(processes, processes.start(draft()))
    os.kill(first.supervisor, signal.SIGKILL)
    until(lambda: gone(first.supervisor))
    (tmp_path / "store" / "started" / first.id / PROCESS).rename(tmp_path / PROCESS)
    with pytest.raises(UsageError, match=f"is running already \\({first.id}\\)"):
        processes.start(draft())
    (tmp_path / PROCESS).rename(tmp_path / "store" / "started" / first.id / PROCESS)
    assert processes.status(first).state == "running"
    assert processes.stop(first) == StudyStatus(state="stopped", said="was stopped; what was finished is kept")
    assert ended(processes, processes.start(draft("ends with 0"))).state == "done"


def test_a_stopped_study_may_end_by_itself(processes):
    started = ready(processes, processes.start(draft()))
    status = processes.stop(started)
    assert (status.state, status.exit_code) == ("stopped", 130)
    assert processes.tail(started, 1) == ["stopped"]
    assert processes.stop(started) == status


def test_a_study_that_does_not_listen_is_ended_with_all_it_started(processes, stand_in):
    hasty = StudyProcesses(processes.store, (sys.executable, str(stand_in)), grace=0.2)
    started = ready(hasty, hasty.start(draft("deaf, with a child")))
    (child,) = [int(line.split()[1]) for line in hasty.tail(started) if line.startswith("child")]
    assert not gone(child)
    assert hasty.stop(started, patience=60).exit_code == -signal.SIGKILL
    assert until(lambda: gone(child))


def test_stopping_need_not_be_waited_for(processes):
    started = ready(processes, processes.start(draft("deaf")))
    status = processes.stop(started, patience=0)
    assert (status.state, status.stopping, status.said) == ("running", True, "is being stopped")
    os.killpg(started.pid, signal.SIGKILL)
    assert ended(processes, started).state == "stopped"


def test_a_study_whose_starter_ignores_interrupts_can_be_stopped(processes, stand_in, tmp_path):
    line = [sys.executable, "-c", f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{STARTER}",
            str(tmp_path / "store"), str(stand_in)]  # fmt: skip
    assert "started" in subprocess.run(line, input="go\n", capture_output=True, text=True, check=True).stdout
    started = ready(processes, processes.find("one"))
    assert processes.stop(started).exit_code == 130


def forged(started: StartedStudy, processes: StudyProcesses, **changes: Any) -> StartedStudy:
    """Write down something else of a study than what happened."""
    record = started.model_copy(update=changes)
    folder = processes.root / "started" / started.id
    record.keep(folder / PROCESS)
    (folder / END).unlink(missing_ok=True)
    return processes.read(started.id)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Another process that leads a group of its own, as a study does."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True) as process:
        yield process
        process.kill()


def test_a_process_that_got_the_number_later_is_left_alone(processes, bystander):
    started = processes.start(draft("ends with 0"))
    ended(processes, started)
    until(lambda: gone(started.supervisor))
    boot = boot_of()
    record = forged(started, processes, pid=bystander.pid, supervisor=bystander.pid, mark=f"{boot}/1",
                    supervisor_mark=f"{boot}/1")  # fmt: skip
    status = processes.stop(record)
    assert status.state == "lost"
    assert "was killed together with its supervisor" in status.said
    assert bystander.poll() is None
    assert processes.running() == []


def test_a_study_that_ran_when_the_machine_was_restarted_is_lost(processes, bystander):
    started = processes.start(draft("ends with 0"))
    ended(processes, started)
    marks = {"mark": "another-boot/1", "supervisor_mark": "another-boot/2"}
    record = forged(started, processes, pid=bystander.pid, supervisor=bystander.pid, **marks)
    assert processes.status(record).state == "lost"
    assert "was lost when the machine was restarted" in processes.status(record).said
    assert "was started on elsewhere" in processes.status(forged(record, processes, machine="elsewhere")).said
    assert ended(processes, processes.start(draft("ends with 0"))).state == "done"


def test_a_record_that_speaks_for_another_or_is_damaged_is_not_believed(processes):
    started = processes.start(draft("ends with 0"))
    ended(processes, started)
    for number, text in enumerate([started.model_dump_json(), "{", "", started.model_dump_json().replace(
            f'"pid":{started.pid}', '"pid":0')]):  # fmt: skip
        folder = processes.root / "started" / f"one-copy-{number}"
        folder.mkdir()
        (folder / PROCESS).write_text(text)
        with pytest.raises(UnknownNameError):
            processes.read(folder.name)
    assert processes.all() == [started]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_store(processes, name, tmp_path):
    with pytest.raises(StudyError, match="name"):
        processes.start(draft(name=name))
    with pytest.raises(UnknownNameError, match="no started study"):
        processes.read(name)
    record = StartedStudy(id=name, study="one", command=(), grace=1, started="", machine="", pid=2, mark="",
                          supervisor=2, supervisor_mark="")  # fmt: skip
    for ask in (processes.status, processes.tail, processes.progress, processes.stop):
        with pytest.raises(UnknownNameError, match="no started study"):
            ask(record)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stand_in.py"]


def test_a_name_too_long_for_a_file_is_refused(processes, tmp_path):
    with pytest.raises(UsageError, match="100 characters at most"):
        processes.start(draft(name="x" * 101))
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("place", ["started", "started/locks"])
def test_links_out_of_the_store_are_refused(processes, place, tmp_path):
    (tmp_path / "store" / "started").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    if place == "started":
        (tmp_path / "store" / "started").rmdir()
    (tmp_path / "store" / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        processes.start(draft())
    assert list((tmp_path / "elsewhere").iterdir()) == []
    (tmp_path / "store" / place).unlink()


def test_a_lock_or_folder_that_is_a_link_is_not_followed(processes, tmp_path):
    locks = tmp_path / "store" / "started" / "locks"
    locks.mkdir(parents=True)
    (tmp_path / "precious").write_text("text")
    (locks / "one.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(WorkbenchError, match=r"could not be started: .*one\.lock"):
        processes.start(draft())
    assert (tmp_path / "precious").read_text() == "text"
    (locks.parent / "one-linked").symlink_to(tmp_path)
    with pytest.raises(UnknownNameError):
        processes.read("one-linked")


def test_a_store_that_cannot_be_written_is_told(tmp_path, stand_in):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be"):
        StudyProcesses(RunStore(tmp_path / "file" / "store"), (sys.executable, str(stand_in))).start(draft())


def test_a_study_file_is_taken_with_its_paths_made_whole(processes, tmp_path):
    write_task_files(tmp_path / "data")
    task = {"name": "reviews", "train": "train.csv", "test": "test.csv", "text": "text", "label": "label"}
    path = tmp_path / "data" / "mine.yaml"
    path.write_text(yaml.safe_dump({"name": "mine", "about": "ends with 0", "base": "./b", "tasks": [task]}))
    started = processes.start(path)
    kept = Study.load(processes.root / "started" / started.id / "study.yaml")
    assert kept.base.name == str(tmp_path / "data" / "b")
    assert kept.tasks[0].train == str(tmp_path / "data" / "train.csv")
    assert ended(processes, started).state == "done"


def test_every_process_has_a_mark_of_its_own_until_it_ends(bystander):
    mark = mark_of(bystander.pid)
    assert mark and mark == mark_of(bystander.pid)
    assert mark != mark_of(os.getpid())
    assert is_alive(bystander.pid, mark)
    bystander.kill()
    until(lambda: psutil.Process(bystander.pid).status() == psutil.STATUS_ZOMBIE)
    assert mark_of(bystander.pid) is None
    bystander.wait()
    assert mark_of(bystander.pid) is None


def test_marks_are_made_where_the_system_counts_no_starts(tmp_path, bystander):
    mark = mark_of(bystander.pid, tmp_path)
    assert mark and mark.startswith("/")
    bystander.kill()
    bystander.wait()
    assert mark_of(bystander.pid, tmp_path) is None


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m and \x1b[38;5;9mmore\x1b[K", "red and more"),
        ("10 %\r 20 %\r 30 %", " 30 %"),
        ("30 %\r", "30 %"),
        ("done\r\x1b[2K", "done"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPsecret\x1b\\text", "text"),
        ("\x9b31mred\x9b0m", "red"),
        ("a\x1b(Bb\x1b=c\x1b7d", "abcd"),
        ("tab\tstays", "tab\tstays"),
        ("\x00\x07\x08bell\x7f", "bell"),
        ("turned \u202eround", "turned round"),
        ("cut \x1b[3", "cut"),
        ("cut \x1b", "cut"),
        ("\x1b]no end", ""),
        ("", ""),
        ("é 漢 ██", "é 漢 ██"),
    ],
)
def test_a_line_of_a_log_is_plain_text(line, shown):
    assert plain_line(line) == shown


def test_the_end_of_a_log_is_a_number_of_whole_lines(tmp_path):
    log = tmp_path / "log.txt"
    assert last_lines(log, 5) == []
    log.write_bytes(b"")
    assert last_lines(log, 5) == []
    log.write_bytes(b"one\ntwo\n\nlast \xff\xc3")
    assert last_lines(log, 2) == ["", "last ��"]
    assert last_lines(log, 99) == ["one", "two", "", "last ��"]
    assert last_lines(log, 0) == last_lines(log, -1) == []
    log.write_bytes(b"x" * WINDOW_BYTES + b"\nlast\n")
    assert last_lines(log, 99) == ["last"]
    log.write_bytes(b"y" * (2 * WINDOW_BYTES))
    assert last_lines(log, 99) == ["y" * WINDOW_BYTES]


class Told(Quiet):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def say(self, text: str) -> None:
        self.texts.append(text)


def test_progress_is_noted_in_a_file_beside_being_shown(tmp_path):
    path, told = tmp_path / "progress.jsonl", Told()
    assert last_standing(path) is None
    reporter = InFile(told, path)
    reporter.say("[2/6] sst2 seed 0: int8")
    first = last_standing(path)
    assert (first.said, first.run, first.runs, first.label) == ("[2/6] sst2 seed 0: int8", 2, 6, None)
    with reporter.bar("fine-tuning", 40) as advance:
        begun = last_standing(path)
        assert (begun.label, begun.done, begun.total, begun.run, begun.runs) == ("fine-tuning", 0, 40, 2, 6)
        advance(39)
    finished = last_standing(path)
    assert (finished.done, finished.total, finished.calm) == (39, 40, False)
    reporter.say("kept")
    assert last_standing(path).model_dump(exclude={"time"}, exclude_none=True) == {
        "said": "kept", "run": 2, "runs": 6, "calm": False}  # fmt: skip
    assert told.texts == ["[2/6] sst2 seed 0: int8", "kept"]


def test_a_bar_is_noted_seldom_and_says_when_something_is_timed(tmp_path):
    path = tmp_path / "progress.jsonl"
    with InFile(Quiet(), path).bar("timing", 100_000, calm=True) as advance:
        for done in range(100_000):
            advance(done)
        assert last_standing(path).calm
    lines = path.read_text().splitlines()
    assert len(lines) < 50
    assert Standing.model_validate_json(lines[-1]).done == 99_999


def test_a_note_that_cannot_be_written_or_is_cut_off_harms_nothing(tmp_path):
    InFile(Quiet(), tmp_path / "nowhere" / "progress.jsonl").say("x")
    path = tmp_path / "progress.jsonl"
    InFile(Quiet(), path).say("whole")
    with path.open("a") as stream:
        stream.write('{"time": "now", "sai')
    assert last_standing(path).said == "whole"
    path.write_text("\nnonsense\n")
    assert last_standing(path) is None


def test_progress_goes_to_a_file_only_when_one_is_named(tmp_path, monkeypatch):
    from rich.console import Console

    console = Console(file=(tmp_path / "out").open("w"))
    monkeypatch.delenv(PROGRESS_VARIABLE, raising=False)
    assert not isinstance(reporter_on(console), InFile)
    monkeypatch.setenv(PROGRESS_VARIABLE, str(tmp_path / "progress"))
    reporter_on(console).say("hello")
    assert last_standing(tmp_path / "progress").said == "hello"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a tiny base and a tiny task."""
    folder = tmp_path_factory.mktemp("place")
    write_base("bert", folder / "base")
    write_task_files(folder)
    return folder


def tiny_draft(place: Path, *recipes: RecipeDraft, **changes: Any) -> StudyDraft:
    task = {"name": "reviews", "train": str(place / "train.csv"), "test": str(place / "test.csv"), "text": "text",
            "label": "label"}  # fmt: skip
    plain = {
        "name": "tiny",
        "base": str(place / "base"),
        "tasks": (task,),
        "training": {"epochs": 1, "learning_rate": 1e-3, "batch_size": 16, "evaluations": 1},
        "max_length": 32,
        "measure": ("quality", "size"),
        "recipes": recipes,
    }
    return StudyDraft.model_validate({**plain, **changes})


def dropping(name: str, *keep: int) -> RecipeDraft:
    return RecipeDraft(name=name, steps=(Step(use="layer-drop", options={"keep": list(keep)}),))


def test_a_full_plan_finds_what_only_the_base_can_tell(place, tmp_path):
    processes = StudyProcesses(RunStore(tmp_path / "store"))
    said = processes.check(tiny_draft(place, dropping("far", 0, 9)))
    assert said == "recipe 'far': step 1: layer-drop: keep: layer 9 does not exist; the encoder has layers 0 to 3"
    assert not (tmp_path / "store").exists()


def test_a_full_plan_says_what_would_be_made_and_makes_nothing(place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    outlook = StudyProcesses(RunStore(tmp_path / "store")).outlook(
        tiny_draft(place, dropping("drop", 0), base="./base")
    )
    assert outlook.complaint is None
    assert outlook.lines == (
        "[1/2] reviews seed 0: baseline: to be made",
        "[2/2] reviews seed 0: drop: to be made",
        "study tiny: 2 runs, 0 already done, 2 to be made",
    )
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
def test_a_real_study_is_stopped_keeps_what_was_finished_and_goes_on(place, tmp_path):
    store = RunStore(tmp_path / "store")
    # The machine may be slow, and a run that is interrupted while it imports takes its time.
    processes = StudyProcesses(store, grace=300.0)
    long = {"epochs": 3000, "batch_size": 4, "evaluations": 1, "learning_rate": 1e-4}
    endless = RecipeDraft(name="endless", steps=(Step(use="finetune", options=long),))
    study = tiny_draft(place, dropping("drop", 0, 2), endless)
    started = processes.start(study)

    def in_training() -> Standing | None:
        standing = processes.progress(started)
        assert processes.status(started).state == "running", processes.tail(started)
        return standing if standing and standing.run == 3 and standing.done else None

    standing = until(in_training, 900)
    assert (standing.runs, standing.said) == (3, "[3/3] reviews seed 0: endless")
    assert 0 < standing.done < standing.total
    with pytest.raises(UsageError, match="is running already"):
        processes.start(study)
    status = processes.stop(started)
    assert (status.state, status.exit_code) == ("stopped", 130)
    assert processes.tail(started, 1) == ["error: stopped; what was finished is kept, run the same command to go on"]
    assert [run.recipe.name for run in store.runs()[0]] == ["baseline", "drop"]
    assert processes.outlook(study).lines[-1] == "study tiny: 3 runs, 2 already done, 1 to be made"
    again = processes.start(study, RunOptions(only=("drop",)))
    until(lambda: processes.status(again).state != "running", 900)
    assert processes.status(again).state == "done", processes.tail(again)
    assert "[2/2] reviews seed 0: drop: already done" in processes.tail(again, 200)
    assert Ending.read(processes.root / "started" / again.id / END).exit_code == 0
