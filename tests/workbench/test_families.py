"""Each family's map fits its real models, and layers can be taken out of a copy of any of them."""

import copy
import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import FAMILIES as NAMES
from tiny import LAYERS, sentences, study_of, write_base
from transformers import AutoConfig, ElectraConfig, GPT2Config

from workbench.bases import read_config
from workbench.errors import BaseModelError, PlanError
from workbench.families import (
    FAMILIES,
    check_family,
    check_layers,
    family_of,
    layer_groups,
    layers_of,
    longest_input,
    part,
    quantity,
    with_layers,
)
from workbench.finetuned import OpenedBase
from workbench.study import Base
from workbench.tasks.task import Row
from workbench.tokens import tokenize

ROWS = [Row(str(n), (text,), 0) for n, (text, _) in enumerate(sentences(5, 8))]


@pytest.fixture(params=NAMES)
def encoder(request, tiny_encoder):
    return tiny_encoder(request.param)


def size(module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_four_families_are_known_and_no_other():
    assert sorted(FAMILIES) == sorted(NAMES)


def test_every_path_of_the_map_leads_to_a_part_of_the_real_model(encoder):
    model = encoder.model
    family = family_of(model.config)
    assert part(model, family.backbone) is model.base_model
    assert part(model, family.word_embeddings) is model.get_input_embeddings()
    assert len(layers_of(model)) == (1 if family.shares_layers else LAYERS)
    for path in family.head:
        assert size(part(model, path)) > 0


def test_backbone_and_head_together_are_the_whole_model(encoder):
    family = family_of(encoder.model.config)
    covered = {id(p) for path in (family.backbone, *family.head) for p in part(encoder.model, path).parameters()}
    assert covered == {id(parameter) for parameter in encoder.model.parameters()}


def test_quantities_are_read_under_the_family_s_own_names(encoder):
    config = encoder.model.config
    assert quantity(config, "num_hidden_layers") == LAYERS
    assert quantity(config, "hidden_size") == 32
    assert quantity(config, "num_attention_heads") == 4
    assert quantity(config, "intermediate_size") == 64


def test_keeping_half_of_the_layers_halves_the_layer_parameters(encoder):
    shorter = with_layers(encoder.model, [0, 2])
    share = 1 if family_of(encoder.model.config).shares_layers else 2
    assert size(layers_of(encoder.model)) == share * size(layers_of(shorter))
    assert quantity(shorter.config, "num_hidden_layers") == 2
    assert size(shorter) - size(layers_of(shorter)) == size(encoder.model) - size(layers_of(encoder.model))


def test_the_given_model_stays_as_it_was(encoder):
    before = copy.deepcopy(encoder.model.state_dict())
    settings = encoder.model.config.to_dict()
    answers = encoder.logits(tokenize(encoder.tokenizer, ROWS))
    shorter = with_layers(encoder.model, [1, 3])
    with torch.no_grad():
        for parameter in shorter.parameters():
            parameter.zero_()
    assert encoder.model.config.to_dict() == settings
    assert all(torch.equal(before[name], value) for name, value in encoder.model.state_dict().items())
    np.testing.assert_array_equal(encoder.logits(tokenize(encoder.tokenizer, ROWS)), answers)


@pytest.mark.parametrize("family", [name for name in NAMES if name != "albert"])
def test_the_kept_layers_are_the_named_ones_in_their_order(family, tiny_encoder):
    model = tiny_encoder(family).model
    shorter = with_layers(model, [1, 3])
    for old, new in ((1, 0), (3, 1)):
        mine, theirs = layers_of(model)[old].state_dict(), layers_of(shorter)[new].state_dict()
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_keeping_all_layers_keeps_the_answers(encoder):
    same = with_layers(encoder.model, range(LAYERS))
    batch = encoder.tokenizer([ROWS[0].texts[0]], return_tensors="pt")
    with torch.inference_mode():
        # Some processors add up in another order where the copied weights lie otherwise in memory.
        torch.testing.assert_close(same(**batch).logits, encoder.model(**batch).logits, rtol=0, atol=1e-7)


def test_a_shortened_model_runs_and_answers_otherwise(encoder):
    shorter = with_layers(encoder.model, [0])
    batch = encoder.tokenizer([ROWS[0].texts[0]], return_tensors="pt")
    with torch.inference_mode():
        assert not torch.allclose(shorter(**batch).logits, encoder.model(**batch).logits)


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ([], "keep names no layer"),
        ([0, 4], "keep names layer 4, but the encoder has layers 0 to 3"),
        ([-1], "keep names layer -1"),
        ([2, 0], "in ascending order"),
        ([1, 1], "each layer once"),
    ],
)
def test_a_list_of_layers_that_cannot_be_kept_is_refused(keep, words, encoder):
    with pytest.raises(PlanError, match=words):
        with_layers(encoder.model, keep)


def albert_config(layers: int, groups: int):
    return AutoConfig.for_model("albert", num_hidden_layers=layers, num_hidden_groups=groups)


def test_an_albert_of_one_group_can_be_cut_to_any_length():
    for keep in ([0], [3], [0, 1, 2], [1, 5, 11]):
        assert layer_groups(albert_config(len(keep), 1)) == [0] * len(keep)
        check_layers(albert_config(12, 1), keep)


@pytest.mark.parametrize("keep", [[0, 1], [3, 4, 5], [0, 3, 4], [4], [0]])
def test_an_albert_of_two_groups_must_stay_even(keep):
    with pytest.raises(PlanError, match=f"spreads 2 groups evenly over its layers; keeping {re.escape(str(keep))}"):
        check_layers(albert_config(6, 2), keep)


def groups_used(model) -> list[int]:
    """Which layer groups an ALBERT goes through, in order, when it runs."""
    used: list[int] = []
    groups = enumerate(layers_of(model))
    holds = [group.register_forward_hook(lambda *_, number=number: used.append(number)) for number, group in groups]
    with torch.inference_mode():
        model(torch.tensor([[2, 5, 3]]))
    for hold in holds:
        hold.remove()
    return used


def test_every_way_to_shorten_an_albert_of_two_groups_keeps_each_layer_s_group_or_is_refused(tiny_task, tmp_path):
    opened = OpenedBase.open(study_of(write_base("albert", tmp_path, num_hidden_groups=2), tiny_task))
    model = opened.untrained(tiny_task.declared(Path()), 0).model
    before = groups_used(model)
    assert before == [0, 0, 1, 1]
    accepted = []
    for count in range(1, LAYERS + 1):
        for keep in combinations(range(LAYERS), count):
            try:
                shorter = with_layers(model, keep)
            except PlanError:
                continue
            assert groups_used(shorter) == [before[index] for index in keep]
            accepted.append(keep)
    assert {(0, 2), (1, 3), (0, 1, 2), (0, 1, 2, 3)} <= set(accepted)
    assert not {(0, 1), (2, 3), (2,), (0, 2, 3)} & set(accepted)


@pytest.mark.parametrize("config", [GPT2Config(n_layer=1), ElectraConfig(num_hidden_layers=1)], ids=["gpt2", "electra"])
def test_another_architecture_is_refused_with_the_supported_ones(config, tmp_path):
    config.save_pretrained(tmp_path)
    expected = "is not supported; supported: bert, roberta, albert, distilbert"
    with pytest.raises(BaseModelError, match=expected):
        family_of(config)
    with pytest.raises(BaseModelError, match=f"base './mine': architecture '{config.model_type}' {expected}"):
        read_config(Base(name="./mine"), tmp_path)


@pytest.mark.parametrize("name", [None, "", "BERT", "xlm-roberta"])
def test_a_name_that_is_no_family_is_refused(name):
    with pytest.raises(BaseModelError, match="is not supported"):
        check_family(name)


def test_a_configuration_without_an_architecture_is_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 32}))
    with pytest.raises(BaseModelError, match="architecture None is not supported"):
        read_config(Base(name="./mine"), tmp_path)


@pytest.mark.parametrize(("family", "longest"), [("bert", 64), ("roberta", 62), ("albert", 64), ("distilbert", 64)])
def test_the_longest_input_just_fits_into_the_position_table(family, longest, tiny_encoder):
    encoder = tiny_encoder(family)
    assert longest_input(encoder.model.config) == longest
    ids = torch.full((1, longest), 5)
    with torch.inference_mode():
        assert encoder.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.shape == (1, 2)
        with pytest.raises((IndexError, RuntimeError)):
            encoder.model(input_ids=torch.full((1, longest + 1), 5))
