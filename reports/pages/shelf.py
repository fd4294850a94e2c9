"""Shelf: the last results of slow work, for everybody who looks at the dashboard."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Place(Generic[T]):
    """Room for one result; whoever holds the lock makes it."""

    lock: Lock = field(default_factory=Lock)
    made: float = -math.inf
    results: tuple[T, ...] = ()


class Shelf(Generic[T]):
    """Keeps the ``most`` results that were last asked for, each for so many seconds at most.

    What several ask for at the same time is made once, and the others wait for it. Unlike Streamlit's own cache it
    can tell whether something is there, and may be filled before anybody looks.
    """

    def __init__(self, most: int, seconds: float = math.inf) -> None:
        self._most, self._seconds = most, seconds
        self._lock = Lock()
        self._places: dict[Hashable, _Place[T]] = {}

    def holds(self, key: Hashable) -> bool:
        """Whether a result can be had without waiting."""
        place = self._places.get(key)
        return place is not None and self._is_fresh(place)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result that is kept, or else made now; what making it raises is raised, and nothing kept."""
        place = self._place(key)
        with place.lock:
            if not self._is_fresh(place):
                place.results, place.made = (make(),), time.monotonic()
            return place.results[0]

    def _place(self, key: Hashable) -> _Place[T]:
        """The place of a key, now the last one to be given up."""
        with self._lock:
            place = self._places.pop(key, None) or _Place()
            self._places[key] = place
            for oldest in list(self._places)[: -self._most]:
                del self._places[oldest]
            return place

    def _is_fresh(self, place: _Place[T]) -> bool:
        return bool(place.results) and time.monotonic() - place.made <= self._seconds
