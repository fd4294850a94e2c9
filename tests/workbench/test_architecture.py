"""What an architecture says of itself is what real models of it have, take and store, and what was published."""

import json
from functools import cache
from itertools import product

import onnx
import pytest
import torch
from architectures import MEANINGS, a_batch, architecture_of, config_of, counted, model_of, piece_named
from pydantic import ValidationError
from tiny import FAMILIES
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForSequenceClassification

from strategies.embedding_factorization import EmbeddingFactorization
from strategies.int8_dynamic import Int8Dynamic
from strategies.layer_sharing import LayerSharing, grouped
from workbench.architecture import Architecture
from workbench.architecture_counts import PIECES, PIECES_OF, disk_bytes, macs, parameters_by_part
from workbench.architecture_presets import PRESETS, preset
from workbench.errors import StudyError, UnknownNameError, UsageError
from workbench.families import layer_groups, longest_input
from workbench.inventory import PARTS
from workbench.runtimes.torch_runtime import FLOPS_A_MAC, TorchRuntime
from workbench.yaml_file import Origin, parse_model

# No two sizes are alike, so that none can stand for another.
ODD = Architecture(vocabulary=101, hidden=24, layers=5, heads=3, ffn=40, positions=33, token_types=2, labels=7)
ODDITIES = {
    "bert": ODD,
    "bert with a narrow feed-forward": ODD.changed(ffn=11),
    "roberta": ODD.changed(family="roberta", token_types=1),
    "distilbert": ODD.changed(family="distilbert", token_types=0),
    "albert": ODD.changed(family="albert", embedding_rank=10, sharing_groups=1),
    "albert in two groups": ODD.changed(family="albert", embedding_rank=10, sharing_groups=2),
    "albert with a full table and own layers": ODD.changed(family="albert"),
}
SHARED = LayerSharing.families


@cache
def weightless(name, labels=None):
    """A preset as a real model without memory, whose attention is written out so that it runs like that."""
    with torch.device("meta"):
        if not labels:
            return model_of(preset(name))
        config = config_of(preset(name).under_head(labels))
        return AutoModelForSequenceClassification.from_config(config, attn_implementation="eager").eval()


def multiplied(model, length):
    """How many multiply-accumulates each piece of a model without memory takes for one text."""
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(**{name: torch.from_numpy(values).to("meta") for name, values in a_batch(length).items()})
    flops = {name: sum(found.values()) for name, found in counter.get_flop_counts().items()}
    taken = {"attention scores": flops["Global"]}
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            spent = flops[f"{type(model).__name__}.{name}"]
            taken[piece_named(name)] = taken.get(piece_named(name), 0) + spent
            taken["attention scores"] -= spent
    return {piece: amount // FLOPS_A_MAC for piece, amount in taken.items()}


@pytest.mark.parametrize("name", ODDITIES)
def test_parameters_are_those_of_the_real_model_piece_by_piece(name):
    assert parameters_by_part(ODDITIES[name]).pieces == counted(model_of(ODDITIES[name]))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_the_parameters_of_its_model_bare_and_under_a_head(name):
    assert parameters_by_part(preset(name)).pieces == counted(weightless(name))
    assert parameters_by_part(preset(name).under_head(3)).pieces == counted(weightless(name, labels=3))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_takes_the_arithmetic_of_its_model_piece_by_piece(name):
    assert macs(preset(name).under_head(3), 37).pieces == multiplied(weightless(name, labels=3), 37)


@pytest.mark.parametrize("name", ODDITIES)
def test_arithmetic_is_what_the_torch_runtime_counts(name):
    runtime = TorchRuntime(model_of(ODDITIES[name]))
    for length in (1, 19, 31):
        assert macs(ODDITIES[name], length).total == runtime.macs(a_batch(length))


@pytest.mark.parametrize("name", ODDITIES)
def test_parts_are_those_of_the_inventory(name):
    inventory = TorchRuntime(model_of(ODDITIES[name])).inventory()
    assert parameters_by_part(ODDITIES[name]).parts == {part: inventory.of(part).total for part in PARTS}


def test_every_piece_lies_in_one_part():
    assert [piece for part in PARTS for piece in PIECES_OF[part]] == list(PIECES)


def with_masked_words(architecture):
    """The count with the head that predicts masked words: a square map, its norm, and a bias for every word."""
    head = architecture.hidden**2 + 3 * architecture.hidden + architecture.vocabulary
    return parameters_by_part(architecture).total + head


def as_published(count, published):
    """A count in millions, rounded like a published one."""
    return round(count / 1e6, 1 if isinstance(published, float) else None)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        # Turc et al., "Well-read students learn better", its table of millions of parameters.
        ("bert-tiny", 4.4),
        ("bert-mini", 11.3),
        ("bert-small", 29.1),
        ("bert-medium", 41.7),
        ("bert-base", 110.1),
        # The list of pretrained models in the documentation of transformers 4.4.
        ("bert-large", 336),
    ],
)
def test_the_published_count_of_a_bert_with_its_pretraining_head_is_met(name, published):
    assert as_published(with_masked_words(preset(name)), published) == published


@pytest.mark.parametrize(
    ("name", "published"),
    [
        # Devlin et al., "BERT", say 110 with the heads of pretraining; this is without.
        ("bert-base", 109.5),
        # The model card of sentence-transformers/all-MiniLM-L6-v2.
        ("minilm-l6", 22.7),
        # The list of models beside the code of Liu et al., "RoBERTa".
        ("roberta-base", 125),
        ("roberta-large", 355),
        # Sanh et al., "DistilBERT", table 3.
        ("distilbert-base", 66),
    ],
)
def test_the_published_count_of_an_encoder_is_met(name, published):
    assert as_published(parameters_by_part(preset(name)).total, published) == published


# The model cards of albert/albert-*-v2, which cut what is behind the point.
@pytest.mark.parametrize(("size", "published"), [("base", 11), ("large", 17), ("xlarge", 58)])
def test_the_published_count_of_an_albert_is_met(size, published):
    assert int(parameters_by_part(preset(f"albert-{size}-v2")).total / 1e6) == published


@pytest.mark.parametrize("family", SHARED)
def test_sharing_layers_gives_what_the_architecture_says(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    bench, given = make_bench(encoder), architecture_of(encoder.model.config)
    for share, untie in product(("all", "attention", "ffn"), (True, False)):
        shared = LayerSharing(groups=3, share=share, untie=untie).apply(encoder, bench)
        said = given.changed(sharing_groups=3, share=share, untie=untie)
        assert parameters_by_part(said).pieces == counted(shared.model)
        assert macs(said, 9).total == shared.runtime.macs(a_batch(9))


@pytest.mark.parametrize("family", SHARED)
def test_factorizing_the_word_table_gives_what_the_architecture_says(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    narrow = EmbeddingFactorization(rank=8).apply(encoder, make_bench(encoder))
    said = architecture_of(encoder.model.config).changed(embedding_rank=8)
    assert parameters_by_part(said).pieces == counted(narrow.model)
    assert macs(said, 9).total == narrow.runtime.macs(a_batch(9))


def test_both_halves_of_albert_together_give_what_the_architecture_says(tiny_encoder, make_bench, tmp_path):
    encoder = tiny_encoder("bert")
    for step in (EmbeddingFactorization(rank=8), LayerSharing(groups=1)):
        encoder = step.apply(encoder, make_bench(encoder))
    said = architecture_of(encoder.model.config).changed(embedding_rank=8, sharing_groups=1, untie=True)
    assert parameters_by_part(said).parts == {part: encoder.runtime.inventory().of(part).total for part in PARTS}
    encoder.save(tmp_path)
    assert disk_bytes(said, "float32").total == stored_bytes(tmp_path)


def stored_bytes(folder):
    """The bytes of a file's tensors, without the header that names them."""
    path = folder / "model.safetensors"
    header = int.from_bytes(path.read_bytes()[:8], "little")
    assert json.loads(path.read_bytes()[8 : 8 + header])
    return path.stat().st_size - 8 - header


@pytest.mark.parametrize("name", ODDITIES)
def test_bytes_on_disk_are_those_of_the_saved_weights(name, tmp_path):
    for dtype, folder in (("float32", tmp_path / "whole"), ("float16", tmp_path / "half")):
        folder.mkdir()
        TorchRuntime(model_of(ODDITIES[name]).to(getattr(torch, dtype))).save(folder)
        assert disk_bytes(ODDITIES[name], dtype).total == stored_bytes(folder)


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_bytes_in_int8_are_those_of_the_weights_and_scales_of_int8_dynamic(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    Int8Dynamic().apply(encoder, make_bench(encoder)).runtime.save(tmp_path)
    kinds = {onnx.TensorProto.FLOAT, onnx.TensorProto.INT8, onnx.TensorProto.UINT8}
    stored = [
        onnx.numpy_helper.to_array(tensor).nbytes
        for tensor in onnx.load(tmp_path / "model.onnx").graph.initializer
        if tensor.data_type in kinds and not tensor.name.endswith("zero_point")
    ]
    assert disk_bytes(architecture_of(encoder.model.config), "int8").total == sum(stored)


@pytest.mark.parametrize("name", ODDITIES)
def test_the_longest_text_and_the_sharing_of_layers_are_those_of_the_real_model(name):
    architecture, config = ODDITIES[name], config_of(ODDITIES[name])
    assert architecture.longest == longest_input(config)
    assert [architecture.worn_by(layer, "ffn") for layer in range(5)] == layer_groups(config)


def test_neighbours_wear_the_same_weights_as_in_layer_sharing():
    shared = ODD.changed(sharing_groups=3, share="attention")
    groups = grouped(5, 3, "sequence")
    assert [[layer for layer in range(5) if shared.worn_by(layer, "attention") == one] for one in range(3)] == groups
    assert [shared.worn_by(layer, "ffn") for layer in range(5)] == list(range(5))


@pytest.mark.parametrize("family", FAMILIES)
def test_an_architecture_read_from_a_model_is_the_one_the_model_was_built_from(family, tiny_encoder):
    config = tiny_encoder(family).model.config
    again = config_of(architecture_of(config))
    assert architecture_of(again) == architecture_of(config)
    assert architecture_of(config).hidden == 32 and set(MEANINGS) <= set(Architecture.model_fields)


def test_no_sharing_may_be_said_as_nought():
    assert ODD.changed(sharing_groups=0) == ODD
    assert ODD.changed(sharing_groups=0).sharing_groups is None


def test_what_an_architecture_has_not_is_absent():
    bare = preset("distilbert-base")
    assert not {"type embeddings", "embedding map", "pooler", "classifier"} & parameters_by_part(bare).pieces.keys()
    assert macs(bare, 8).pieces.keys() == {"attention", "attention scores", "feed-forward"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"heads": 5}, "5 heads do not divide a width of 24"),
        ({"sharing_groups": 6}, "5 layers cannot wear 6 sets of weights; give at most 5"),
        ({"embedding_rank": 25}, "25 is wider than the encoder; give at most 24"),
        ({"hidden": 0}, "hidden: Input should be greater than 0"),
        ({"layers": -1}, "layers: Input should be greater than 0"),
        ({"labels": 0}, "labels: Input should be greater than 0"),
        ({"sharing_groups": -1}, "sharing_groups: Input should be greater than 0"),
        ({"family": "distilbert"}, "DistilBERT has no types; give 0"),
        ({"token_types": 0}, "bert looks a type up for every token; give at least 1"),
        ({"family": "albert", "untie": True}, "ALBERT shares whole layers"),
        ({"family": "albert", "share": "ffn"}, "ALBERT shares whole layers"),
        ({"family": "roberta", "positions": 2}, "roberta never reaches the first 2"),
        ({"family": "gpt"}, "family: Input should be 'bert', 'roberta', 'albert' or 'distilbert'"),
        ({"width": 3}, "unknown key 'width'"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_in_words(changes, said):
    with pytest.raises(ValidationError):
        ODD.changed(**changes)
    with pytest.raises(StudyError) as refused:
        parse_model(Architecture, {**ODD.model_dump(), **changes}, Origin(), what="an architecture")
    assert said in str(refused.value)


@pytest.mark.parametrize("length", [0, 32])
def test_a_text_that_does_not_fit_is_refused_in_words(length):
    with pytest.raises(UsageError, match=f"a text of {length} tokens does not fit; give 1 to 31"):
        macs(ODDITIES["roberta"], length)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"did you mean 'albert-base-v2'\? known:.*bert-tiny.*roberta-large"):
        preset("albert-base-v1")
