"""The parts of a report say what is special about the records at hand."""

from records import a_campaign, a_failed_entry, a_ratio, an_entry

from reports.blocks import Bullets, Code, Figures, Fold, Heading, Table, Words
from reports.provenance_section import environment_section, repeat_section
from reports.recipe_section import recipe_section
from reports.speed_section import speed_section
from workbench.damage import Damage, FlippedRow, LabelDamage


def all_blocks(blocks):
    """Blocks and those within them, in order."""
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from all_blocks(block.blocks)


def those(section, kind):
    return [block for block in all_blocks(section.blocks) if isinstance(block, kind)]


def test_a_grid_of_shapes_has_a_table_in_the_order_of_shapes(usual):
    timed = an_entry(
        "int8", a_ratio(2), {"latency": 3.0, "latency/8x16": 9.0, "latency/8x128": 40.0, "latency/1x16": 2}
    )
    section = speed_section(usual.model_copy(update={"campaigns": (a_campaign(timed),)}))
    (table,) = [found for found in those(section, Table) if "1 × 16 tokens" in found.head]
    assert table.head == ("variant", "1 × 16 tokens", "8 × 16 tokens", "8 × 128 tokens")
    assert [[cell.text for cell in row] for row in table.rows if row[0].text == "int8"] == [
        ["int8", "2 ms", "9 ms", "40 ms"]
    ]


def test_an_entry_that_failed_says_so_and_why(usual):
    campaign = a_campaign(a_failed_entry("int8", "it crashed at once"))
    section = speed_section(usual.model_copy(update={"campaigns": (campaign,)}))
    told = [sentence for block in those(section, Bullets) for sentence in block.sentences]
    assert "int8 failed: it crashed at once." in told
    badges = [row[4].badge.word for table in those(section, Table) for row in table.rows if row[4].badge]
    assert "failed" in badges


def test_two_campaigns_on_one_task_share_their_chart(usual):
    (campaign,) = usual.campaigns
    newer = campaign.model_copy(update={"id": "reviews-2"})
    section = speed_section(usual.model_copy(update={"campaigns": (campaign, newer)}))
    assert len(those(section, Figures)) == 1
    assert len([found for found in those(section, Heading) if "1 thread" in found.text]) == 2


def test_raw_timings_that_were_not_kept_leave_a_sentence(usual):
    section = speed_section(usual.model_copy(update={"spreads": ()}))
    assert "There is no chart of single calls on reviews, because none were kept." in {
        block.text for block in those(section, Words)
    }


def test_machines_that_differ_are_told_apart(usual):
    assert not [found for found in those(environment_section(usual), Heading) if "Machine" in found.text]
    first, *others = usual.runs
    elsewhere = first.environment.model_copy(update={"cpu": "Another"})
    moved = (first.model_copy(update={"environment": elsewhere}), *others)
    section = environment_section(usual.model_copy(update={"runs": moved}))
    headings = [found.text for found in those(section, Heading) if "Machine" in found.text]
    assert headings == ["Machine 1: timed here, made here", "Machine 2: made here"]


def with_labels(dossier, count):
    """The first explanation as if there were many labels and most answers wrong by one."""
    labels = tuple(f"l{number}" for number in range(count))
    by_label = tuple(
        LabelDamage(label=label, rows=2, base_right=2, ours_right=1, mended=0, broken=1) for label in labels
    )
    confusion = tuple(
        tuple(1 if answer in (true, (true + 1) % count) else 0 for answer in range(count)) for true in range(count)
    )
    base = tuple(tuple(2 if answer == true else 0 for answer in range(count)) for true in range(count))
    flip = FlippedRow(
        **{"seed": 0, "part": "test", "id": "r0", "texts": ("one", "other"), "label": "l0", "base": "l0", "ours": "l1"},
        **{"direction": "broken", "confidence": 0.5},
        base_probabilities=(0.5, 0.3, 0.15, *[0.05 / (count - 3)] * (count - 3)),
        our_probabilities=(0.3, 0.5, 0.15, *[0.05 / (count - 3)] * (count - 3)),
    )
    damage = Damage(
        labels=labels, by_label=by_label, confusion=confusion, base_confusion=base, flips=(flip,), flip_count=count
    )
    first, *_ = dossier.explanations
    return dossier.model_copy(update={"explanations": (first.model_copy(update={"damage": damage}),)})


def test_few_labels_make_a_square_and_many_a_list_of_mix_ups(usual):
    square = next(table for table in those(recipe_section(with_labels(usual, 5)), Table) if "answered l0" in table.head)
    assert len(square.head) == 6
    assert (square.rows[0][1].text, square.rows[0][1].note) == ("1", "baseline 2")
    listed = next(table for table in those(recipe_section(with_labels(usual, 60)), Table) if "answered" in table.head)
    assert len(listed.rows) == 20
    assert all((row[2].text, row[3].text) == ("1", "0") for row in listed.rows)


def test_of_many_labels_the_likeliest_are_told_and_pairs_of_texts_stand_together(usual):
    flips = next(table for table in those(recipe_section(with_labels(usual, 60)), Table) if "went" in table.head)
    (row,) = flips.rows
    assert row[1].text == "one ⏐ other"
    assert row[3].note.replace("\u00a0", " ") == "l0 50.0 %, l1 30.0 %, l2 15.0 %"
    assert row[4].note.replace("\u00a0", " ") == "l1 50.0 %, l0 30.0 %, l2 15.0 %"


def test_a_study_made_in_pieces_is_repeated_by_one_command(usual):
    given = (
        "workbench run s.yaml --glue-dir glue --task rte --seed 0 --only int8 --only tiny --no-timing",
        "workbench run s.yaml --glue-dir glue --task=sst2",
        "workbench measure rte-tiny",
    )
    whole, pieces, *_ = those(repeat_section(usual.model_copy(update={"commands": given})), Code)
    assert whole.text == "workbench run s.yaml --glue-dir glue"
    assert pieces.text == "\n".join(given)


def test_commands_that_differ_in_more_than_their_piece_are_given_as_they_were(usual):
    given = ("workbench run s.yaml --limit 100 --task rte", "workbench run s.yaml --task sst2")
    first, *_ = those(repeat_section(usual.model_copy(update={"commands": given})), Code)
    assert first.text == "\n".join(given)
