"""A dear thing is made once, by one process, whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

from workbench.cache import Cache


def test_a_thing_is_built_once_and_then_found(tmp_path):
    cache = Cache(tmp_path)
    built = []

    def build(folder: Path) -> None:
        built.append(folder)
        (folder / "thing").write_text("made")

    assert cache.find("things", "k") is None
    first = cache.make("things", "k", build)
    assert cache.make("things", "k", build) == first == cache.find("things", "k")
    assert (first / "thing").read_text() == "made"
    assert len(built) == 1


def test_sorts_and_keys_are_kept_apart(tmp_path):
    cache = Cache(tmp_path)
    for sort, key in (("a", "1"), ("a", "2"), ("b", "1")):
        cache.make(sort, key, lambda folder, text=f"{sort}{key}": (folder / "it").write_text(text))
    assert (cache.find("a", "1") / "it").read_text() == "a1"
    assert (cache.find("a", "2") / "it").read_text() == "a2"
    assert (cache.find("b", "1") / "it").read_text() == "b1"
    assert cache.find("b", "2") is None


def test_a_build_that_fails_leaves_nothing_and_can_be_tried_again(tmp_path):
    cache = Cache(tmp_path)

    def fail(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cache.make("things", "k", fail)
    assert cache.find("things", "k") is None
    assert list(tmp_path.rglob("half")) == []
    assert list((tmp_path / "partial").iterdir()) == []
    kept = cache.make("things", "k", lambda folder: (folder / "whole").touch())
    assert [path.name for path in kept.iterdir()] == ["whole"]


BUILDER = """
import os, sys, time
from pathlib import Path
from workbench.cache import Cache
root, notes = Path(sys.argv[1]), Path(sys.argv[2])
def build(folder):
    (notes / str(os.getpid())).touch()
    (folder / "a").write_text("first")
    time.sleep(0.3)
    (folder / "b").write_text("second")
sys.stdin.readline()
kept = Cache(root).make("things", "k", build)
print(*sorted(path.name for path in kept.iterdir()))
"""


def start_builder(cache: Path, notes: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", BUILDER, str(cache), str(notes)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_of_several_processes_one_builds_and_the_others_wait_and_reuse(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    children = [start_builder(tmp_path / "cache", notes) for _ in range(4)]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate()[0] for child in children] == ["a b\n"] * 4
    assert len(list(notes.iterdir())) == 1


def test_whoever_waits_builds_anew_when_the_builder_is_killed(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    first, second = (start_builder(tmp_path / "cache", notes) for _ in range(2))
    first.stdin.write("go\n")
    first.stdin.flush()
    while not list(notes.iterdir()):
        assert first.poll() is None
    second.stdin.write("go\n")
    second.stdin.flush()
    first.kill()
    first.communicate()
    assert second.communicate()[0] == "a b\n"
    assert (notes / str(second.pid)).exists()
    assert list((tmp_path / "cache" / "partial").iterdir()) == []


def test_a_workplace_outlives_its_user_until_it_is_cleared(tmp_path):
    cache = Cache(tmp_path)
    cache.workplace("k").mkdir(parents=True, exist_ok=True)
    (cache.workplace("k") / "checkpoint").touch()
    assert (Cache(tmp_path).workplace("k") / "checkpoint").exists()
    assert cache.workplace("other") != cache.workplace("k")
    cache.clear_workplace("k")
    cache.clear_workplace("k")
    assert not (cache.workplace("k") / "checkpoint").exists()


def test_the_default_cache_is_the_variable_s_else_in_the_user_s_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "mine"))
    assert Cache.default().root == tmp_path / "mine"
    monkeypatch.setenv("WORKBENCH_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert Cache.default().root == tmp_path / "xdg" / "workbench"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Cache.default().root == Path("~/.cache/workbench").expanduser()
