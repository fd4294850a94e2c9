"""The recommendation as lines for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from workbench.recommend import Candidate, Recommendation

NO_DOUBTS = ("none that the measurements show",)


def recommendation_text(found: Recommendation) -> RenderableType:
    """Lay a recommendation out: the answer, why, how sure, and what came next."""
    limits = "; ".join(limit.words() for limit in found.wish.limits) or "no limits"
    taken = " (taken for granted; set it with --min-quality)" if found.wish.assumed else ""
    lines = [
        Text(found.headline, style="bold green" if found.pick else "bold yellow"),
        Text(f"study {found.study}, {found.task}; asked: best {found.wish.optimise}, {limits}{taken}", style="dim"),
        *_list("why" if found.pick else "misses", found.reasons),
        *_list("doubts", found.doubts or (NO_DOUBTS if found.pick and not found.caveats else ())),
        *_list("next", [_spoken(candidate) for candidate in found.runners_up]),
    ]
    chosen = found.pick or found.nearest
    if chosen and chosen.runs:
        name = "run" if len(chosen.runs) == 1 else "runs"
        lines.append(Text(f"{name}: {', '.join(chosen.runs)} (workbench export {chosen.runs[0]} DIR --to FORMAT)"))
    return Group(*lines)


def _list(title: str, sentences: tuple[str, ...] | list[str]) -> list[Text]:
    return [Text(f"{title}:"), *(Text(f"  - {sentence}") for sentence in sentences)] if sentences else []


def _spoken(candidate: Candidate) -> str:
    return f"{candidate.recipe}: {'; '.join(check.words for check in candidate.checks) or 'no limits to keep'}"
