"""Charts, table and drawing of architectures say what was counted, are well-formed, to scale and legible anywhere."""

import re
from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree

import pandas as pd
import pytest
import vl_convert
from contrast import contrast

from reports.architecture import (
    PIECE_COLOURS,
    architecture_frame,
    macs_figure,
    parameters_figure,
    short_count,
)
from reports.architecture_drawing import LONGEST_LABEL, REACH, architecture_svg, widest_of
from reports.architecture_rows import MOST_LAYERS, rows_of
from reports.palette import DARK_PAPER, INK, LIGHT_PAPER
from workbench.architecture_counts import PIECES, disk_bytes, macs, parameters_by_part
from workbench.architecture_presets import PRESETS, preset

SVG = "{http://www.w3.org/2000/svg}"
BASE = preset("bert-base").under_head(2)
VARIANTS = {
    **PRESETS,
    "factorized": BASE.changed(embedding_rank=64),
    "in three groups": BASE.changed(sharing_groups=3, untie=True),
    "only attention shared": BASE.changed(sharing_groups=5, share="attention"),
    "one layer": BASE.changed(layers=1, labels=None, pooler=False),
    "very deep": BASE.changed(layers=1000, sharing_groups=7),
    "many heads": BASE.changed(heads=768),
    "more labels than numbers": BASE.changed(labels=10_000),
    "a short table": BASE.changed(positions=4),
}
HOSTILE = (
    "<script>alert(1)</script>",
    "</text><image href='http://example.org/x.png'/>",
    "a & b &lt; c \" d ' e",
    "]]> <!-- -->",
    "<?xml version='1.0'?>",
    "null \x00, bell \x07, half a pair \ud800, no character \uffff",
    "line\nbreak\ttab",
    "ünïcödé 中文 🙂",
)


def parsed(svg):
    return ElementTree.fromstring(svg)


def texts(svg):
    return ["".join(text.itertext()) for text in parsed(svg).iter(f"{SVG}text")]


def span(shape):
    """From where to where a shape goes across."""
    if shape.tag == f"{SVG}rect":
        return float(shape.get("x")), float(shape.get("x")) + float(shape.get("width"))
    across = [float(corner.split(",")[0]) for corner in shape.get("points").split()]
    return min(across), max(across)


def drawn_rows(figure):
    return figure.spec()["layer"][0]["data"]["values"]


@pytest.mark.parametrize("relative", [False, True])
def test_the_chart_of_parameters_compiles_and_shows_every_count(relative):
    figure = parameters_figure(VARIANTS, relative)
    drawn = Counter()
    for row in drawn_rows(figure):
        drawn[row["bar"]] += row["amount"]
    totals = {name: parameters_by_part(architecture).total for name, architecture in VARIANTS.items()}
    written = set(texts(figure.svg()))
    assert drawn == totals
    assert {*VARIANTS, *map(short_count, totals.values())} <= written


def test_the_chart_of_arithmetic_compiles_and_leaves_out_what_does_not_fit():
    figure = macs_figure({"base": BASE, "short": VARIANTS["a short table"]}, lengths=(1, 4, 512))
    bars = list(dict.fromkeys(row["bar"] for row in drawn_rows(figure)))
    assert bars == ["base, 1 token", "base, 4 tokens", "base, 512 tokens", "short, 1 token", "short, 4 tokens"]
    assert {*bars, short_count(macs(BASE, 512).total)} <= set(texts(figure.svg()))


def test_bars_are_stacked_in_the_order_of_pieces_and_each_piece_has_a_colour_of_its_own():
    places = [row["place"] for row in drawn_rows(parameters_figure({"base": BASE}))]
    assert places == sorted(places)
    assert set(PIECE_COLOURS) == set(PIECES) and len(set(PIECE_COLOURS.values())) == len(PIECES)


def test_a_chart_says_in_words_what_it_shows():
    assert "bert-tiny: 4.39 M (embeddings 90.6 %, encoder 9.0 %, head 0.4 %)" in parameters_figure(PRESETS).alt
    assert "base, 512 tokens: 48.32 G" in macs_figure({"base": BASE}).alt


@pytest.mark.parametrize("name", HOSTILE[:5])
def test_hostile_names_stay_text_in_charts(name):
    for figure in (parameters_figure({name: BASE}), macs_figure({name: BASE})):
        assert {child.tag.removeprefix(SVG) for child in parsed(figure.svg()).iter()} <= {
            *("svg", "g", "path", "line", "rect", "text"),
        }


def test_no_architecture_makes_an_empty_chart_and_table():
    assert parsed(parameters_figure({}).svg()) is not None
    assert architecture_frame({}).empty


def test_the_table_holds_plain_numbers_and_nothing_where_there_is_nothing():
    frame = architecture_frame({"base": BASE, "albert": preset("albert-base-v2"), "short": VARIANTS["a short table"]})
    base, albert, short = (row for _, row in frame.iterrows())
    assert base["parameters"] == parameters_by_part(BASE).total
    assert base["parameters in head"] == parameters_by_part(BASE).parts["head"]
    assert base["bytes in int8"] == disk_bytes(BASE, "int8").total
    assert base["MACs at 128 tokens"] == macs(BASE, 128).total
    assert pd.isna(base["embedding rank"]) and pd.isna(base["sharing groups"])
    assert (albert["embedding rank"], albert["sharing groups"]) == (128, 1)
    assert pd.isna(short["MACs at 128 tokens"])


@pytest.mark.parametrize("name", VARIANTS)
def test_a_drawing_is_well_formed_stays_on_its_paper_and_can_be_rendered(name):
    svg = architecture_svg(VARIANTS[name], name)
    root = parsed(svg)
    _, _, width, height = map(float, root.get("viewBox").split())
    shapes = [child for child in root if child.tag in (f"{SVG}rect", f"{SVG}polygon")]
    assert all(0 <= edge <= width for shape in shapes for edge in span(shape))
    assert all(0 < float(text.get("y")) < height for text in root.iter(f"{SVG}text"))
    assert vl_convert.svg_to_png(svg).startswith(b"\x89PNG")


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_labels_stay_text_in_drawings(label):
    svg = architecture_svg(BASE, label)
    plain = parsed(architecture_svg(BASE, "plain"))
    assert [child.tag for child in parsed(svg).iter()] == [child.tag for child in plain.iter()]
    kept = "".join(letter for letter in label if letter not in "\x00\x07\ud800\uffff")
    assert texts(svg)[0] == " ".join(kept.split())


def test_a_long_label_is_cut():
    title = texts(architecture_svg(BASE, "long " * 100))[0]
    assert len(title) == LONGEST_LABEL and title.endswith("…")


def test_a_drawing_says_how_much_everything_holds():
    said = texts(architecture_svg(VARIANTS["factorized"], "narrow"))
    for words in ("30,522 × 64 · 1.95 M", "64 → 768 · 49,920", "512 × 768 · 0.39 M", "768 → 2 · 1,538"):
        assert words in said
    assert "each layer has weights of its own" in said
    assert any("12 heads of 64" in text and "3,072 wide" in text for text in said)


def layer_shapes(architecture):
    """The feed-forward and the attention shape of every drawn layer, from the top."""
    return [row.shapes for row in rows_of(architecture) if row.name.startswith("layer")]


def test_widths_are_to_scale_and_the_widest_fills_the_room():
    svg = architecture_svg(BASE.changed(heads=1), "base")
    spans = [span(polygon) for polygon in parsed(svg).iter(f"{SVG}polygon")]
    widths = [round(right - left, 2) for left, right in spans]
    # Classifier and pooler, then a bar and an attention for each of twelve layers, then norm, types, positions, words.
    assert widths == [REACH / 4] * 2 + [REACH, REACH / 4] * 12 + [REACH / 4] * 4


def test_drawings_that_know_the_widest_have_one_scale():
    tiny = preset("bert-tiny")
    widest = widest_of([tiny, BASE])
    svg = architecture_svg(tiny, "tiny", widest)
    bars = [span(shape) for shape in parsed(svg).iter(f"{SVG}polygon")]
    assert max(right - left for left, right in bars) == pytest.approx(REACH * 512 / 3072, abs=0.02)


def test_heads_are_cells_of_the_attention():
    svg = architecture_svg(BASE.changed(layers=1), "base")
    cells = [span(rect) for rect in parsed(svg).iter(f"{SVG}rect") if float(rect.get("width")) > 4]
    assert len(cells) == 12
    assert all(right < left for (_, right), (left, _) in pairwise(cells))


@pytest.mark.parametrize(("groups", "colours"), [(None, 12), (1, 1), (3, 3), (5, 5), (12, 12)])
def test_layers_that_share_have_one_colour_and_no_others_do(groups, colours):
    shared = BASE.changed(sharing_groups=groups)
    worn = [(bar.colour, shared.worn_by(11 - number, "ffn")) for number, (bar, _) in enumerate(layer_shapes(shared))]
    assert len(set(worn)) == len({colour for colour, _ in worn}) == colours


def test_where_one_half_is_shared_the_other_keeps_its_colours():
    shapes = layer_shapes(VARIANTS["only attention shared"])
    assert len({attention.colour for _, attention in shapes}) == 5
    assert len({bar.colour for bar, _ in shapes}) == 12
    assert "attention set 2: layers 4–5" in texts(architecture_svg(VARIANTS["only attention shared"], "x"))


def test_a_deep_stack_is_drawn_by_its_ends():
    rows = rows_of(VARIANTS["very deep"])
    assert len([row for row in rows if row.name.startswith("layer")]) <= MOST_LAYERS
    assert [row.said for row in rows if row.name == "…"] == ["and 976 layers between"]
    assert {"layer 1", "layer 1000"} <= {row.name for row in rows}


@pytest.mark.parametrize(("family", "order"), [("albert", ["map", "norm"]), ("bert", ["norm", "map"])])
def test_a_table_is_widened_where_its_family_does_it(family, order):
    names = [row.name for row in rows_of(BASE.changed(family=family, embedding_rank=128))]
    assert [name for name in names if name in order] == order
    assert names[-1] == "words"


@pytest.mark.parametrize("paper", [LIGHT_PAPER, DARK_PAPER])
def test_every_colour_is_legible_on_light_and_on_dark_paper(paper):
    drawn = "".join(architecture_svg(architecture, name) for name, architecture in VARIANTS.items())
    fills = set(re.findall(r'fill="(#[0-9a-f]{6})"', drawn))
    assert all(contrast(colour, paper) >= 3 for colour in {*fills, *PIECE_COLOURS.values()})
    assert contrast(INK, paper) >= 4
    assert {text.get("fill") for text in parsed(architecture_svg(BASE, "x")).iter(f"{SVG}text")} == {INK}


def test_on_paper_that_is_known_to_be_light_or_dark_the_drawing_is_plain_to_read():
    (style,) = parsed(architecture_svg(BASE, "x")).iter(f"{SVG}style")
    inks = dict(re.findall(r"prefers-color-scheme: (\w+)\) \{ text \{ fill: (#\w{6})", style.text))
    assert contrast(inks["light"], LIGHT_PAPER) >= 7
    assert contrast(inks["dark"], DARK_PAPER) >= 7
