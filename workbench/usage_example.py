"""Usage examples: what opens an exported encoder, and the short program beside it that runs by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from string import Template

from workbench.lineage import Manifest

EXAMPLE = "example.py"
TEXTS = ("This is a text.", "This is another one.")

WITH_TRANSFORMERS = """\
import sys
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

here = Path(__file__).resolve().parent
texts = sys.argv[1:$end] or $texts
tokenizer = AutoTokenizer.from_pretrained(here)
model = AutoModelForSequenceClassification.from_pretrained(here)
tokens = tokenizer(*texts, truncation=True, return_tensors="pt")
with torch.inference_mode():
    logits = model(**tokens).logits[0]
labels = model.config.id2label
"""

WITH_ONNX_RUNTIME = """\
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from transformers import AutoConfig, AutoTokenizer

here = Path(__file__).resolve().parent
texts = sys.argv[1:$end] or $texts
tokens = AutoTokenizer.from_pretrained(here)(*texts, truncation=True, return_tensors="np")
zeros = np.zeros_like(tokens["input_ids"])  # some tokenizers tell no token types
session = onnxruntime.InferenceSession(here / "model.onnx", providers=["CPUExecutionProvider"])
logits = session.run(["logits"], {asked.name: tokens.get(asked.name, zeros) for asked in session.get_inputs()})[0][0]
labels = AutoConfig.from_pretrained(here).id2label
"""

WITH_OPENVINO = """\
import os
import sys
from pathlib import Path

import numpy as np
from transformers import AutoConfig, AutoTokenizer

# Some virtual machines announce AMX and fail at it; leave this out where it is real.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")
import openvino

here = Path(__file__).resolve().parent
texts = sys.argv[1:$end] or $texts
tokens = AutoTokenizer.from_pretrained(here)(*texts, truncation=True, return_tensors="np")
zeros = np.zeros_like(tokens["input_ids"])  # some tokenizers tell no token types
# For many texts, reshape the model to a few fixed lengths and pad to them: open lengths cost a small model dearly.
model = openvino.Core().compile_model(here / "model.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
logits = model([tokens.get(asked.any_name, zeros) for asked in model.inputs])["logits"][0]
labels = AutoConfig.from_pretrained(here).id2label
"""

WITH_WORKBENCH = """\
import sys
from pathlib import Path

from workbench.predicting import Predictor

here = Path(__file__).resolve().parent
texts = sys.argv[1:$end] or $texts
(answered,) = Predictor().answers({"this": here}, [tuple(texts)])
answer = answered.answers["this"]
"""

SHARES = """\
print(labels[int(logits.argmax())])
for number, share in enumerate(shares):
    print(f"{labels[number]}: {share:.4f}")
"""
TORCH_SHARES = f"shares = logits.softmax(-1).tolist()\n{SHARES}"
NUMPY_SHARES = f"shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()\n{SHARES}"
WORKBENCH_SHARES = """\
print(answer.label)
for label, share in answer.probabilities.items():
    print(f"{label}: {share:.4f}")
"""
SCORE = 'print(f"score: {logits[0]:.4f}")\n'
WORKBENCH_SCORE = 'print(f"score: {answer.score:.4f}")\n'


@dataclass(frozen=True)
class Opener:
    """What opens an exported folder: its name on the hub, what to install, a sentence, and the example's pieces."""

    library: str
    packages: str
    about: str
    begin: str
    shares: str
    score: str


OPENERS = {
    "transformers": Opener(
        "transformers",
        "transformers torch",
        "Stock `transformers` classes open this folder.",
        WITH_TRANSFORMERS,
        TORCH_SHARES,
        SCORE,
    ),
    "workbench": Opener(
        "encoder-workbench",
        "encoder-workbench",
        "No stock `transformers` class has this model's shape, so this folder opens with the encoder workbench, which "
        "rebuilds it from `workbench.json`.",
        WITH_WORKBENCH,
        WORKBENCH_SHARES,
        WORKBENCH_SCORE,
    ),
    "onnxruntime": Opener(
        "onnx",
        "onnxruntime transformers",
        "ONNX Runtime runs `model.onnx`; `transformers` makes the tokens.",
        WITH_ONNX_RUNTIME,
        NUMPY_SHARES,
        SCORE,
    ),
    "openvino": Opener(
        "openvino",
        "openvino transformers",
        "OpenVINO runs `model.xml` with `model.bin`; `transformers` makes the tokens.",
        WITH_OPENVINO,
        NUMPY_SHARES,
        SCORE,
    ),
}


def opener_of(manifest: Manifest) -> Opener:
    """What opens a folder with this manifest."""
    if manifest.runtime == "torch":
        return OPENERS["transformers" if manifest.portable else "workbench"]
    return OPENERS[manifest.runtime]


def usage_example(manifest: Manifest) -> str:
    """A program that answers the texts it is given, or texts of its own, with the model of the folder it stands in."""
    opener, lineage = opener_of(manifest), manifest.lineage
    texts = TEXTS[: lineage.text_count]
    begin = Template(opener.begin).substitute(end=1 + len(texts), texts=json.dumps(texts))
    given = ' "your text"' * len(texts)
    return f"# Use it: python {EXAMPLE}{given}\n{begin}{opener.shares if lineage.labels else opener.score}"
