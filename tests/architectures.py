"""Real models of an architecture, an architecture of a real model, a batch for it, and the piece of each weight."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from workbench.architecture import Architecture
from workbench.architecture_counts import Piece
from workbench.families import check_family, family_of, quantity
from workbench.tokens import Batch

MEANINGS = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "ffn": "intermediate_size",
}
# The first that is found in a name tells the piece.
PIECES: dict[str, Piece] = {
    r"word_embeddings\.widen|embedding_hidden_mapping_in": "embedding map",
    r"word_embeddings": "word embeddings",
    r"position_embeddings": "position embeddings",
    r"token_type_embeddings": "type embeddings",
    r"embeddings\.LayerNorm": "embedding norm",
    r"LayerNorm|layer_norm": "layer norms",
    r"attention": "attention",
    r"intermediate|output\.dense|ffn": "feed-forward",
    r"pooler|pre_classifier|classifier\.dense": "pooler",
    r"classifier": "classifier",
}


def config_of(architecture: Architecture) -> Any:
    """The transformers configuration of an architecture that a stock model can have."""
    sizes = {
        check_family(architecture.family).key(meaning): getattr(architecture, name)
        for name, meaning in MEANINGS.items()
    }
    narrow = {
        "embedding_size": architecture.word_width,
        "num_hidden_groups": architecture.sharing_groups or architecture.layers,
    }
    return AutoConfig.for_model(
        architecture.family,
        vocab_size=architecture.vocabulary,
        max_position_embeddings=architecture.positions,
        type_vocab_size=architecture.token_types,
        num_labels=architecture.labels or 2,
        pad_token_id=1 if architecture.family == "roberta" else 0,
        **sizes,
        **(narrow if architecture.family == "albert" else {}),
    )


def model_of(architecture: Architecture) -> Any:
    """A stock model of an architecture: with its classifier, or the bare encoder."""
    kind = AutoModelForSequenceClassification if architecture.labels else AutoModel
    return kind.from_config(config_of(architecture)).eval()


def architecture_of(config: Any) -> Architecture:
    """The architecture of a stock classifier, from its configuration."""
    family = family_of(config)
    return Architecture(
        family=family.name,
        vocabulary=config.vocab_size,
        positions=config.max_position_embeddings,
        token_types=0 if "token_types" in family.lacks else config.type_vocab_size,
        embedding_rank=config.embedding_size if family.shares_layers else None,
        sharing_groups=config.num_hidden_groups if family.shares_layers else None,
        labels=config.num_labels,
        **{name: quantity(config, meaning) for name, meaning in MEANINGS.items()},
    )


def a_batch(length: int, rows: int = 1, padded: int = 0) -> Batch:
    """Rows of one and the same token; the first may end in padding."""
    mask = np.ones((rows, length), np.int64)
    mask[0, length - padded :] = 0
    return {"input_ids": np.full((rows, length), 7, np.int64), "attention_mask": mask}


def piece_named(name: str) -> Piece:
    """The piece that a parameter's or module's name tells of."""
    return next(piece for pattern, piece in PIECES.items() if re.search(pattern, name))


def counted(model: Any) -> dict[Piece, int]:
    """How many distinct parameters each piece of a model has."""
    found: Counter[Piece] = Counter()
    for name, parameter in model.named_parameters():
        found[piece_named(name)] += parameter.numel()
    return dict(found)
