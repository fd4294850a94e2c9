"""A folder appears whole or not at all, whoever is killed; hashes depend on content alone."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from workbench.files import (
    LOCK_SUFFIX,
    canonical_json,
    file_hash,
    files_below,
    folder_hashes,
    hash_of,
    is_disk_full,
    sweep_partials,
    write_text_whole,
    written_whole,
)

WRITER = """
import sys, time
from pathlib import Path
from workbench.files import written_whole
with written_whole(Path(sys.argv[1]), Path(sys.argv[2])) as partial:
    (partial / "half").write_text("half of it")
    print(partial, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def places(tmp_path):
    return tmp_path / "kept" / "thing", tmp_path / "partial"


@pytest.fixture
def living_writer(places):
    """A process in the middle of writing, and the folder it writes into."""
    target, partials = places
    command = [sys.executable, "-c", WRITER, str(target), str(partials)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield child, Path(child.stdout.readline().strip())
        child.kill()


def test_a_folder_appears_only_when_everything_is_in_it(places):
    target, partials = places
    with written_whole(target, partials) as partial:
        (partial / "inner").mkdir()
        (partial / "inner" / "file").write_text("all of it")
        assert not target.exists()
    assert (target / "inner" / "file").read_text() == "all of it"
    assert list(partials.iterdir()) == []


def test_an_error_while_writing_leaves_nothing(places):
    target, partials = places
    with pytest.raises(ZeroDivisionError), written_whole(target, partials) as partial:
        (partial / "file").write_text("half")
        raise ZeroDivisionError
    assert not target.exists()
    assert list(partials.iterdir()) == []


def test_a_writer_killed_in_the_middle_leaves_no_target_and_is_swept(places, living_writer):
    target, partials = places
    child, partial = living_writer
    assert (partial / "half").is_file()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not target.exists()
    assert sweep_partials(partials) == 1
    assert list(partials.iterdir()) == []


def test_a_living_writer_is_not_swept(places, living_writer):
    _, partials = places
    _, partial = living_writer
    assert sweep_partials(partials) == 0
    assert (partial / "half").read_text() == "half of it"


def test_sweeping_removes_the_dead_and_spares_the_living_beside_them(places, living_writer):
    _, partials = places
    _, alive = living_writer
    dead = partials / "thing.1.dead"
    dead.mkdir()
    (dead / "big").write_text("x")
    assert sweep_partials(partials) == 1
    assert not dead.exists()
    assert alive.is_dir()


def test_sweeping_also_removes_a_lock_whose_writer_died_before_it_had_a_folder(places):
    _, partials = places
    partials.mkdir(parents=True)
    (partials / f"thing.1.dead{LOCK_SUFFIX}").touch()
    sweep_partials(partials)
    assert list(partials.iterdir()) == []


def test_sweeping_spares_the_lock_of_a_living_writer_that_has_no_folder_yet(places):
    _, partials = places
    partials.mkdir(parents=True)
    lock = FileLock(partials / f"thing.1.alive{LOCK_SUFFIX}")
    with lock:
        sweep_partials(partials)
        assert Path(lock.lock_file).exists()


def test_sweeping_a_place_that_does_not_exist_is_no_error(tmp_path):
    assert sweep_partials(tmp_path / "never") == 0


def test_of_two_writers_of_one_target_the_first_to_finish_stays(places):
    target, partials = places
    with written_whole(target, partials) as slow:
        (slow / "by").write_text("slow")
        with written_whole(target, partials) as fast:
            (fast / "by").write_text("fast")
    assert (target / "by").read_text() == "fast"
    assert list(partials.iterdir()) == []


CONTENDER = """
import sys
from pathlib import Path
from workbench.files import written_whole
sys.stdin.readline()
with written_whole(Path(sys.argv[1]), Path(sys.argv[2])) as partial:
    for name in ("a", "b", "c"):
        (partial / name).write_text(sys.argv[3])
"""


def test_several_processes_that_write_one_target_leave_one_whole_result(places):
    target, partials = places
    command = [sys.executable, "-c", CONTENDER, str(target), str(partials)]
    children = [subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE) for number in range(4)]
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0, 0, 0, 0]
    assert sorted(path.name for path in target.iterdir()) == ["a", "b", "c"]
    assert len({path.read_text() for path in target.iterdir()}) == 1
    assert list(partials.iterdir()) == []


def test_a_target_below_a_regular_file_is_an_error_and_leaves_nothing(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError), written_whole(tmp_path / "file" / "thing", tmp_path / "partial") as partial:
        (partial / "x").touch()
    assert list((tmp_path / "partial").iterdir()) == []


def test_text_is_replaced_in_one_step_so_that_a_reader_never_sees_half_of_it(tmp_path):
    path = tmp_path / "deep" / "note.json"
    write_text_whole(path, json.dumps(["start"]))
    done = threading.Event()
    seen: list[int] = []

    def read_again_and_again() -> None:
        while not done.is_set():
            seen.append(len(json.loads(path.read_text())))

    reader = threading.Thread(target=read_again_and_again)
    reader.start()
    for number in range(40):
        write_text_whole(path, json.dumps(["x" * 20_000] * (number + 1)))
    done.set()
    reader.join()
    assert len(json.loads(path.read_text())) == 40
    assert seen and set(seen) <= set(range(1, 41))
    assert [found.name for found in path.parent.iterdir()] == ["note.json"]


def test_text_that_cannot_be_written_leaves_the_old_text_and_nothing_else(tmp_path):
    path = tmp_path / "note"
    write_text_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text_whole(path, "lone surrogate \ud800")
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["note"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_recognised_by_its_number(number):
    assert is_disk_full(OSError(number, os.strerror(number)))


def test_a_full_disk_is_recognised_in_a_library_s_words():
    assert is_disk_full(RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"))
    assert is_disk_full(RuntimeError("Error while serializing: I/O error: File too large (os error 27)"))


def test_a_full_disk_is_recognised_as_the_cause_of_another_error():
    try:
        try:
            raise OSError(errno.ENOSPC, "No room")
        except OSError as cause:
            raise RuntimeError("saving failed") from cause
    except RuntimeError as error:
        assert is_disk_full(error)


def test_other_errors_are_no_full_disk():
    assert not is_disk_full(OSError(errno.EACCES, "Permission denied"))
    assert not is_disk_full(ValueError("space"))
    assert not is_disk_full(OSError("no number at all"))


def test_equal_values_hash_alike_whatever_the_order_of_their_keys():
    assert hash_of({"a": 1, "b": [1, 2]}) == hash_of({"b": [1, 2], "a": 1})
    assert hash_of([1, 2]) != hash_of([2, 1])
    assert hash_of("1") != hash_of(1)
    assert hash_of((1, 2)) == hash_of([1, 2])


def test_canonical_json_is_compact_sorted_and_keeps_letters_as_they_are():
    assert canonical_json({"b": "é", "a": [1, None]}) == '{"a":[1,null],"b":"é"}'


def test_a_file_s_hash_is_the_sha256_of_its_bytes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc" * 100_000)
    assert file_hash(path) == hashlib.sha256(b"abc" * 100_000).hexdigest()


def test_a_folder_is_hashed_file_by_file_under_relative_names(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two").write_bytes(b"2")
    (tmp_path / "one").write_bytes(b"1")
    assert [path.name for path in files_below(tmp_path)] == ["two", "one"]
    assert folder_hashes(tmp_path) == {
        "b/two": hashlib.sha256(b"2").hexdigest(),
        "one": hashlib.sha256(b"1").hexdigest(),
    }
