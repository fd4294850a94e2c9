"""The texts on which a machine is timed against itself."""

from __future__ import annotations

SENTENCE = "the film was lovely and the music of a warm story is very good but not dull in the cold cast with words"
WORDS = sorted(set(SENTENCE.split()))
TEXTS = tuple((f"{SENTENCE} {SENTENCE} {SENTENCE}"[: 12 + 16 * number],) for number in range(16))
