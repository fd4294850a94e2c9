"""A campaign's table fits the terminal and forgets no doubt."""

import io
import re

import pytest
from records import a_campaign, a_failed_entry, a_round, an_entry
from rich.console import Console

from reports.campaign import campaign_columns, campaign_table, control, doubts, heading
from workbench.campaign import TWIN, Campaign
from workbench.ratios import Ratio

TWICE = Ratio(value=2.0, low=1.9, high=2.1, processes=5)
SLOWER = Ratio(value=0.5, low=0.45, high=0.56, processes=5)
NOISY = Ratio(value=1.0, low=0.8, high=1.25, processes=5)
WHOLE = {
    **{"latency": 123.4, "latency/p90": 150.2, "end-to-end": 124.9, "throughput": 1234.5, "memory": 438.2e6},
    **{"cold-start/load": 1500.0, "cold-start/first-call": 200.0},
}
MARKUP = ("[red]name[/red]", "[/]", "a | b", "<script>alert(1)</script>", "*loud* `code` _x_", "back\\slash")
CAMPAIGN = a_campaign(
    an_entry("half-depth-openvino-int8", TWICE, WHOLE),
    an_entry("albert", SLOWER, WHOLE),
    an_entry("distilbert-control", Ratio(value=10.25, low=10.11, high=10.39, processes=5), WHOLE),
    a_failed_entry("crasher", "the measuring process died (signal 11): it said nothing"),
)


def shown(campaign: Campaign, width: int = 100) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(campaign_table(campaign))
    return console.export_text()


def line_of(name: str, text: str) -> str:
    return next(line for line in text.splitlines() if line.lstrip().startswith(name))


def test_the_table_fits_100_columns_and_nothing_is_cut():
    text = shown(CAMPAIGN)
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    for column in campaign_columns(CAMPAIGN):
        assert column.heading in text, column.heading
    for number in ("123", "150", "125", "1234", "438.2", "1700", "2.00× (1.90–2.10)", "10.25× (10.11–10.39)"):
        assert number in text, number


def test_a_long_name_is_broken_over_lines_and_not_cut():
    name = "distilled-half-depth-then-int8-static-with-trimmed-vocabulary"
    text = shown(a_campaign(an_entry(name, TWICE, WHOLE)))
    assert max(map(len, text.splitlines())) <= 100
    # The first column stands alone on the lines that a name goes on in.
    table = text.split("control:")[0].splitlines()
    start = next(number for number, line in enumerate(table) if line.lstrip().startswith(name[:8]))
    assert "".join(line.split()[0] for line in table[start:] if line.strip()) == name


def test_every_entry_has_its_line_with_its_verdict():
    text = shown(CAMPAIGN, 200)
    assert "faster" in line_of("half-depth", text)
    assert "slower" in line_of("albert", text)
    assert "equivalent" in line_of(TWIN, text)
    assert line_of("baseline ", text).count("–") >= 2


def test_a_failed_entry_is_said_to_have_failed_and_has_no_numbers():
    line = line_of("crasher", shown(CAMPAIGN, 200))
    assert "failed" in line
    assert not re.search(r"\d", line)
    assert line.count("–") == len(campaign_columns(CAMPAIGN)) - 2


def test_the_heading_says_what_was_measured_and_how():
    assert heading(CAMPAIGN) == "speed and memory, task reviews: 1 thread, batch 1, 21 tokens on average, Xeon"
    other = a_campaign(settings={"threads": 4}, mean_tokens=None)
    assert "4 threads, batch 1, real texts" in heading(other)


def test_a_sound_control_is_told():
    assert control(CAMPAIGN) == "control: the baseline beside itself came out as 1.000× (0.990 to 1.010), as it should"
    assert "as it should" in shown(CAMPAIGN)


def test_a_noisy_control_is_told_and_small_differences_are_unclear():
    slightly = Ratio(value=1.2, low=1.15, high=1.24, processes=5)
    campaign = a_campaign(an_entry("drop", slightly, WHOLE), control=NOISY)
    text = " ".join(shown(campaign).split())
    assert "the baseline beside itself came out as 1.000× (0.800 to 1.250), less sure than ±5%" in text
    assert "as it should" not in text
    told = line_of("drop", shown(campaign))
    assert "faster" not in told
    assert "unclear" in told


def test_a_control_that_is_missing_is_told():
    assert "could not be measured twice" in control(a_campaign(control=None))


def test_where_nothing_was_timed_no_control_is_missed():
    weighed = [an_entry(name, measured={"memory": 64e6}, answers=None) for name in ("baseline", TWIN)]
    campaign = a_campaign(entries=weighed, rounds=())
    assert control(campaign) == "control: nothing was timed, so none was needed"
    assert "64.0" in shown(campaign)


def test_every_doubt_is_told():
    campaign = a_campaign(
        an_entry("liar", TWICE, answers={"timed": 32, "differing": 9, "beyond_rounding": 7}),
        an_entry("torn", TWICE, answers=None, unchecked="predictions cannot be read"),
        remarks=("the raw timings could not be kept",),
        rounds=[a_round(0), a_round(1, quiet=False, kept=False)],
        environment={"system": "Linux", "machine": "x86_64", "python": "3.11", "cores": 2, "versions": {}},
    )
    raw, dropped, liar, torn, int8 = doubts(campaign)
    assert raw == "the raw timings could not be kept"
    assert dropped == "1 of 2 rounds were noisy; they were dropped and run again"
    assert liar.startswith("liar: 7 of 32 timed answers are not those of the quality run")
    assert torn == "torn: its timed answers could not be checked: predictions cannot be read"
    assert "int8" in int8
    text = " ".join(shown(campaign).split())
    for doubt in doubts(campaign):
        assert doubt in text


def test_a_campaign_beyond_doubt_has_none():
    assert doubts(a_campaign()) == []


@pytest.mark.parametrize("words", MARKUP)
def test_names_and_remarks_are_shown_as_they_are(words):
    campaign = a_campaign(an_entry(words, TWICE, WHOLE), remarks=(f"about {words}",))
    text = shown(campaign, 200)
    assert line_of(words, text)
    assert f"about {words}" in text


@pytest.mark.parametrize("words", MARKUP)
def test_a_task_and_a_processor_are_shown_as_they_are(words):
    campaign = a_campaign(task=words, environment={**a_campaign().environment.model_dump(), "cpu": words})
    assert f"task {words}: 1 thread" in shown(campaign, 200)
