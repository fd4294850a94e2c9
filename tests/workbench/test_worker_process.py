"""A measuring process answers line by line; however it fails, that is told in a sentence and nothing of it is left."""

import contextlib
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from workbench.environment import ISA_LIMIT_VARIABLE, Environment
from workbench.errors import WorkerError
from workbench.worker_process import BELOW_AMX, WorkerProcess, environment_for

ECHO = "import json, sys\nfor line in sys.stdin: print(json.dumps({'heard': json.loads(line)}), flush=True)"
# Starts a process of its own that holds none of the pipes, tells its number, and goes on to do something else.
PARENT = """
import json, os, subprocess, sys, time
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **quiet)
print(json.dumps({"child": child.pid}), flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Starts processes that run a piece of Python."""
    with contextlib.ExitStack() as stack:

        def give(code: str, patience: float = 30.0, **variables: str) -> WorkerProcess:
            command = (sys.executable, "-c", code)
            worker = WorkerProcess(command, tmp_path / "errors.txt", {**os.environ, **variables}, patience)
            return stack.enter_context(worker)

        yield give


def is_gone(pid: int) -> bool:
    """Whether a process is no more, or will be once whoever inherited it looks."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def test_each_request_gets_its_answer(start):
    worker = start(ECHO)
    assert worker.ask("block") == {"heard": {"do": "block"}}
    assert worker.ask("grid", batch=8, length=16) == {"heard": {"do": "grid", "batch": 8, "length": 16}}


def test_answers_that_come_at_once_are_kept_apart(start):
    worker = start('print(\'{"n": 1}\\n{"n": 2}\', flush=True); input()')
    assert [worker.answer(), worker.answer()] == [{"n": 1}, {"n": 2}]


def test_a_long_answer_arrives_whole(start):
    worker = start("import json; print(json.dumps({'values': list(range(500_000))}), flush=True); input()")
    assert worker.answer() == {"values": list(range(500_000))}


def test_an_error_is_told_in_its_own_words_and_ends_the_process(start):
    worker = start('print(\'{"error": "its weights are gone"}\', flush=True); import time; time.sleep(600)')
    with pytest.raises(WorkerError, match=r"^its weights are gone$"):
        worker.answer()
    assert is_gone(worker.pid)


def test_a_crash_is_told_with_its_signal_and_last_words(start):
    worker = start("import os, sys; print('first\\nlast words', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)")
    with pytest.raises(WorkerError, match=r"^the measuring process died \(signal 11\): last words$"):
        worker.answer()


def test_an_early_end_is_told_with_its_exit_code(start):
    with pytest.raises(WorkerError, match=r"^the measuring process died \(exit code 3\): it said nothing$"):
        start("raise SystemExit(3)").answer()


def test_an_exception_is_told_without_its_traceback(start):
    with pytest.raises(WorkerError, match=r"died \(exit code 1\): ZeroDivisionError: division by zero$"):
        start("1 / 0").answer()


def test_asking_one_that_is_dead_already_tells_how_it_died(start):
    worker = start("print('{}', flush=True); raise SystemExit(4)")
    assert worker.answer() == {}
    while psutil.Process(worker.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    with pytest.raises(WorkerError, match=r"died \(exit code 4\)"):
        worker.ask("block")


@pytest.mark.parametrize("code", ["", "import sys; sys.stdout.write('{\"half\": '); sys.stdout.flush();"])
def test_silence_is_not_waited_for_longer_than_there_is_patience(start, code):
    worker = start(f"{code}\nimport time; time.sleep(600)", patience=0.5)
    before = time.monotonic()
    with pytest.raises(WorkerError, match=r"^the measuring process did not answer within 0\.5 s and was stopped$"):
        worker.answer()
    assert 0.5 <= time.monotonic() - before < 30
    assert is_gone(worker.pid)


def test_one_that_hangs_up_and_lives_on_is_told_and_ended(start, monkeypatch):
    monkeypatch.setattr("workbench.worker_process.LAST_SECONDS", 0.2)
    worker = start("import os, time; os.close(1); time.sleep(600)")
    with pytest.raises(WorkerError, match=r"^the measuring process hung up without ending: it said nothing$"):
        worker.answer()
    assert is_gone(worker.pid)


@pytest.mark.parametrize("line", ["Loading weights: 100%", "3", "null", "[1]", '"error"', "\\xff"])
def test_nonsense_is_told_with_its_beginning(start, line):
    worker = start(f"import sys; sys.stdout.buffer.write(b'{line}\\n'); sys.stdout.flush(); input()")
    with pytest.raises(WorkerError, match=r"^the measuring process answered nonsense: b'"):
        worker.answer()
    assert is_gone(worker.pid)


def test_a_command_that_cannot_be_started_is_told(tmp_path):
    with pytest.raises(WorkerError, match=r"^the measuring process could not be started \(.*no-such-program"):
        WorkerProcess((str(tmp_path / "no-such-program"),), tmp_path / "errors.txt", os.environ, 1.0)


@pytest.mark.parametrize("then", ["os.kill(os.getpid(), 11)", "raise SystemExit(0)", "print('nonsense')"])
def test_whatever_a_process_started_is_gone_with_it(start, then):
    worker = start(f"{PARENT}\n{then}")
    child = worker.answer()["child"]
    with pytest.raises(WorkerError):
        worker.answer()
    assert is_gone(worker.pid)
    assert is_gone(child)


def test_leaving_the_block_ends_the_process_and_its_children(start):
    with start(f"{PARENT}\ntime.sleep(600)") as worker:
        child = worker.answer()["child"]
    assert is_gone(worker.pid) and is_gone(child)
    worker.end()


def test_an_interrupt_from_the_keyboard_does_not_reach_a_measuring_process(start):
    worker = start("import json, os; print(json.dumps({'group': os.getpgid(0)}), flush=True); input()")
    assert worker.answer()["group"] == worker.pid != os.getpgid(0)


def test_threads_are_fixed_before_anything_is_imported(start, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    told = start("import json, os; print(json.dumps(dict(os.environ)), flush=True); input()", **environment_for(3))
    seen = told.answer()
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        assert seen[variable] == "3"
    assert (seen["TOKENIZERS_PARALLELISM"], seen["SOMETHING_ELSE"]) == ("false", "kept")


def test_a_limit_of_the_person_s_own_stands(monkeypatch):
    monkeypatch.setenv(ISA_LIMIT_VARIABLE, "AVX2")
    assert environment_for(1)[ISA_LIMIT_VARIABLE] == "AVX2"
    monkeypatch.delenv(ISA_LIMIT_VARIABLE)
    limit = BELOW_AMX if "amx_int8" in Environment.observe().flags else None
    assert environment_for(1).get(ISA_LIMIT_VARIABLE) == limit


def test_no_descriptor_is_left_open(start):
    def open_ones() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("only Linux lists open descriptors in /proc")
    before = open_ones()
    start(ECHO).end()
    assert open_ones() == before
