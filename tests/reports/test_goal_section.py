"""The goals of a report stand in a table, missed ones as missed; a study without goals has no such section."""

import pytest
from dossiers import a_dossier, dossier_of

from reports.goal_section import goal_section
from reports.story import story
from workbench.reached import Reached
from workbench.store import RunStore

FASTER = Reached(recipe="tiny", task="sst2", aim="faster", asked=12, value=13.0, low=12.5, high=13.5, sure=True)
GOALS = (
    FASTER,
    FASTER.model_copy(update={"task": "rte", "value": 11.0, "low": 10.0, "high": 12.1, "sure": False}),
    FASTER.model_copy(update={"task": "mrpc", "value": 12.1, "low": 11.9, "sure": False}),
    Reached(recipe="tiny", task="sst2", aim="keeps", asked=0.97, value=0.9651, low=0.95, high=0.98),
    Reached(recipe="tiny", task="rte", aim="faster than", other="int8", asked=4),
)


def test_every_goal_has_its_row_and_every_task_its_column(tmp_path):
    tally, table, _ = goal_section(a_dossier(tmp_path).model_copy(update={"goals": GOALS})).blocks
    assert table.head == ("recipe", "goal", "sst2", "rte", "mrpc")
    assert [[cell.plain for cell in row] for row in table.rows] == [
        [
            *("tiny", "at least 12× as fast"),
            *("13.00× (12.50 to 13.50) met, shown", "11.00× (10.00 to 12.10) missed", "12.10× (11.90 to 13.50) met"),
        ],
        ["tiny", "keeps at least 97 %", "96.5 % missed", "–", "–"],
        ["tiny", "at least 4× as fast as int8", "–", "– (not measured)", "–"],
    ]
    assert tally.text == (
        "Of 5 numbers asked for, 2 are met, 1 of them beyond doubt; 2 are missed; 1 were not measured."
    )


@pytest.mark.parametrize(
    ("aim", "asked", "value", "told"),
    [
        ("faster", 1.5, 1.4963, "1.496× missed"),
        ("faster", 1.5, 1.4999999999, "1.500000× missed"),
        ("faster", 1.5, 1.5, "1.50× met"),
        ("smaller", 1.5, 1.49, "1.49× missed"),
        ("keeps", 0.95, 0.9499, "94.99 % missed"),
        ("no worse than", 1.0, 0.9996, "99.96 % missed"),
        ("no worse than", 1.0, 1.0004, "100.0 % met"),
    ],
)
def test_a_goal_missed_by_a_hair_does_not_look_as_if_it_were_met(aim, asked, value, told, tmp_path):
    goal = Reached(recipe="tiny", task="rte", aim=aim, other="int8", asked=asked, value=value)
    _, table, _ = goal_section(a_dossier(tmp_path).model_copy(update={"goals": (goal,)})).blocks
    assert table.rows[0][2].plain == told


def test_reports_of_studies_without_goals_do_not_speak_of_them(tmp_path):
    plain = a_dossier(tmp_path)
    assert "goals" not in [section.anchor for section in story(plain)]
    assert "goals" in [section.anchor for section in story(plain.model_copy(update={"goals": GOALS}))]


def test_goals_come_from_the_study_as_it_was_kept(tmp_path):
    assert a_dossier(tmp_path).goals == ()
    store = RunStore(tmp_path)
    store.study_file("s").write_text(
        "name: s\ntasks: [reviews]\nrecipes: [student, int8]\n"
        "goals:\n  - {recipe: int8, smaller: 3, faster_than: {student: 2}}\n  - {recipe: student, smaller: 3}\n"
    )
    found = dossier_of(store).goals
    assert [(goal.recipe, goal.aim, goal.met) for goal in found] == [
        ("int8", "smaller", True),
        ("int8", "faster than", True),
        ("student", "smaller", False),
    ]
    store.study_file("s").write_text("name: [\n")
    assert dossier_of(store).goals == ()
