"""Size and arithmetic: closed forms for every family, the same in every runtime and type, and what the probe says."""

from functools import cache

import pytest
from architectures import a_batch, architecture_of
from graphs import bench_for, lively_encoder, tokens
from tiny import FAMILIES, sentences
from torch import nn
from transformers import AutoModelForSequenceClassification

from strategies.embedding_factorization import EmbeddingFactorization
from strategies.int8_dynamic import Int8Dynamic
from strategies.int8_static import Int8Static
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from strategies.openvino_int8 import OpenVinoInt8
from workbench.architecture_counts import macs
from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.families import layers_of
from workbench.inventory import PARTS
from workbench.probes.probe import Subject
from workbench.probes.size import Size
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.tasks.task import Row

SHARED_BIASES = 4 * 32 + 64 + 32
FORMS = {
    form.name: form
    for form in (OnnxGraph(), Int8Dynamic(), Int8Static(rows=16), OpenVinoGraph(), OpenVinoInt8(rows=16))
}


def closed_form(config, length):
    """What a model takes for one text."""
    return macs(architecture_of(config), length).total


@pytest.fixture(scope="module")
def forms(tiny_task, tmp_path_factory):
    """Gives an encoder of a family and all its graphs, made once."""

    @cache
    def give(family):
        folder = tmp_path_factory.mktemp(family)
        given = lively_encoder(family, folder / "base", tiny_task)
        made = {
            name: form.apply(given, bench_for(given, tiny_task, folder / name)).runtime for name, form in FORMS.items()
        }
        return given, made

    return give


@pytest.mark.parametrize("length", [1, 5, 24])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_takes_the_arithmetic_of_its_closed_form(family, length, tiny_encoder):
    encoder = tiny_encoder(family)
    assert encoder.runtime.macs(a_batch(length)) == closed_form(encoder.model.config, length)


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_is_computed_as_well(family, tiny_encoder):
    encoder = tiny_encoder(family)
    assert encoder.runtime.macs(a_batch(9, rows=3, padded=4)) == 3 * closed_form(encoder.model.config, 9)


def test_attention_written_out_takes_as_much_as_attention_in_one(tiny_encoder):
    config = tiny_encoder("bert").model.config
    written_out = AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
    assert written_out.config._attn_implementation == "eager"
    assert TorchRuntime(written_out).macs(a_batch(9)) == closed_form(config, 9)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_graph_takes_the_arithmetic_of_its_model(family, name, forms):
    given, made = forms(family)
    assert made[name].macs(a_batch(11)) == closed_form(given.model.config, 11)
    assert made[name].macs(a_batch(6, rows=3, padded=2)) == 3 * closed_form(given.model.config, 6)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_graph_has_the_parameters_of_its_model_part_by_part(family, name, forms):
    given, made = forms(family)
    ours, theirs = made[name].inventory(), given.runtime.inventory()
    more = {part: ours.of(part).total - theirs.of(part).total for part in PARTS}
    # Bias correction gives each use of ALBERT's shared layers biases of its own.
    allowed = SHARED_BIASES if (family, name) == ("albert", "openvino-int8") else 0
    assert more["embeddings"] == more["head"] == 0
    assert 0 <= more["encoder"] <= allowed


def numbers(model):
    """How many parameters are in word, position and type tables, in other matrices, and in vectors."""
    tables = sum(module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding))
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() == 2) - tables
    return tables, matrices, sum(parameter.numel() for parameter in model.parameters() if parameter.dim() == 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_bytes_by_type_say_what_is_stored_as_what(family, forms):
    given, made = forms(family)
    tables, matrices, vectors = numbers(given.model)
    in_head = 32 + 2
    sizes = {name: runtime.inventory().bytes_by_dtype for name, runtime in made.items()}
    assert sizes["onnx"] == sizes["openvino"] == {"float32": 4 * (tables + matrices + vectors)}
    assert sizes["int8-dynamic"] == {"float32": 4 * vectors, "int8": matrices, "uint8": tables}
    assert sizes["int8-static"] == {
        "float32": 4 * (vectors - in_head),
        "int32": 4 * in_head,
        "int8": matrices,
        "uint8": tables,
    }
    small = sizes["openvino-int8"]
    assert small.keys() == {"float32", "int8"} and small["int8"] == tables + matrices


@pytest.mark.parametrize("family", FAMILIES)
def test_dropping_half_of_the_layers_halves_the_arithmetic_of_layers(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    shorter = LayerDrop(layers=2).apply(encoder, make_bench(encoder))
    saved = encoder.runtime.macs(a_batch(9)) - shorter.runtime.macs(a_batch(9))
    assert 2 * saved == macs(architecture_of(encoder.model.config), 9).parts["encoder"]
    assert len(layers_of(shorter.model)) == (1 if family == "albert" else 2)


@pytest.mark.parametrize("graph", [None, OnnxGraph()], ids=["torch", "onnx"])
def test_sharing_layers_saves_parameters_and_no_arithmetic(graph, lively, make_bench):
    encoder = lively("bert")
    shared = LayerSharing(groups=2).apply(encoder, make_bench(encoder))
    runtimes = [(graph.apply(given, make_bench(given)) if graph else given).runtime for given in (encoder, shared)]
    before, after = (runtime.inventory() for runtime in runtimes)
    assert before.of("encoder").total - after.of("encoder").total == 2 * (4 * 32 * 32 + 2 * 32 * 64)
    assert runtimes[0].macs(a_batch(9)) == runtimes[1].macs(a_batch(9))


@pytest.mark.parametrize(
    "graph", [None, Int8Dynamic(), OpenVinoGraph()], ids=lambda form: form.name if form else "torch"
)
def test_a_factorized_table_takes_the_arithmetic_of_its_map(graph, lively, make_bench):
    encoder = lively("bert")
    narrow = EmbeddingFactorization(rank=8).apply(encoder, make_bench(encoder))
    runtime = (graph.apply(narrow, make_bench(narrow)) if graph else narrow).runtime
    assert runtime.macs(a_batch(9)) - encoder.runtime.macs(a_batch(9)) == 9 * 8 * 32
    assert runtime.inventory().of("embeddings").total < encoder.runtime.inventory().of("embeddings").total


def subject_of(encoder, folder, task, **tests):
    artifact = folder / "artifact"
    artifact.mkdir(parents=True)
    encoder.save(artifact)
    return Subject(
        encoder=Encoder.load(artifact),
        artifact=artifact,
        task=task.declared(folder),
        tests=tests,
        reference=None,
        out=folder,
        cache=Cache(folder / "cache"),
    )


def rows(count, seed):
    return tuple(Row(str(index), (text,), 0) for index, (text, _) in enumerate(sentences(count, seed)))


def measured(subject):
    return {found.metric: found for found in Size().measure(subject)}


def test_the_probe_tells_every_size_with_its_unit_and_direction(tiny_encoder, make_bench, tiny_task, tmp_path):
    encoder = tiny_encoder("bert")
    graph = Int8Dynamic().apply(encoder, make_bench(encoder))
    found = measured(subject_of(graph, tmp_path, tiny_task, test=rows(8, 1)))
    counts = ["parameters", "parameters/embeddings", "parameters/encoder", "parameters/head"]
    in_bytes = ["disk", "disk/weights", "disk/tokenizer", "disk/rest", "bytes/float32", "bytes/int8", "bytes/uint8"]
    assert {name: (given.unit, given.better) for name, given in found.items()} == {
        **dict.fromkeys(in_bytes, ("bytes", "lower")),
        **dict.fromkeys(counts, ("count", "lower")),
        "parameters/zeroed": ("count", "neither"),
        "tokens": ("tokens", "neither"),
        "macs": ("MACs", "lower"),
    }
    inventory = graph.runtime.inventory()
    assert [found[name].value for name in counts] == [inventory.total, *(inventory.of(part).total for part in PARTS)]
    assert found["parameters/zeroed"].value == inventory.zeroed
    assert found["bytes/int8"].value == inventory.bytes_by_dtype["int8"]


def test_every_file_but_the_manifest_is_on_disk(tiny_encoder, tiny_task, tmp_path):
    subject = subject_of(tiny_encoder("roberta"), tmp_path, tiny_task, test=rows(4, 1))
    found = measured(subject)
    sizes = {path.name: path.stat().st_size for path in subject.artifact.iterdir()}
    del sizes["workbench.json"]
    assert found["disk"].value == sum(sizes.values())
    assert found["disk/weights"].value == sizes["model.safetensors"]
    assert found["disk/rest"].value == sizes["config.json"]
    assert sum(found[f"disk/{sort}"].value for sort in ("weights", "tokenizer", "rest")) == found["disk"].value


@pytest.mark.parametrize("family", FAMILIES)
def test_arithmetic_is_that_of_a_text_of_the_mean_length_of_all_test_rows(family, tiny_encoder, tiny_task, tmp_path):
    encoder = tiny_encoder(family)
    parts = {"matched": rows(7, 1), "mismatched": rows(20, 2)}
    found = measured(subject_of(encoder, tmp_path, tiny_task, **parts))
    mean = float(tokens(encoder, [*parts["matched"], *parts["mismatched"]]).lengths.mean())
    assert found["tokens"].value == pytest.approx(mean)
    assert found["macs"].value == closed_form(encoder.model.config, round(mean))


def test_where_no_row_has_the_mean_length_a_longer_one_is_cut(tiny_encoder, tiny_task, tmp_path):
    encoder = tiny_encoder("bert")
    texts = ("film", "the film was great great great great")
    short, long = (Row(str(index), (text,), 0) for index, text in enumerate(texts))
    lengths = tokens(encoder, [short, long]).lengths
    found = measured(subject_of(encoder, tmp_path, tiny_task, test=(short, long)))
    assert lengths.tolist() == [3, 9]
    assert found["tokens"].value == 6
    assert found["macs"].value == closed_form(encoder.model.config, 6)
