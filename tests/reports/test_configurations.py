"""The page of shapes: what it shows is what is counted, and a shape that makes no sense is told in words."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from reports.architecture import short_count
from reports.wording import megabytes
from workbench.architecture_counts import disk_bytes, macs, parameters_by_part
from workbench.architecture_presets import preset


def page() -> None:
    from reports.pages import configurations

    configurations.show()


@pytest.fixture
def shown() -> AppTest:
    found = AppTest.from_function(page, default_timeout=60).run()
    assert not found.exception
    return found


def turned(shown: AppTest, **sizes: int) -> AppTest:
    start = shown.selectbox(key="shape start").value
    for field, size in sizes.items():
        shown.number_input(key=f"shape {start} {field}").set_value(size)
    shown.run()
    assert not shown.exception
    return shown


def test_what_is_shown_at_first_is_a_published_shape(shown):
    shape = preset("minilm-l6")
    assert [metric.value for metric in shown.metric] == [
        short_count(parameters_by_part(shape).total),
        *(megabytes(disk_bytes(shape, dtype).total) for dtype in ("float32", "float16", "int8")),
        short_count(macs(shape, 128).total),
    ]
    assert [metric.delta for metric in shown.metric] == [""] * 5


def test_turning_a_size_is_counted_and_compared(shown):
    shown = turned(shown, layers=3, sharing_groups=1, embedding_rank=64)
    shape = preset("minilm-l6").changed(layers=3, sharing_groups=1, embedding_rank=64)
    whole, before = parameters_by_part(shape).total, parameters_by_part(preset("minilm-l6")).total
    assert shown.metric[0].value == short_count(whole)
    assert shown.metric[0].delta == f"{whole / before - 1:+.1%} against minilm-l6"
    table = shown.dataframe[0].value
    assert list(table["architecture"]) == ["your shape", "bert-base", "distilbert-base", "albert-base-v2"]
    assert table["million parameters"][0] == pytest.approx(whole / 1e6)
    assert table["MB int8"][0] == pytest.approx(disk_bytes(shape, "int8").total / 1e6)
    assert table["billion MACs at 128 tokens"][0] == pytest.approx(macs(shape, 128).total / 1e9)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"heads": 7}, "Heads: 7 heads do not divide a width of 384 evenly. 6 or 8 would do."),
        ({"sharing_groups": 9}, "Sharing groups: 6 layers cannot wear 9 sets of weights; give at most 6."),
        ({"embedding_rank": 400}, "Embedding rank: 400 is wider than the encoder; give at most 384."),
        ({"heads": 200, "hidden": 100}, "Heads: 200 heads do not divide a width of 100 evenly. 100 would do."),
    ],
)
def test_a_shape_that_makes_no_sense_is_told_beside_the_controls(shown, sizes, words):
    shown = turned(shown, **sizes)
    assert [error.value for error in shown.error] == [words]
    assert "your shape" not in list(shown.dataframe[0].value["architecture"])
    assert len(shown.metric) == 0


def test_every_published_shape_can_be_begun_from_and_drawn(shown):
    starts = shown.selectbox(key="shape start").options
    shown.multiselect[0].set_value(starts).run()
    for start in starts:
        shown.selectbox(key="shape start").set_value(start)
        shown.selectbox(key="shape drawn").set_value(start)
        shown.run()
        assert not shown.exception
        assert not shown.error
        assert shown.metric[0].value == short_count(parameters_by_part(preset(start)).total)
        assert len(shown.get("image")) == 1


def test_a_length_that_a_shape_cannot_take_leaves_it_out(shown):
    shown = turned(shown, positions=64)
    table = shown.dataframe[0].value
    assert table["billion MACs at 128 tokens"].isna().tolist() == [True, False, False, False]
    assert any("the longest that both take" in markdown.value for markdown in shown.markdown)


def test_the_length_is_cut_to_what_the_shapes_take(shown):
    shown.slider[0].set_value(500).run()
    shown.multiselect[0].set_value([])
    shown = turned(shown, positions=40)
    assert shown.slider[0].value == 40
    assert "billion MACs at 40 tokens" in shown.dataframe[0].value


def test_without_any_shape_it_says_what_to_do(shown):
    shown.multiselect[0].set_value([])
    shown.toggle(key="shape own").set_value(False).run()
    assert not shown.exception
    assert "Choose a published encoder" in shown.info[0].value
