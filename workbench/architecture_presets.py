"""Architecture presets: published encoders by name, as their configurations give them, without a task's head."""

from __future__ import annotations

from typing import Any

from workbench.architecture import Architecture
from workbench.errors import UnknownNameError
from workbench.shapes import SHAPES, Shape

# The English vocabularies are WordPiece for BERT (uncased), byte-level BPE for RoBERTa, SentencePiece for ALBERT.
BERT: dict[str, Any] = {"family": "bert", "vocabulary": 30_522}
ROBERTA: dict[str, Any] = {"family": "roberta", "vocabulary": 50_265, "positions": 514, "token_types": 1}
ALBERT: dict[str, Any] = {"family": "albert", "vocabulary": 30_000, "embedding_rank": 128, "sharing_groups": 1}
DISTILBERT: dict[str, Any] = {"family": "distilbert", "vocabulary": 30_522, "token_types": 0, "pooler": False}


def preset(name: str) -> Architecture:
    """Find a published architecture by its name."""
    if name not in PRESETS:
        raise UnknownNameError("architecture", name, PRESETS)
    return PRESETS[name]


def _of(kind: dict[str, Any], shape: Shape) -> Architecture:
    return Architecture.model_validate({**kind, **shape._asdict()})


PRESETS: dict[str, Architecture] = {
    # Turc et al., "Well-read students learn better" (2019), and Devlin et al., "BERT" (2018).
    **{name: _of(BERT, shape) for name, shape in SHAPES.items()},
    # Wang et al., "MiniLM" (2020), every second layer of its L12-H384: the configuration of all-MiniLM-L6-v2.
    "minilm-l6": _of(BERT, Shape(6, 384, 12, 1536)),
    # Liu et al., "RoBERTa" (2019).
    "roberta-base": _of(ROBERTA, SHAPES["bert-base"]),
    "roberta-large": _of(ROBERTA, SHAPES["bert-large"]),
    # Lan et al., "ALBERT" (2019), with the heads of the released version 2.
    "albert-base-v2": _of(ALBERT, SHAPES["bert-base"]),
    "albert-large-v2": _of(ALBERT, SHAPES["bert-large"]),
    "albert-xlarge-v2": _of(ALBERT, Shape(24, 2048, 16, 8192)),
    # Sanh et al., "DistilBERT" (2019); its encoder has neither types nor a pooler.
    "distilbert-base": _of(DISTILBERT, Shape(6, 768, 12, 3072)),
}
