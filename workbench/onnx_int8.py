"""ONNX graphs in int8, through optimum: calibrated ranges, chosen nodes, products that give float.

Weights become signed and activations unsigned bytes of the full range, which is what the dot-product instructions of
AVX-512 VNNI and later take; without them, sums of such bytes may saturate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.onnx_export import LOOKUP, PRODUCTS
from workbench.runtimes.onnx_runtime import GRAPH_FILE
from workbench.silence import silenced
from workbench.tokens import Tokens

Calibration = Literal["minmax", "entropy", "percentile"]
METHODS = {"minmax": "MinMax", "entropy": "Entropy", "percentile": "Percentile"}
HISTOGRAMS: dict[str, dict[str, Any]] = {
    "minmax": {},
    "entropy": {"num_bins": 128, "num_quantized_bins": 128},
    "percentile": {"num_bins": 2048, "percentile": 99.99},
}


def calibrated_ranges(exported: Path, tokens: Tokens, method: Calibration, workplace: Path) -> Any:
    """Run every example through a graph by itself, unpadded, and give the range of each tensor.

    What is kept of an example are its extremes; for histograms its tensors, but never those of two examples.
    """
    from onnxruntime.quantization import CalibrationMethod
    from optimum.onnxruntime import ORTQuantizer
    from optimum.onnxruntime.configuration import CalibrationConfig

    settings = CalibrationConfig(
        dataset_name="calibrate",
        dataset_config_name="",
        dataset_split="calibrate",
        dataset_num_samples=len(tokens),
        method=CalibrationMethod[METHODS[method]],
        moving_average=False,
        averaging_constant=0.01,
        **HISTOGRAMS[method],
    )
    quantizer = ORTQuantizer.from_pretrained(exported, file_name=GRAPH_FILE)
    examples = _examples(exported, tokens)
    with silenced():
        for some in [examples] if method == "minmax" else ([example] for example in examples):
            quantizer.partial_fit(some, settings, str(workplace / "augmented.onnx"), [*PRODUCTS, LOOKUP])
            # Naming the method again would start a new calibrator and forget what the last one saw.
            settings = replace(settings, method=None)
        return quantizer.compute_ranges()


def quantize_onnx(
    exported: Path, target: Path, nodes: Collection[str], per_channel: bool = True, ranges: Any = None
) -> Path:
    """Write an exported graph with some of its products and lookups in int8.

    With ``ranges``, activations are quantized by them; without, by what each batch brings.
    """
    from optimum.onnxruntime import ORTQuantizer
    from optimum.onnxruntime.configuration import AutoQuantizationConfig

    settings = AutoQuantizationConfig.avx512_vnni(
        is_static=ranges is not None,
        per_channel=per_channel,
        operators_to_quantize=[*PRODUCTS, LOOKUP],
        # Without ranges, a Gemm is first taken apart, and this is what its product is called then.
        nodes_to_quantize=sorted(nodes) + sorted(f"{node}_MatMul" for node in nodes),
    )
    quantizer = ORTQuantizer.from_pretrained(exported, file_name=GRAPH_FILE)
    with silenced():
        quantizer.quantize(settings, save_dir=target, file_suffix=None, calibration_tensors_range=ranges)
    if ranges is not None:
        _give_float(target / GRAPH_FILE)
    return target


def _examples(exported: Path, tokens: Tokens) -> Iterable[dict[str, NDArray[np.int64]]]:
    import onnx

    inputs = [given.name for given in onnx.load(exported / GRAPH_FILE).graph.input]
    for index in range(len(tokens)):
        batch = tokens.batch([index])
        blank = np.zeros_like(batch["input_ids"])
        yield {name: batch.get(name, blank)[0] for name in inputs}


def _give_float(path: Path) -> None:
    """Let products hand their results on in float, except to a product that takes them quantized.

    The quantizer squeezes every result into 8 bits once more, which is most of the harm it does and saves no time.
    """
    import onnx

    model = onnx.load(path)
    graph = model.graph
    makers = {output: node for node in graph.node for output in node.output}
    sources = {node.output[0]: _float_source(node, makers) for node in graph.node}
    for node in graph.node:
        if node.op_type not in PRODUCTS:
            node.input[:] = [sources.get(name) or name for name in node.input]
    for output in graph.output:
        if sources[output.name]:
            _rename(graph, sources[output.name], output.name, makers)
    _sweep(graph)
    onnx.save(model, path)


def _float_source(node: Any, makers: dict[str, Any]) -> str:
    """The result of a product that a dequantizing node gives back, or nothing."""
    before = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
    product = makers.get(before.input[0]) if before is not None and before.op_type == "QuantizeLinear" else None
    return str(before.input[0]) if before is not None and product is not None and product.op_type in PRODUCTS else ""


def _rename(graph: Any, old: str, new: str, makers: dict[str, Any]) -> None:
    makers[new].output[0] = f"{new}_dequantized"
    for node in graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        node.output[:] = [new if name == old else name for name in node.output]


def _sweep(graph: Any) -> None:
    """Take out the nodes and numbers that nobody uses any more."""
    results = {output.name for output in graph.output}
    while True:
        used = {name for node in graph.node for name in node.input} | results
        idle = [node for node in graph.node if not used.intersection(node.output)]
        if not idle:
            break
        for node in idle:
            graph.node.remove(node)
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)
