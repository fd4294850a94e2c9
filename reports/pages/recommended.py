"""Recommended: the version to ship under the limits, why, how sure that is, and what came next."""

from __future__ import annotations

from collections.abc import Iterator

from reports.answer_section import STATES
from reports.blocks import Block, Bullets, Headline, Words, texts
from reports.pages.laid_out import lay_out
from reports.wording import ABSENT, sentence
from workbench.recommend import Recommendation


def show_recommendation(found: Recommendation) -> None:
    """Lay a recommendation out."""
    lay_out(_blocks(found))


def _blocks(found: Recommendation) -> Iterator[Block]:
    sure = found.pick is not None and found.pick.sure
    yield Headline(sentence(found.headline), "good" if sure else "doubt" if found.pick else "bad")
    if found.reasons:
        yield Bullets("Why" if found.pick else "What is missed", tuple(map(sentence, found.reasons)))
    if found.doubts:
        yield Bullets("How sure", tuple(map(sentence, found.doubts)))
    elif found.pick:
        yield Words("How sure: the measurements show no doubt about it.")
    if found.runners_up:
        rows = [
            (
                candidate.recipe,
                "; ".join(check.words for check in candidate.checks) or ABSENT,
                "; ".join(dict.fromkeys(STATES[check.state] for check in candidate.checks)) or "none to keep",
            )
            for candidate in found.runners_up
        ]
        yield texts(("next best", "measured", "limits are"), rows)
