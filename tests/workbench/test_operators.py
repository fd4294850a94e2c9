"""Parts and patterns name operators of a graph; whoever shares a weight goes along."""

import pytest

from workbench.errors import PlanError
from workbench.operators import Operators, part_of


@pytest.mark.parametrize(
    ("node", "part"),
    [
        ("/bert/encoder/layer.0/attention/self/query/MatMul", "bert.encoder.layer.0.attention"),
        ("/bert/encoder/layer.11/output/dense/MatMul", "bert.encoder.layer.11.output"),
        ("/bert/pooler/dense/Gemm", "bert.pooler.dense"),
        ("/classifier/Gemm", "classifier"),
        ("/MatMul", "MatMul"),
        (
            "/albert/encoder/albert_layer_groups.0/albert_layers.0/ffn_output_3/MatMul",
            "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output",
        ),
        ("__module.bert.encoder.layer.2.output.dense/aten::linear/MatMul", "bert.encoder.layer.2.output"),
        ("__module.classifier/aten::linear/Add", "classifier"),
    ],
)
def test_a_part_is_a_block_of_a_layer_or_a_module_outside_the_layers(node, part):
    assert part_of(node) == part


def test_parts_with_a_weight_in_common_are_one():
    operators = Operators(
        {"/a.0/x/MatMul": "W", "/a.0/y/MatMul": "V", "/a.1/x/MatMul": "W", "/a.1/y/MatMul": "U", "/a.2/y/MatMul": "U"},
        {},
    )
    assert operators.parts == {
        "a.0.x": {"/a.0/x/MatMul", "/a.1/x/MatMul"},
        "a.0.y": {"/a.0/y/MatMul"},
        "a.1.y": {"/a.1/y/MatMul", "/a.2/y/MatMul"},
    }


def test_parts_that_are_joined_by_a_third_are_one():
    products = {"/a.0/x/p/MatMul": "W", "/a.1/x/p/MatMul": "V", "/a.2/x/p/MatMul": "W", "/a.2/x/q/MatMul": "V"}
    assert Operators(products, {}).parts == {"a.0.x": set(products)}


def test_a_pattern_names_tables_too_and_takes_along_who_shares_the_weight():
    operators = Operators({"/one": "W", "/two": "V", "/three": "W"}, {"/words": "E"})
    assert operators.named(["one|words"]) == {"/one", "/three", "/words"}
    assert operators.chosen(["one"], tables=True) == {"/two", "/words"}
    assert operators.chosen(["one"], tables=False) == {"/two"}


def test_every_pattern_must_find_something():
    with pytest.raises(PlanError, match="'four' in its name; there are 2, such as /one, /words"):
        Operators({"/one": "W"}, {"/words": "E"}).named(["one", "four"])
