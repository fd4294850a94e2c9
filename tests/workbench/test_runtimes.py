"""Runtimes open late, take what their graph asks for, keep to their threads, and say what is wrong with a file."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from architectures import a_batch
from graphs import ROWS, answers, lively_encoder, tokens

from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from workbench.environment import Environment
from workbench.errors import ArtifactError
from workbench.onnx_export import export_onnx
from workbench.openvino_export import export_openvino
from workbench.runtimes import openvino_runtime
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.runtimes.openvino_runtime import OpenVinoRuntime, missing

RUNTIMES = {"onnxruntime": (OnnxRuntime, export_onnx), "openvino": (OpenVinoRuntime, export_openvino)}
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def encoder(tiny_task, tmp_path_factory):
    return lively_encoder("bert", tmp_path_factory.mktemp("lively") / "base", tiny_task)


@pytest.fixture(scope="module")
def exported(encoder, tmp_path_factory):
    """The folders of one encoder's graphs."""
    return {name: export(encoder, tmp_path_factory.mktemp(name) / "g") for name, (_, export) in RUNTIMES.items()}


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_tokenizer_that_tells_no_types_means_type_zero(name, encoder, exported):
    batch = tokens(encoder).batch(range(4))
    runtime = RUNTIMES[name][0](exported[name])
    assert not batch.pop("token_type_ids").any()
    np.testing.assert_allclose(runtime.logits(batch), encoder.runtime.logits(batch), atol=1e-5)


@pytest.mark.parametrize("strategy", [OnnxGraph(), OpenVinoGraph()], ids=lambda strategy: strategy.name)
def test_types_that_the_graph_does_not_take_are_left_out(strategy, tiny_task, make_bench, tmp_path):
    encoder = lively_encoder("distilbert", tmp_path / "base", tiny_task)
    runtime = strategy.apply(encoder, make_bench(encoder)).runtime
    batch = tokens(encoder).batch(range(4))
    typed = {**batch, "token_type_ids": np.ones_like(batch["input_ids"])}
    np.testing.assert_array_equal(runtime.logits(typed), runtime.logits(batch))


@pytest.mark.parametrize("name", RUNTIMES)
def test_one_thread_answers_as_many_do(name, encoder, exported):
    one, many = (replace(encoder, runtime=RUNTIMES[name][0](exported[name], threads)) for threads in (1, 2))
    np.testing.assert_allclose(answers(one), answers(many), atol=1e-6)


def test_onnx_runtime_keeps_to_its_threads(exported):
    options = OnnxRuntime(exported["onnxruntime"], threads=1).session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_texts_of_small_openvino_graphs_are_answered_alike_alone_and_in_company(encoder, exported):
    runtime, company = OpenVinoRuntime(exported["openvino"]), tokens(encoder).batch(range(4))
    together = runtime.logits(company)
    alone = np.concatenate([runtime.logits(tokens(encoder, ROWS[row : row + 1]).batch([0])) for row in range(4)])
    np.testing.assert_array_equal(together, alone)
    assert "compiled" not in vars(runtime)


def test_what_a_fixed_graph_answered_before_leaves_no_trace(encoder, exported):
    runtime = OpenVinoRuntime(exported["openvino"])
    long, short = ({**batch, "token_type_ids": batch["attention_mask"]} for batch in (a_batch(8), a_batch(3)))
    fresh = OpenVinoRuntime(exported["openvino"]).logits(short)
    first = runtime.logits(long)
    kept = first.copy()
    np.testing.assert_array_equal(runtime.logits(short), fresh)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_allclose(fresh, encoder.runtime.logits(short), atol=1e-5)
    assert np.abs(kept - fresh).max() > 1e-3


def test_large_openvino_graphs_are_compiled_once_for_all_lengths(encoder, exported, monkeypatch):
    small, company = OpenVinoRuntime(exported["openvino"]), tokens(encoder).batch(range(4))
    expected = small.logits(company)
    monkeypatch.setattr(openvino_runtime, "LARGEST_FIXED", 0)
    large = OpenVinoRuntime(exported["openvino"])
    large.open()
    np.testing.assert_allclose(large.logits(company), expected, atol=1e-5)
    assert "compiled" in vars(large)


def test_texts_longer_than_the_positions_tell_go_through_the_open_graph(encoder, exported, tmp_path):
    shutil.copytree(exported["openvino"], tmp_path / "graph")
    config = tmp_path / "graph" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "max_position_embeddings": 2}))
    company = tokens(encoder).batch(range(4))
    runtime = OpenVinoRuntime(tmp_path / "graph")
    np.testing.assert_allclose(
        runtime.logits(company), OpenVinoRuntime(exported["openvino"]).logits(company), atol=1e-5
    )
    assert "compiled" in vars(runtime)


def test_openvino_keeps_to_its_threads_and_to_full_float(exported):
    compiled = OpenVinoRuntime(exported["openvino"], threads=1).compiled
    assert compiled.get_property("INFERENCE_NUM_THREADS") == 1
    assert compiled.get_property("NUM_STREAMS") == 1
    assert compiled.get_property("PERFORMANCE_HINT") == "LATENCY"
    assert compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name() == "f32"


@pytest.mark.parametrize(("name", "broken"), [("onnxruntime", "model.onnx"), ("openvino", "model.xml")])
def test_a_file_that_is_no_graph_is_an_error_that_names_it(name, broken, exported, encoder, tmp_path):
    shutil.copytree(exported[name], tmp_path / "graph")
    (tmp_path / "graph" / broken).write_text("no graph", encoding="utf-8")
    runtime = RUNTIMES[name][0](tmp_path / "graph")
    with pytest.raises(ArtifactError, match=f"{broken}.*cannot open it"):
        runtime.logits(tokens(encoder, ROWS[:1]).batch([0]))


def test_what_is_missing_is_named_with_the_way_to_get_it():
    assert missing("openvino", "nncf") is None
    assert missing("openvino", "no_such_package") == (
        "no_such_package is not installed; get it by pip install 'encoder-workbench[openvino]'"
    )


LOADING = """
import sys
from pathlib import Path

class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "openvino":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Bar())
from workbench.encoder import Encoder
from workbench.errors import ArtifactError

try:
    Encoder.load(Path(sys.argv[1]))
except ArtifactError as error:
    print(error)
"""


def test_loading_an_openvino_artifact_without_openvino_says_how_to_get_it(encoder, make_bench, tmp_path):
    OpenVinoGraph().apply(encoder, make_bench(encoder)).save(tmp_path)
    command = [sys.executable, "-c", LOADING, str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    assert told.startswith(f"{tmp_path}: made for OpenVINO, but openvino is not installed")
    assert told.endswith("pip install 'encoder-workbench[openvino]'")


def child_says(code, **variables):
    own = {name: value for name, value in os.environ.items() if name != "ONEDNN_MAX_CPU_ISA"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env={**own, **variables})
    return done.stdout.strip()


INSTRUCTIONS = """
import os
from workbench.runtimes.openvino_runtime import openvino
openvino()
print(os.environ.get("ONEDNN_MAX_CPU_ISA"))
"""


def test_openvino_is_held_below_amx_unless_the_person_decides():
    there = "amx_int8" in Environment.observe().flags
    assert child_says(INSTRUCTIONS) == ("AVX512_CORE_FP16" if there else "None")
    assert child_says(INSTRUCTIONS, ONEDNN_MAX_CPU_ISA="ALL") == "ALL"


def test_encoders_can_be_opened_without_importing_any_graph_runtime():
    code = "import sys, workbench.encoder; print({'openvino', 'nncf', 'onnxruntime', 'onnx'} & set(sys.modules))"
    assert child_says(code) == "set()"
