"""Tiny real models, tokenizers and data: everything a test needs, made in a second, nothing downloaded."""

from __future__ import annotations

import csv
import math
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from workbench.study import Base, Study
from workbench.tasks.own_files import OwnTask

FAMILIES = ("bert", "roberta", "albert", "distilbert")
GOOD = ("lovely", "great", "bright", "warm", "clever", "moving")
BAD = ("dull", "awful", "grey", "cold", "clumsy", "boring")
THINGS = ("film", "story", "cast", "music", "ending", "picture", "script")
# Words that no task has.
RARE = ("quartz", "vexed", "zephyr", "onyx")
LAYERS = 4


def sentences(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Made-up reviews with labels that a tiny model can learn."""
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        good = chance.random() < 0.5
        words = [chance.choice(GOOD if good else BAD) for _ in range(chance.randint(1, 3))]
        filler = [chance.choice(("the", "a", "this")), chance.choice(THINGS), chance.choice(("is", "was", "seemed"))]
        rows.append((" ".join(filler + words), "good" if good else "bad"))
    return rows


def write_csv(path: Path, rows: list[tuple[str, ...]], header: tuple[str, ...] = ("text", "label")) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def write_task_files(folder: Path, train: int = 240, test: int = 60) -> OwnTask:
    """Files of a small classification task."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "train.csv", sentences(train, 1))
    write_csv(folder / "test.csv", sentences(test, 2))
    return OwnTask(
        name="reviews", train=str(folder / "train.csv"), test=str(folder / "test.csv"), text=("text",), label="label"
    )


def write_pair_regression_files(folder: Path) -> OwnTask:
    """Files of a small regression task over pairs: how many words two sentences share."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train.csv", 200, 3), ("test.csv", 50, 4)):
        first, second = sentences(count, seed), sentences(count, seed + 10)
        rows = [
            (a, b, str(float(len(set(a.split()) & set(b.split())))))
            for (a, _), (b, _) in zip(first, second, strict=True)
        ]
        write_csv(folder / name, rows, ("first", "second", "score"))
    return OwnTask(
        name="overlap",
        kind="regression",
        train=str(folder / "train.csv"),
        test=str(folder / "test.csv"),
        text=("first", "second"),
        label="score",
    )


def write_base(family: str, folder: Path, words: tuple[str, ...] = (), **changes: Any) -> Path:
    """Save a randomly initialised base of a family with a tokenizer of its own kind, which may know further words."""
    import torch

    corpus = [text for text, _ in sentences(400, 5)] + 100 * list(words)
    tokenizer = TOKENIZERS[family](corpus)
    torch.manual_seed(7)
    model = MODELS[family](len(tokenizer), changes)
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    return folder


def study_of(base: Path, task: OwnTask, **changes: Any) -> Study:
    """A study over a tiny base that trains for a moment."""
    settings: dict[str, Any] = {
        "name": "tiny",
        "base": Base(name=str(base)),
        "tasks": (task,),
        "training": {"epochs": 1, "learning_rate": 1e-3, "batch_size": 16, "evaluations": 2},
        "max_length": 32,
    }
    return Study.model_validate({**settings, **changes})


def _wordpiece(corpus: list[str]) -> Any:
    from transformers import BertTokenizerFast

    return BertTokenizerFast(tokenizer_object=_pieced(corpus))


def _pieced(corpus: list[str]) -> Tokenizer:
    """WordPiece that knows every letter, every word, and what words are halved into.

    It is written down, not trained: the trainer chooses other pieces and numbers in each process.
    """
    words = _by_frequency(corpus)
    letters = sorted({letter for word in words for letter in word})
    halves = [half for first, second in _halved(words) for half in (first, f"##{second}")]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = dict.fromkeys([*special, *letters, *(f"##{letter}" for letter in letters), *halves, *words])
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    machine = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    machine.normalizer = normalizers.BertNormalizer(lowercase=True)
    machine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    machine.decoder = decoders.WordPiece()
    machine.add_special_tokens(special)
    machine.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return machine


def _distil_wordpiece(corpus: list[str]) -> Any:
    from transformers import DistilBertTokenizerFast

    return DistilBertTokenizerFast(tokenizer_object=_pieced(corpus))


def _byte_level(corpus: list[str]) -> Any:
    from transformers import RobertaTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    machine = Tokenizer(models.BPE())
    machine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    machine.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    machine.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=330, special_tokens=special, initial_alphabet=alphabet)
    )
    machine.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return RobertaTokenizerFast(tokenizer_object=machine)


def _unigram(corpus: list[str]) -> Any:
    from transformers import AlbertTokenizerFast

    # Words by how frequent they are, halves below them, letters last; the trainer's pieces differ between processes.
    words = _by_frequency(corpus)
    letters = sorted({letter for word in words for letter in word})
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    likely = {f"▁{word}": math.log(count / sum(words.values())) for word, count in words.items()}
    halves = [half for first, second in _halved(words) for half in (f"▁{first}", second)]
    unlikely = dict.fromkeys(piece for piece in [*halves, "▁", *letters] if piece not in likely)
    scores = {**dict.fromkeys(special, 0.0), **likely, **{piece: -8 - at / 50 for at, piece in enumerate(unlikely)}}
    machine = Tokenizer(models.Unigram(list(scores.items()), unk_id=1))
    machine.normalizer = normalizers.Lowercase()
    machine.pre_tokenizer = pre_tokenizers.Metaspace()
    machine.decoder = decoders.Metaspace()
    machine.add_special_tokens(special)
    machine.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return AlbertTokenizerFast(tokenizer_object=machine)


def _by_frequency(corpus: list[str]) -> dict[str, int]:
    """How often every word occurs, the most frequent first."""
    counts = Counter(word for text in corpus for word in text.split())
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _halved(words: Iterable[str]) -> list[tuple[str, str]]:
    return [(word[: len(word) // 2], word[len(word) // 2 :]) for word in words if len(word) > 1]


def _bert(vocabulary: int, changes: dict[str, Any]) -> Any:
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig(vocab_size=vocabulary, **{**_sizes(), **changes}))


def _roberta(vocabulary: int, changes: dict[str, Any]) -> Any:
    from transformers import RobertaConfig, RobertaModel

    settings = {**_sizes(), "pad_token_id": 1, "type_vocab_size": 1, **changes}
    return RobertaModel(RobertaConfig(vocab_size=vocabulary, **settings))


def _albert(vocabulary: int, changes: dict[str, Any]) -> Any:
    from transformers import AlbertConfig, AlbertModel

    settings = {**_sizes(), "embedding_size": 16, **changes}
    return AlbertModel(AlbertConfig(vocab_size=vocabulary, **settings))


def _distilbert(vocabulary: int, changes: dict[str, Any]) -> Any:
    from transformers import DistilBertConfig, DistilBertModel

    settings = {"dim": 32, "n_layers": LAYERS, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64, **changes}
    return DistilBertModel(DistilBertConfig(vocab_size=vocabulary, **settings))


def _sizes() -> dict[str, Any]:
    return {
        "hidden_size": 32,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
    }


TOKENIZERS = {"bert": _wordpiece, "roberta": _byte_level, "albert": _unigram, "distilbert": _distil_wordpiece}
MODELS = {"bert": _bert, "roberta": _roberta, "albert": _albert, "distilbert": _distilbert}
