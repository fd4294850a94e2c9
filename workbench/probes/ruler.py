"""The ruler: a small encoder of random weights to time against itself, where nothing was made yet.

Started like the latency probe, as ``python -m workbench.probes.ruler JOB.json``; the artifact the job names is not
looked at.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from workbench.encoder import Encoder
from workbench.lineage import Lineage
from workbench.probes.latency import serve
from workbench.ruler_texts import WORDS
from workbench.runtimes.torch_runtime import TorchRuntime

SHAPE = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}


def open_ruler(artifact: Path, threads: int) -> tuple[Encoder, int]:
    """A BERT of the size of a small sentence encoder, the same in every process."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    start = time.perf_counter_ns()
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(vocab_size=len(WORDS) + 4, **SHAPE))
    lineage = Lineage(
        base="ruler",
        base_hash="",
        base_config={},
        task="ruler",
        kind="classification",
        labels=("no", "yes"),
        text_count=1,
        max_length=128,
    )
    return Encoder(TorchRuntime(model), _tokenizer(), lineage), time.perf_counter_ns() - start


def import_libraries(artifact: Path) -> None:
    """Import what opening the ruler needs."""
    import torch
    from transformers import BertForSequenceClassification, PreTrainedTokenizerFast  # noqa: F401

    # The first random number loads more of the library.
    torch.manual_seed(0)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    words = {word: number for number, word in enumerate([*special, *WORDS])}
    machine = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    machine.pre_tokenizer = pre_tokenizers.Whitespace()
    machine.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(tokenizer_object=machine, pad_token="[PAD]", unk_token="[UNK]", model_max_length=128)


if __name__ == "__main__":
    raise SystemExit(serve(sys.argv[1], open_ruler, import_libraries))
