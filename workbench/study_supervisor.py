"""The supervising process: runs one study as its child, stops it when asked, and writes down how it ended.

Started as ``python -m workbench.study_supervisor FOLDER``. It outlives whoever started it, so that the end of a study
is known whatever became of them, and it sleeps while the study works. Its first and only line of output says whether
the study was started.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from workbench.cgroup import text_of
from workbench.clock import now
from workbench.process_mark import is_alive, mark_of
from workbench.progress import PROGRESS_VARIABLE
from workbench.started_study import END, LOG, ORDER, PROCESS, PROGRESS, Ending, Order, StartedStudy

LOCKS = "locks"
STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LOOK_SECONDS = 0.05


def main(folder: Path) -> int:
    """Carry out the order in a folder of a started study."""
    order = Order.read(folder / ORDER)
    if order is None:
        return _answer(failed=f"{folder / ORDER} cannot be read")
    woken = _woken_by(*STOPPING, signal.SIGCHLD)
    try:
        claim = folder.parent / LOCKS / f"{order.study}.lock"
        lock = _claimed(claim, order.id)
        if lock is None:
            return _answer(refused=text_of(claim) or "")
        child = _start(order, folder, lock)
    except OSError as error:
        return _answer(failed=str(error))
    _answer(started=order.id)
    code = _watched(child, woken, order.grace)
    try:
        Ending(exit_code=code, ended=now()).keep(folder / END)
    except OSError as error:
        sys.stderr.write(f"error: the study ended with code {code}, which cannot be written down ({error})\n")
        return 1
    return 0


def end_group(pid: int, mark: str, grace: float) -> None:
    """End a process that leads its group, and what belongs to it: first kindly, then firmly, then at once.

    A process that does not bear the mark is another one, and is left alone.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        _signal_group(pid, mark, number)
        until = time.monotonic() + grace
        while is_alive(pid, mark) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
    # What it started may be in groups of its own, and would not hear of its end.
    others = _descendants(pid) if is_alive(pid, mark) else []
    _signal_group(pid, mark, signal.SIGKILL)
    for other in others:
        with contextlib.suppress(psutil.Error):
            other.kill()


def _signal_group(pid: int, mark: str, number: signal.Signals) -> None:
    if is_alive(pid, mark):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _woken_by(*signals: signal.Signals) -> int:
    """Give a pipe that can be read once one of the signals came; each byte is the number of one.

    Signals that have a handler are as usual in a child, even where whoever started us ignores them.
    """
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in signals:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    return woken


def _claimed(path: Path, holder: str) -> int | None:
    """Claim a study's name for as long as this process, or the study it starts, lives; absent when another has it."""
    path.parent.mkdir(exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    os.ftruncate(lock, 0)
    os.pwrite(lock, holder.encode(), 0)
    return lock


def _start(order: Order, folder: Path, lock: int) -> subprocess.Popen[bytes]:
    with (folder / LOG).open("ab") as log:
        child = subprocess.Popen(
            order.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, PROGRESS_VARIABLE: str(folder / PROGRESS), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
            # The name stays claimed even if this process is killed and the study is not.
            pass_fds=(lock,),
        )
    mark, own = mark_of(child.pid) or "", mark_of(os.getpid()) or ""
    facts = order.model_dump() | {"pid": child.pid, "mark": mark, "supervisor": os.getpid(), "supervisor_mark": own}
    try:
        StartedStudy(**facts, started=now(), machine=platform.node()).keep(folder / PROCESS)
    except OSError:
        # Nobody could find it again.
        end_group(child.pid, mark, order.grace)
        child.wait()
        raise
    return child


def _watched(child: subprocess.Popen[bytes], woken: int, grace: float) -> int:
    """Sleep until the child has ended, and end it when asked to; give its exit code."""
    mark = mark_of(child.pid)
    while (code := child.poll()) is None:
        numbers = os.read(woken, 64)
        if mark and set(numbers) & set(STOPPING):
            end_group(child.pid, mark, grace)
    return code


def _answer(**told: str) -> int:
    """Tell whoever started us, if they are still there, and say no more."""
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    return 0 if "started" in told else 1


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
