"""The method of a report: how each kind of number came about, in few words."""

from __future__ import annotations

from collections.abc import Iterator

from reports.blocks import Block, Bullets, Heading, Section, Words
from reports.wording import counted
from workbench.campaign import Campaign
from workbench.coordinator import OTHERS_AT_MOST, STEAL_AT_MOST
from workbench.delta import COUNTED_WITHIN, MEMORY_WITHIN
from workbench.dossier import Dossier
from workbench.line import QUALITY_WITHIN
from workbench.ratios import CONTROL_WITHIN, EQUIVALENT_WITHIN
from workbench.resampling import DRAWS

QUALITY = (
    "Every version is saved, opened again in a fresh process and asked about every test row; quality is the task's "
    "metric over these answers, the mean over test parts and seeds. Test rows are not seen by training.",
    "A version and its baseline answered the same rows, so they are compared row by row. The interval of "
    f"the difference comes from {DRAWS:,} draws of the test rows with replacement; with several seeds it also holds "
    "how much seeds differ, with one it tells of other rows only.",
    "p is of the exact McNemar test for the accuracy of one seed, and of the same draws otherwise. It is adjusted over "
    "tasks by Holm's rule; what that makes likely to be seen by chance is called unclear.",
    f"Equivalent: the whole interval is closer to the baseline than {QUALITY_WITHIN:.0%} of its value. Better or "
    "worse: the interval excludes no difference. Anything else is unclear.",
    "A share of quality is shown to be kept where the one-sided 95 % lower bound of (quality − share × the baseline's "
    "quality) is above 0.",
    "Agreement asks whether a version answers like the baseline, right or wrong. Flips are the rows where it does not: "
    "mended, broken, or wrong in another way.",
)
SPEED = (
    "Each variant sits loaded in a process of its own with its threads fixed beforehand; in every round all of them "
    "answer the same real texts, one at a time, in a new random order. Making tokens is timed apart.",
    "The headline is the baseline's time over the variant's, round by round. Its interval is Student's over fresh "
    "processes, on the log scale, because rounds of one process share its luck.",
    f"Equivalent: the whole interval is within {EQUIVALENT_WITHIN:.0%} of 1. Faster or slower: it excludes 1.",
    "The baseline is entered twice. Where it differs from itself, or is less sure of itself than "
    f"±{CONTROL_WITHIN:.0%}, only what exceeds that noise counts as a difference.",
    f"Rounds in which the machine lost more than {STEAL_AT_MOST:.0%} of its time to others outside, or other programs "
    f"used more than {OTHERS_AT_MOST:g} cores, are run again as far as spare rounds allow.",
    "The answers of timed calls are compared with those that were judged; of a variant that answers otherwise "
    "beyond rounding the speed is called unclear.",
)
SIZE = (
    "Memory: a fresh process imports the libraries, then opens the model, answers once, then many times. The highest "
    "mark of each phase, beyond what the libraries held, is the model's own. Differences within "
    f"{MEMORY_WITHIN:.0%} are none.",
    "Disk counts every file needed to run; parameters that are shared count once, and zeroed ones as "
    f"there; MACs are computed for one text of the mean length. Differences within {COUNTED_WITHIN:.0%} are none.",
)


def method_section(dossier: Dossier) -> Section:
    """Say how the numbers were obtained."""
    blocks: list[Block] = [Bullets("Quality", QUALITY), Bullets("Speed", SPEED), Bullets("Memory and size", SIZE)]
    if dossier.campaigns:
        blocks.append(Heading("How the campaigns were held"))
        blocks += [Words(words) for campaign in dossier.campaigns for words in _held(campaign)]
    return Section("How it was measured", "method", tuple(blocks))


def _held(campaign: Campaign) -> Iterator[str]:
    settings = campaign.settings
    kept = sum(found.kept for found in campaign.rounds)
    processes = len({found.process for found in campaign.rounds})
    yield (
        f"Campaign {campaign.id} on {campaign.task} with seed {campaign.seed}, {campaign.created[:16]}: "
        f"{counted(settings.threads, 'thread')}, {counted(settings.texts, 'text')} asked for, "
        f"{processes} {'process' if processes == 1 else 'processes'} of each variant, "
        f"{counted(kept, 'round')} kept of {len(campaign.rounds)}. "
        f"The coordinator itself used {campaign.cost.cpu_seconds:.1f} s of processor time in "
        f"{campaign.cost.wall_seconds:.0f} s."
    )
