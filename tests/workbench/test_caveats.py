"""Each caveat stands there when its reason does, and only then."""

from typing import Any

import pytest
from records import (
    MACHINE,
    a_campaign,
    a_failed_entry,
    a_judged,
    a_line,
    a_quality,
    a_ratio,
    a_round,
    a_run,
    a_time,
    an_entry,
    observed,
)

from workbench.campaign import Campaign
from workbench.caveats import comparison_caveats, line_caveats
from workbench.line import Line
from workbench.run import Run


def of_line(line: Line, *others: Line) -> tuple[str, ...]:
    return line_caveats(line, [line, *others])


def judged_line(recipe: str = "drop", **changes: Any) -> Line:
    judged = a_judged(**changes)
    quality = a_quality(judged.ours, 0.01, judged.base, verdict=judged.verdict)
    return a_line(recipe, quality, judged=judged)


FINE = judged_line(verdict="equivalent", low=-0.004, high=0.004, ours=0.8)


def test_a_line_without_doubts_has_no_caveats():
    assert of_line(FINE) == ()


def test_the_baseline_has_none_whatever_it_looks_like():
    assert of_line(judged_line("baseline", agreement=0.1).model_copy(update={"zeroed": 0.9})) == ()


def test_too_few_rows_are_told_with_what_may_be():
    assert of_line(judged_line()) == (
        "quality may lie -3.0 to +1.0 points from the baseline's: "
        "400 test rows cannot tell such a difference from none",
    )
    assert "1,821 test rows and 3 seeds cannot" in of_line(judged_line(rows=1821, seeds=(0, 1, 2)))[0]


@pytest.mark.parametrize("word", ["equivalent", "better", "worse"])
def test_rows_that_were_enough_need_no_word(word):
    assert not any("test rows cannot" in caveat for caveat in of_line(judged_line(verdict=word)))


def test_without_a_judgement_nothing_is_said_of_rows():
    assert of_line(a_line("drop", a_quality(0.79, None))) == ()


def test_a_difference_lost_among_several_tasks_is_not_blamed_on_the_rows():
    judged = a_judged(verdict="worse", low=-0.03, high=-0.001, p=0.03)
    line = a_line("drop", a_quality(0.79, verdict="unclear"), judged=judged, p_adjusted=0.06)
    assert of_line(line) == (
        "by itself its quality would be worse, but looking at several tasks, one such difference comes about by chance "
        "too often (p 0.03, adjusted 0.06)",
    )


@pytest.mark.parametrize(("share", "told"), [(None, False), (0.0, False), (0.069, False), (0.07, True), (0.5, True)])
def test_zeroed_parameters_are_told_where_more_than_rounding_makes_them(share, told):
    found = of_line(FINE.model_copy(update={"zeroed": share}))
    assert any("zeroed, not removed" in caveat for caveat in found) == told
    if told:
        assert f"{100 * share:.0f} % of its parameters" in found[0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"agreement": 0.949}, True),
        ({"agreement": 0.95}, False),
        ({"agreement": 0.8, "verdict": "better"}, True),
        ({"agreement": 0.8, "verdict": "unclear"}, True),
        ({"agreement": 0.8, "verdict": "worse"}, False),
        ({"agreement": 0.8, "divergence_unit": "squared score"}, False),
    ],
)
def test_damage_that_the_quality_hides_is_told(changes, told):
    found = of_line(judged_line(**{"verdict": "equivalent", **changes}))
    assert any("otherwise than the baseline" in caveat for caveat in found) == told
    if told:
        share = f"{100 * (1 - changes['agreement']):.1f} % of the test rows"
        assert any(share in caveat for caveat in found)


def a_control(quality: float, reach: float | None = 0.01, **changes: Any) -> Line:
    return a_line("drop-control", a_quality(quality, reach), control_of="drop", **changes)


def of_student(quality: float, control: Line) -> list[str]:
    student = a_line("drop", a_quality(quality))
    return [caveat for caveat in of_line(student, control) if "teacher" in caveat]


def test_a_teacher_whose_help_is_not_shown_is_told_with_the_difference():
    assert of_student(0.79, a_control(0.783)) == [
        "the teacher's help is not shown: the same recipe without it (drop-control) comes out 0.7 points lower, "
        "which is within doubt or worse"
    ]
    assert "comes out 2.0 points higher" in of_student(0.79, a_control(0.81))[0]


def test_a_teacher_who_helped_beyond_doubt_needs_no_word():
    assert of_student(0.79, a_control(0.76)) == []


def test_a_control_of_another_recipe_or_task_or_that_failed_says_nothing():
    assert of_student(0.79, a_control(0.79, task="other")) == []
    assert of_student(0.79, a_control(0.79).model_copy(update={"control_of": "graph"})) == []
    assert of_student(0.79, a_control(0.79).model_copy(update={"quality": None})) == []


def test_a_control_whose_answers_are_gone_shows_nothing_of_the_teacher():
    assert len(of_student(0.9, a_control(0.5, reach=None))) == 1


def test_what_was_not_timed_beside_the_others_is_told():
    timed = a_line("graph", 0.8, 10)
    assert of_line(FINE, timed) == ("it was not timed beside the others: workbench measure RUN times it",)
    assert of_line(FINE, timed.model_copy(update={"task": "other"})) == ()
    assert of_line(FINE, FINE) == ()
    assert of_line(FINE.model_copy(update={"runs": ()}), timed) == ()
    assert of_line(FINE.model_copy(update={"latency": a_time(10)}), timed) == ()


def test_what_was_timed_apart_from_the_baseline_of_the_table_is_told():
    base = a_line("baseline", 0.8, 20, campaign="first")
    line = FINE.model_copy(update={"latency": a_time(10), "campaign": "second"})
    assert of_line(line, base) == (
        "it was timed apart from the others: compare how many times faster it is, not its milliseconds",
    )
    assert of_line(line.model_copy(update={"campaign": "first"}), base) == ()
    assert of_line(line, base.model_copy(update={"task": "other"})) == ()


def of_all(
    lines: list[Line] | None = None, runs: list[Run] | None = None, campaigns: list[Campaign] | None = None
) -> list[str]:
    two_seeds = [a_line("baseline", seeds=(0, 1), campaign="reviews-1"), a_line("drop", seeds=(0, 1))]
    return comparison_caveats(two_seeds if lines is None else lines, runs or [], campaigns or [])


def test_a_comparison_without_doubts_has_no_caveats():
    sound = a_campaign(an_entry("drop", a_ratio(2.0)))
    assert of_all(runs=[a_run(), a_run("r", "drop")], campaigns=[sound]) == []


def test_a_task_that_the_baseline_has_not_learnt_is_told_once():
    doubtful = {"base": 0.545, "blind": 0.527, "beats_blindness": False}
    lines = [judged_line(name, **doubtful).model_copy(update={"seeds": (0, 1)}) for name in ("drop", "int8")]
    (found,) = of_all([a_line("baseline", seeds=(0, 1)), *lines])
    assert (
        "the baseline (accuracy 54.5) is not shown to be better than giving every text the same label (52.7)" in found
    )


def test_one_seed_is_told():
    found = of_all([a_line("baseline"), a_line("drop"), a_line("failed", None, seeds=())])
    assert len(found) == 1
    assert found[0].startswith("one seed only: ")


def test_different_numbers_of_seeds_are_told():
    found = of_all([a_line("baseline", seeds=(0, 1)), a_line("drop", seeds=(0,))])
    assert found == [
        "reviews: the recipes have different numbers of seeds; only the seeds that a baseline has too are compared"
    ]


def test_one_seed_of_some_tasks_is_told_of_these():
    found = of_all([a_line("baseline", seeds=(0, 1)), a_line("baseline", task="news"), a_line("drop", task="news")])
    assert len(found) == 1
    assert found[0].startswith("one seed only on news: ")


def test_without_any_finished_run_nothing_is_said_of_seeds():
    assert of_all([a_line("drop", None, seeds=())]) == []


def with_versions(**versions: str) -> Run:
    return a_run(environment={**MACHINE, "versions": versions})


def test_mixed_versions_of_what_decides_timings_are_told():
    runs = [with_versions(torch="2.1", numpy="1"), with_versions(torch="2.2", numpy="2"), with_versions(numpy="2")]
    assert of_all(runs=runs) == ["the runs were made with different versions of torch (2.1, 2.2)"]


def test_several_machines_are_told():
    runs = [a_run(), a_run(environment={**MACHINE, "cpu": "Epyc"}), a_run(environment={**MACHINE, "system": "Linux 7"})]
    found = of_all(runs=runs)
    assert len(found) == 1
    assert found[0].startswith("the runs were made on 2 different machines; sizes and answers can be compared")


def test_a_faulty_control_is_told_of_a_campaign_that_is_used():
    faulty = a_campaign(control=a_ratio(1.2))
    (found,) = of_all(campaigns=[faulty])
    assert found.startswith("speed on reviews is noisy: the baseline beside itself came out as 1.200×")
    assert of_all(campaigns=[faulty.model_copy(update={"id": "not used"})]) == []


def test_a_campaign_without_a_control_says_so_once():
    lost = a_campaign(an_entry("drop", a_ratio(2.0)), control=None)
    (found,) = of_all(campaigns=[lost])
    assert "there is no control" in found


def test_noisy_rounds_that_counted_are_told_and_those_that_were_dropped_are_not():
    rounds = [a_round(0), a_round(1, quiet=False), a_round(2, quiet=False, kept=False)]
    assert of_all(campaigns=[a_campaign(rounds=rounds)]) == [
        "speed on reviews: 1 of 3 rounds were noisy and counted all the same"
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"answers": {"timed": 8, "differing": 3, "beyond_rounding": 2}},
            "2 of 8 timed answers are not those that were",
        ),
        ({"answers": None, "unchecked": "rows gone"}, "its timed answers could not be checked: rows gone"),
    ],
)
def test_timed_answers_that_are_wrong_or_unchecked_are_told(changes, words):
    (found,) = of_all(campaigns=[a_campaign(an_entry("drop", a_ratio(2.0), **changes))])
    assert found.startswith(f"speed on reviews: drop is unclear, for {words}")


def test_a_failed_entry_is_not_told_here():
    assert of_all(campaigns=[a_campaign(a_failed_entry("drop", "it crashed"))]) == []


OLD = {**MACHINE, "flags": ["avx2"]}


def int8_run(**sizes: float) -> Run:
    return a_run("run-of-int8", "int8", measurements=observed(**sizes))


def on_old_machines(*tasks: str) -> list[Campaign]:
    entry = an_entry("int8", a_ratio(2.0))
    return [a_campaign(entry, id=task, task=task, environment=OLD) for task in tasks]


def used(*tasks: str) -> list[Line]:
    return [a_line("int8", task=task, campaign=task, seeds=(0, 1)) for task in tasks]


def test_int8_on_a_processor_without_instructions_for_it_is_told_once():
    found = of_all(used("a", "b"), [int8_run(bytes__int8=5, bytes__float32=1)], on_old_machines("a", "b"))
    assert len(found) == 1
    assert found[0].startswith("the processor announces no int8 instructions")


def test_int8_of_a_run_whose_size_nobody_measured_is_reckoned_with():
    assert len(of_all(used("a"), [int8_run(accuracy=0.5)], on_old_machines("a"))) == 1


def test_no_int8_needs_no_word_of_it():
    assert of_all(used("a"), [int8_run(bytes__float32=5)], on_old_machines("a")) == []
    assert of_all(used("a"), [int8_run(bytes__float32=5, bytes__uint8=5)], on_old_machines("a")) == []
    assert of_all(used("a"), [a_run("run-of-int8")], on_old_machines("a")) == []
    assert of_all(used("a"), [int8_run(bytes__int8=5).model_copy(update={"id": "untimed"})], on_old_machines("a")) == []


def test_a_processor_with_instructions_for_int8_needs_no_word():
    sound = a_campaign(an_entry("int8", a_ratio(2.0)), id="a")
    assert of_all(used("a"), [int8_run(bytes__int8=5)], [sound]) == []
