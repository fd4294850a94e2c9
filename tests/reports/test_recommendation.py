"""The recommendation for the terminal tells the answer first, then why, how sure, and what came next."""

import io

from records import a_comparison, a_judged, a_line, a_quality
from rich.console import Console

from reports.recommendation import recommendation_text
from workbench.compare import Comparison
from workbench.recommend import recommend
from workbench.wish import Wish


def shown(comparison: Comparison, **wishes) -> list[str]:
    """All lines; of the last one, what stands before the way to export."""
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(recommendation_text(recommend(comparison, Wish.of(**wishes))), soft_wrap=True)
    *lines, last = console.export_text().splitlines()
    return [*lines, last.partition(" (workbench export ")[0]]


SURE = a_line("sure", a_quality(0.79), 10, disk=50e6, judged=a_judged(largest_share=0.98))
SMALL = a_line("small", a_quality(0.78), 15, disk=20e6, judged=a_judged(largest_share=0.975))


def test_a_pick_is_told_with_reasons_doubts_what_came_next_and_how_to_get_it():
    assert shown(a_comparison(SURE, SMALL)) == [
        "ship sure",
        "study s, reviews; asked: best latency, at least 97 % of the baseline's quality (taken for granted; "
        "set it with --min-quality)",
        "why:",
        "  - the fastest of what keeps to the limits: 10.00 ms a call, 2.00 times as fast as the baseline",
        "  - quality 79.00, 98.8 % of the baseline's: at least 97 % of the baseline's quality, beyond doubt",
        "doubts:",
        "  - none that the measurements show",
        "next:",
        "  - small: quality 78.00, 97.5 % of the baseline's: at least 97 % of the baseline's quality, beyond doubt",
        "run: run-of-sure",
    ]


def test_only_what_was_taken_for_granted_is_said_to_be():
    text = "\n".join(shown(a_comparison(SURE, SMALL), min_quality="75", max_size_mb=30, optimise="size"))
    assert "taken for granted" not in text
    assert "asked: best size, at most 30 MB on disk; at least 75 points" in text
    assert text.startswith("ship small")


def test_a_wish_without_limits_is_told():
    text = "\n".join(shown(a_comparison(SURE, SMALL), optimise="quality"))
    assert "asked: best quality, no limits" in text
    assert "small: no limits to keep" in text


def test_no_doubts_are_claimed_to_be_absent_where_the_comparison_has_caveats():
    text = "\n".join(shown(a_comparison(SURE, caveats=("one seed only",))))
    assert "none that the measurements show" not in text


def test_a_miss_is_told_with_its_amount():
    text = shown(a_comparison(SURE), max_latency_ms=5)
    assert text[0] == "nothing qualifies; sure comes nearest"
    assert text[2:4] == ["misses:", "  - 10.00 ms a call: at most 5 ms a call is missed by 100.0 %"]
    assert text[-1] == "run: run-of-sure"
    assert not any(line.startswith("doubts") for line in text)


def test_several_runs_are_all_named():
    line = SURE.model_copy(update={"runs": ("a", "b")})
    assert shown(a_comparison(line))[-1] == "runs: a, b"


def test_names_that_look_like_markup_are_shown_as_they_are():
    line = SURE.model_copy(update={"recipe": "[red]odd[/red]", "caveats": ("[/] [bold]",)})
    text = shown(a_comparison(line))
    assert text[0] == "ship [red]odd[/red]"
    assert "  - [/] [bold]" in text
