"""Spelling: which pieces of a vocabulary must stay for a smaller one to spell all that the whole one could.

Tokenizers cut text into words and spell each word in pieces. Whatever else is taken out of a vocabulary, what
``Spelling.kept`` gives promises two things, for every word:

- *The same*: a word that the whole vocabulary spells with kept pieces alone is spelt with the same pieces.
- *Known*: a word that the whole vocabulary spells without the unknown piece is spelt without it.

Each kind says below why. What threatens the second is a character that stands in a piece but has no piece of its own:
once the piece is gone, the character cannot be spelt, and it does not help to keep all pieces with that character
only, because without other pieces a word may be cut so that the character is reached in the midst of them. So such
characters are *bound*, and every character that stands beside a bound one in some piece is bound too; pieces with bound
characters all stay. Then no piece crosses from bound characters to free ones, a word falls into stretches of either
sort that are spelt one by one, bound stretches are spelt from the same pieces as before, and in free ones every
character can be spelt by itself. Trained vocabularies have a piece for every character and bind nothing; one from
which such pieces were removed by hand may bind, through words of one script, most of that script.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

UNUSED = re.compile(r"\[unused\d+\]")
BYTE = re.compile(r"<0x[0-9A-F]{2}>")


class Place(NamedTuple):
    """One way a piece can stand in a word: its character at the start of the word, if any, and those further on."""

    piece: str
    first: str
    later: str


@dataclass(frozen=True)
class Spelling(ABC):
    """How one kind of tokenizer spells.

    ``model`` is the part of ``tokenizer.json`` of that name, ``special`` are pieces that stand for no text, and
    ``whole`` says whether some text is never cut before it is spelt.
    """

    model: Mapping[str, Any]
    special: frozenset[str]
    whole: Callable[[str], bool]

    @property
    def unknown(self) -> str | None:
        """The piece for what cannot be spelt, if there is one."""
        named = self.model.get("unk_token")
        return named if named in self.model["vocab"] else None

    @cached_property
    def always(self) -> set[str]:
        """The pieces that stay whatever is wanted."""
        unknown = () if self.unknown is None else (self.unknown,)
        return {*self.special, *unknown, *self._needed()}

    @cached_property
    def others(self) -> list[str]:
        """The pieces that may go, as far as can be told the most frequent first."""
        return [piece for piece in self._ranked() if piece not in self.always]

    def kept(self, wanted: Iterable[str], frequent: int) -> set[str]:
        """Wanted pieces and so many of the most frequent that may go, with all that must stay beside them."""
        return self._with_parts({*self.always, *wanted, *self.others[:frequent]})

    @abstractmethod
    def cut(self, numbers: Mapping[str, int]) -> dict[str, Any]:
        """The model with the numbered pieces alone, under these numbers."""

    @abstractmethod
    def _needed(self) -> set[str]:
        """The pieces without which some text could no longer be spelt."""

    def _ranked(self) -> Sequence[str]:
        """All pieces, the most frequent first."""
        numbers: Mapping[str, int] = self.model["vocab"]
        return sorted(numbers, key=numbers.__getitem__)

    def _with_parts(self, pieces: set[str]) -> set[str]:
        """Pieces with those that they are put together from."""
        return pieces

    def _of_text(self) -> list[str]:
        """The pieces that stand for text; the others are not looked for in words."""
        pieces = (entry if isinstance(entry, str) else entry[0] for entry in self.model["vocab"])
        return [piece for piece in pieces if piece not in self.special and piece != self.unknown]


class WordPieces(Spelling):
    """BERT's: at every place the longest piece that fits; pieces that do not begin a word are marked by a prefix.

    *The same*: the longest of all pieces that fit is the longest of those kept, if it was. *Known*: a word becomes
    unknown when at some place no piece fits. Every character that has a piece of its own for that place keeps it. At
    the start of a word, where both vocabularies begin, a character without one keeps all pieces that begin with it.
    Further on it is bound. A text may hold the prefix itself, so that a piece meant for further on begins a word; there
    the piece of its first character fits too, or else that is bound. Vocabularies of this kind are written in the order
    of frequency, after the special pieces, those left unused, and the characters.
    """

    def cut(self, numbers: Mapping[str, int]) -> dict[str, Any]:
        """The kept pieces under their new numbers."""
        return {**self.model, "vocab": {piece: numbers[piece] for piece in self.model["vocab"] if piece in numbers}}

    def _needed(self) -> set[str]:
        places = self._places()
        starts = {"", *(place.first for place in places if not place.later)}
        continues = {place.later for place in places if not place.first and len(place.later) == 1}
        alone = {place.piece for place in places if len(place.first + place.later) == 1}
        if all(place.first in starts and continues.issuperset(place.later) for place in places):
            return alone
        # Text may be cut into words so that some pieces, the unused ones as a rule, are never met.
        places = [place for place in places if self.whole(place.first + place.later)]
        openings = {place.piece for place in places if place.first not in starts}
        return alone | openings | bound(places, continues)

    def _places(self) -> list[Place]:
        prefix = self.model["continuing_subword_prefix"]
        continues = [piece for piece in self._of_text() if piece.startswith(prefix) and piece != prefix]
        starts = sorted(set(self._of_text()) - set(continues))
        return [
            *(Place(piece, "", piece.removeprefix(prefix)) for piece in continues),
            *(Place(piece, piece[:1], piece[1:]) for piece in starts),
        ]

    def _ranked(self) -> Sequence[str]:
        return sorted(super()._ranked(), key=lambda piece: bool(UNUSED.fullmatch(piece)))


class Merges(Spelling):
    """RoBERTa's: a word begins as single bytes or characters, and of the pairs that may be merged the first goes first.

    A kept piece keeps all pairs that make it, and their parts, and so on down. Other pairs stay if they and what they
    make were kept, all in their old order. *The same*: inside a piece of the word nothing was ever merged with what is
    outside, so all merges that made it are among those that stay; and the first pair of all that could be merged is,
    if it stays, the first of those that stay. *Known*: what no merge makes always stays, and all spelling begins with
    that. Merges are learned in the order of frequency, and pieces are numbered in that order or by their own frequency.
    """

    @cached_property
    def _made_by(self) -> dict[str, list[tuple[str, str]]]:
        made: dict[str, list[tuple[str, str]]] = {}
        for left, right in self.model["merges"]:
            made.setdefault(self._merged(left, right), []).append((left, right))
        return made

    def cut(self, numbers: Mapping[str, int]) -> dict[str, Any]:
        """The kept pieces under their new numbers, and the merges of kept parts to kept pieces."""
        vocabulary = {piece: numbers[piece] for piece in self.model["vocab"] if piece in numbers}
        merges = [pair for pair in self.model["merges"] if {*pair, self._merged(*pair)} <= vocabulary.keys()]
        return {**self.model, "vocab": vocabulary, "merges": merges}

    def _needed(self) -> set[str]:
        return {piece for piece in self.model["vocab"] if piece not in self._made_by}

    def _with_parts(self, pieces: set[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(pieces)
        while waiting:
            piece = waiting.pop()
            if piece not in found:
                found.add(piece)
                waiting += [part for pair in self._made_by.get(piece, ()) for part in pair]
        return found

    def _merged(self, left: str, right: str) -> str:
        return left + right[len(self.model.get("continuing_subword_prefix") or "") :]


class Unigrams(Spelling):
    """ALBERT's: of all ways to put a word together, the one whose pieces have the highest scores in sum.

    *The same*: taking other ways away leaves the best one the best, and of equals the one that was found first. An
    unknown character is charged ten more than the lowest score of all, so a piece of that score stays. *Known*: an
    unknown character can come up only where one has no piece of its own, and there it is bound. Scores are logarithms
    of frequencies.
    """

    @property
    def unknown(self) -> str | None:
        """The piece for what cannot be spelt, if there is one."""
        number = self.model.get("unk_id")
        return None if number is None else self.model["vocab"][number][0]

    def cut(self, numbers: Mapping[str, int]) -> dict[str, Any]:
        """The kept pieces with their scores, in the order of their new numbers."""
        vocabulary = [[piece, score] for piece, score in self.model["vocab"] if piece in numbers]
        return {**self.model, "vocab": vocabulary, "unk_id": None if self.unknown is None else numbers[self.unknown]}

    def _needed(self) -> set[str]:
        lowest = min(self.model["vocab"], key=lambda entry: entry[1])[0]
        # With all bytes among the pieces, an unknown character is spelt in bytes.
        in_bytes = {piece for piece in self._of_text() if self.model.get("byte_fallback") and BYTE.fullmatch(piece)}
        pieces = [piece for piece in self._of_text() if piece not in in_bytes]
        own = {piece for piece in pieces if len(piece) == 1}
        return {lowest} | in_bytes | own | bound([Place(piece, "", piece) for piece in pieces], own)

    def _ranked(self) -> Sequence[str]:
        return [piece for piece, _ in sorted(self.model["vocab"], key=lambda entry: -entry[1])]


def bound(places: Iterable[Place], own: Collection[str]) -> set[str]:
    """The pieces that hold a bound character further on in a word, where ``own`` are spelt by pieces of their own."""
    free = list(places)
    held = {character for place in free for character in place.later} - set(own)
    kept: set[str] = set()
    while joining := [place for place in free if not held.isdisjoint(place.later)]:
        kept.update(place.piece for place in joining)
        free = [place for place in free if held.isdisjoint(place.later)]
        held.update(*(place.later for place in joining))
    return kept


SPELLINGS: dict[str, type[Spelling]] = {"WordPiece": WordPieces, "BPE": Merges, "Unigram": Unigrams}
