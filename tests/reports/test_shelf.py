"""A shelf keeps the last results, makes each once, and again when it is old or was given up."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from reports.pages.shelf import Shelf


class Maker:
    """Makes a new number each time, and remembers how often."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> int:
        self.made += 1
        return self.made


def test_what_was_made_is_kept():
    shelf, make = Shelf[int](most=2), Maker()
    assert not shelf.holds("a")
    assert [shelf.get("a", make), shelf.get("a", make)] == [1, 1]
    assert shelf.holds("a")


def test_that_nothing_was_found_is_kept_too():
    shelf, found = Shelf[None](most=2), []
    assert shelf.get("a", lambda: found.append(1)) is None
    assert shelf.get("a", lambda: found.append(1)) is None
    assert found == [1]


def test_what_was_asked_for_longest_ago_is_given_up():
    shelf, make = Shelf[int](most=2), Maker()
    for key in ("a", "b", "a", "c"):
        shelf.get(key, make)
    assert [shelf.holds(key) for key in ("a", "b", "c")] == [True, False, True]


def test_what_is_old_is_made_anew():
    shelf, make = Shelf[int](most=2, seconds=0.01), Maker()
    shelf.get("a", make)
    time.sleep(0.05)
    assert not shelf.holds("a")
    assert shelf.get("a", make) == 2


def test_what_fails_is_tried_again():
    shelf = Shelf[int](most=2)
    with pytest.raises(ZeroDivisionError):
        shelf.get("a", lambda: 1 // 0)
    assert not shelf.holds("a")
    assert shelf.get("a", lambda: 7) == 7


def test_what_many_ask_for_at_once_is_made_once():
    shelf, make, together = Shelf[int](most=2), Maker(), Barrier(8)

    def slowly() -> int:
        time.sleep(0.05)
        return make()

    def ask(_: int) -> int:
        together.wait()
        return shelf.get("a", slowly)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [1] * 8
