"""Encoders to turn into graphs: livelier and wider than the tiniest, and sick ones that int8 hurts in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny import sentences, study_of, write_base

from workbench.bench import Bench
from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.families import check_family, layers_of
from workbench.finetuned import OpenedBase
from workbench.progress import Quiet
from workbench.tasks.data import read_task
from workbench.tasks.own_files import OwnTask
from workbench.tasks.task import Row
from workbench.tokens import Tokens, tokenize

ROWS = [Row(str(index), (text,), 0) for index, (text, _) in enumerate(sentences(9, 8))]
WEIGHTS = {".onnx", ".bin"}
WIDE = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2}


def lively_encoder(family: str, folder: Path, task: OwnTask, **sizes: int) -> Encoder:
    """An untrained encoder whose answers depend on the text, and no two of whose vectors are equal."""
    named = {"num_hidden_layers": 2, "hidden_size": 32, **sizes}
    changes = {check_family(family).key(word): size for word, size in named.items()}
    base = write_base(family, folder, initializer_range=1.1 / named["hidden_size"] ** 0.5, **changes)
    encoder = OpenedBase.open(study_of(base, task)).untrained(task.declared(Path()), 0)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in encoder.model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.05)
    return encoder


def sicken(encoder: Encoder, layer: int, outlier: float = 1e4) -> None:
    """Give a BERT layer's last matrix one great column that its bias takes back: nothing in float, ruin in int8."""
    block = layers_of(encoder.model)[layer]
    first, last = block.intermediate.dense, block.output.dense
    with torch.no_grad():
        last.weight *= 20
        first.weight[0] = 0
        first.bias[0] = 1
        last.weight[:, 0] = outlier
        last.bias -= outlier * torch.nn.functional.gelu(torch.tensor(1.0))


def halve_predictions(encoder: Encoder, rows: Any) -> None:
    """Shift the head of a two-label encoder so that half of some rows get each label."""
    outputs = answers(encoder, rows)
    with torch.no_grad():
        encoder.model.classifier.bias[0] += float(np.median(outputs[:, 1] - outputs[:, 0]))


def answers(encoder: Encoder, rows: Any = ROWS) -> np.ndarray:
    """The outputs for some rows, one below the other."""
    return np.stack(encoder.logits(tokens(encoder, rows)))


def tokens(encoder: Encoder, rows: Any = ROWS) -> Tokens:
    """Rows as an encoder's tokenizer spells them."""
    return tokenize(encoder.tokenizer, rows)


def pairs(count: int) -> list[Row]:
    """Rows of two texts."""
    one, other = sentences(count, 8), sentences(count, 9)
    return [Row(str(i), (a, b), 0.0) for i, ((a, _), (b, _)) in enumerate(zip(one, other, strict=True))]


def weight_bytes(encoder: Encoder, folder: Path) -> int:
    """Save an encoder and weigh the file of its weights."""
    folder.mkdir()
    encoder.save(folder)
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix in WEIGHTS)


def bench_for(encoder: Encoder, task: OwnTask, folder: Path) -> Bench:
    """A bench that lives as long as its folder, for results that several tests look at."""
    scratch, workplace = folder / "scratch", folder / "workplace"
    scratch.mkdir(parents=True)
    workplace.mkdir()
    return Bench(
        data=read_task(task.declared(Path())),
        teacher=encoder,
        seed=0,
        scratch=scratch,
        workplace=workplace,
        progress=Quiet(),
        cache=Cache(folder / "cache"),
    )
