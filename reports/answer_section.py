"""The answer of a report: what to ship, why, how sure that is, and what came next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.blocks import Block, Bullets, Code, Headline, Section, Tone, Words, texts
from reports.comparison_section import comparison_table
from reports.wording import ABSENT, ended, sentence
from workbench.dossier import Dossier
from workbench.recipe import BASELINE
from workbench.recommend import Candidate, Recommendation

STATES = {"shown": "kept beyond doubt", "met": "kept as measured", "missed": "missed", "unknown": "not measured"}
NOTHING_FINISHED = "There is no recommendation, because no recipe was carried to its end on every task."


def answer_section(dossier: Dossier) -> Section:
    """Give the recommendation, or say why there is none."""
    found = dossier.recommendation
    blocks = _answer(dossier, found) if found else iter([Headline(NOTHING_FINISHED, "bad")])
    return Section("The answer", "answer", tuple(blocks))


def _answer(dossier: Dossier, found: Recommendation) -> Iterator[Block]:
    unsure = ", as far as the measurements can tell" if found.pick and not found.pick.sure else ""
    yield Headline(sentence(f"{found.headline}{unsure}"), _tone(found))
    yield Words(_asked(found))
    chosen = found.pick or found.nearest
    if not _wanted_was_measured(dossier, found):
        yield Words(
            f"Nothing was measured in {found.wish.optimise}, so nothing can be the best in it. Measure it, or ask for "
            "what was measured, for example with --optimise size."
        )
    if chosen:
        lines = dossier.comparison.of_task(None if dossier.comparison.means else found.task)
        yield comparison_table([line for line in lines if line.recipe in (BASELINE, chosen.recipe)])
    if found.reasons:
        yield Bullets("Why" if found.pick else "What is missed", _sentences(found.reasons))
    if found.pick and not found.doubts:
        yield Words("How sure: the measurements show no doubt about it.")
    if found.doubts:
        yield Bullets("How sure", _sentences(found.doubts))
    if found.runners_up:
        yield _runners_up(found.runners_up)
    if chosen and chosen.runs:
        yield Words("To take it out of the store:")
        yield Code(f"workbench export {chosen.runs[0]} DIR --to FORMAT", "bash")


def _tone(found: Recommendation) -> Tone:
    if not found.pick:
        return "bad"
    return "good" if found.pick.sure else "doubt"


def _asked(found: Recommendation) -> str:
    limits = "; ".join(limit.words() for limit in found.wish.limits) or "no limits"
    granted = ", which is taken for granted where nothing is said" if found.wish.assumed else ""
    return sentence(f"asked for on {found.task}: the best {found.wish.optimise}, with {limits}{granted}")


def _wanted_was_measured(dossier: Dossier, found: Recommendation) -> bool:
    lines = (*dossier.comparison.lines, *dossier.comparison.means)
    return any(line.delta(found.wish.axis) for line in lines if line.task == found.task)


def _runners_up(candidates: Sequence[Candidate]) -> Block:
    rows = [
        (
            candidate.recipe,
            "; ".join(check.words for check in candidate.checks) or ABSENT,
            "; ".join(dict.fromkeys(STATES[check.state] for check in candidate.checks)) or "no limits to keep",
        )
        for candidate in candidates
    ]
    return texts(("next best", "measured", "limits are"), rows, "What came next")


def _sentences(found: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(ended, found))
