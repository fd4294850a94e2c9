"""Tokens are padded and masked rightly, cut into buckets without loss, and kept under a key that tells all."""

import itertools

import numpy as np
import pytest
from tiny import FAMILIES, sentences
from transformers import AutoTokenizer

from workbench.cache import Cache
from workbench.tasks.task import Row
from workbench.tokens import Tokens, tokenize, tokenize_once, tokenizer_fingerprint

SINGLE = [Row(str(n), (text,), 0) for n, (text, _) in enumerate(sentences(40, 8))]
PAIRS = [
    Row(str(n), (a, b), 0) for n, ((a, _), (b, _)) in enumerate(zip(sentences(20, 3), sentences(20, 4), strict=True))
]


@pytest.fixture(params=FAMILIES)
def tokenizer(request, tiny_base):
    return AutoTokenizer.from_pretrained(tiny_base(request.param))


@pytest.fixture
def bert_tokenizer(tiny_base):
    tokenizer = AutoTokenizer.from_pretrained(tiny_base("bert"))
    tokenizer.model_max_length = 64
    return tokenizer


def example(tokens: Tokens, index: int) -> list[int]:
    return tokens.ids[tokens.starts[index] : tokens.starts[index + 1]].tolist()


@pytest.mark.parametrize("rows", [SINGLE, PAIRS], ids=["single", "pairs"])
def test_each_example_is_what_the_tokenizer_alone_makes_of_it(rows, tokenizer):
    tokens = tokenize(tokenizer, rows)
    assert len(tokens) == len(rows)
    for index, row in enumerate(rows):
        assert example(tokens, index) == tokenizer(*row.texts)["input_ids"]
    assert tokens.lengths.tolist() == [len(tokenizer(*row.texts)["input_ids"]) for row in rows]


@pytest.mark.parametrize("rows", [SINGLE, PAIRS], ids=["single", "pairs"])
def test_a_batch_is_padded_and_masked_like_the_tokenizer_s_own(rows, tokenizer):
    chosen = [7, 0, 3, 19]
    batch = tokenize(tokenizer, rows).batch(chosen)
    columns = [list(column) for column in zip(*(rows[index].texts for index in chosen), strict=True)]
    theirs = tokenizer(*columns, padding=True, return_tensors="np")
    assert set(theirs) <= {*batch}
    for name, values in theirs.items():
        np.testing.assert_array_equal(batch[name], values)
        assert batch[name].dtype == np.int64


def test_padding_is_the_tokenizer_s_own_padding_token(tokenizer):
    tokens = tokenize(tokenizer, SINGLE)
    longest, shortest = int(tokens.lengths.argmax()), int(tokens.lengths.argmin())
    batch = tokens.batch([longest, shortest])
    assert batch["attention_mask"].sum(1).tolist() == [tokens.lengths[longest], tokens.lengths[shortest]]
    assert set(batch["input_ids"][1, tokens.lengths[shortest] :].tolist()) == {tokenizer.pad_token_id}


@pytest.mark.parametrize("chosen", [(2, 5), range(3), np.array([4, 1])], ids=["a tuple", "a range", "an array"])
def test_any_sequence_of_numbers_chooses_a_batch(chosen, bert_tokenizer):
    tokens = tokenize(bert_tokenizer, SINGLE)
    np.testing.assert_array_equal(tokens.batch(chosen)["input_ids"], tokens.batch(list(chosen))["input_ids"])


def test_pairs_tell_the_first_text_from_the_second(bert_tokenizer):
    first, second = PAIRS[0].texts
    batch = tokenize(bert_tokenizer, PAIRS[:1]).batch([0])
    left = len(bert_tokenizer(first)["input_ids"])
    right = len(bert_tokenizer(second)["input_ids"]) - 1
    assert batch["token_type_ids"].tolist() == [[0] * left + [1] * right]


def test_a_family_without_token_types_gets_none(tiny_base):
    tokens = tokenize(AutoTokenizer.from_pretrained(tiny_base("roberta")), PAIRS)
    assert tokens.types is None
    assert set(tokens.batch([0, 1])) == {"input_ids", "attention_mask"}


def test_texts_are_cut_at_the_tokenizer_s_maximum_length(bert_tokenizer):
    bert_tokenizer.model_max_length = 6
    tokens = tokenize(bert_tokenizer, [*SINGLE, *(Row("l", ("lovely " * 50,), 0),)])
    assert tokens.lengths.max() == 6
    assert example(tokens, len(SINGLE))[-1] == bert_tokenizer.sep_token_id


def test_an_empty_text_still_has_its_special_tokens(tokenizer):
    tokens = tokenize(tokenizer, [Row("0", ("",), 0)])
    assert tokens.lengths.tolist() == [2]


@pytest.mark.parametrize("budget", [1, 10, 64, 1024])
def test_buckets_cover_every_example_once_and_keep_to_their_budget(budget, bert_tokenizer):
    tokens = tokenize(bert_tokenizer, SINGLE)
    buckets = list(tokens.buckets(budget))
    assert sorted(index for chosen in buckets for index in chosen.tolist()) == list(range(len(SINGLE)))
    for chosen in buckets:
        assert len(chosen) == 1 or tokens.lengths[chosen].max() * len(chosen) <= budget


def test_buckets_hold_examples_of_like_length(bert_tokenizer):
    tokens = tokenize(bert_tokenizer, SINGLE)
    lengths = [tokens.lengths[chosen] for chosen in tokens.buckets(30)]
    assert all(before.min() >= after.max() for before, after in itertools.pairwise(lengths))


@pytest.mark.parametrize("rows", [SINGLE, PAIRS], ids=["single", "pairs"])
def test_kept_tokens_equal_fresh_ones(rows, tokenizer, tmp_path):
    fresh = tokenize(tokenizer, rows)
    for _ in range(2):
        kept = tokenize_once(tokenizer, rows, Cache(tmp_path))
        np.testing.assert_array_equal(kept.ids, fresh.ids)
        np.testing.assert_array_equal(kept.starts, fresh.starts)
        assert kept.pad_id == fresh.pad_id
        assert (kept.types is None) == (fresh.types is None)
        if fresh.types is not None:
            np.testing.assert_array_equal(kept.types, fresh.types)


def kept_count(root) -> int:
    return len(list((root / "tokens").iterdir()))


def test_the_same_rows_and_tokenizer_are_kept_once(bert_tokenizer, tmp_path):
    for _ in range(3):
        tokenize_once(bert_tokenizer, SINGLE, Cache(tmp_path))
    assert kept_count(tmp_path) == 1


def test_a_tokenizer_saved_and_opened_again_finds_what_it_made(bert_tokenizer, tmp_path):
    tokenize_once(bert_tokenizer, SINGLE, Cache(tmp_path / "cache"))
    bert_tokenizer.save_pretrained(tmp_path / "saved")
    tokenize_once(AutoTokenizer.from_pretrained(tmp_path / "saved"), SINGLE, Cache(tmp_path / "cache"))
    assert kept_count(tmp_path / "cache") == 1


def test_using_a_tokenizer_does_not_change_its_fingerprint(tokenizer):
    tokenizer.model_max_length = 64
    before = tokenizer_fingerprint(tokenizer)
    tokenize(tokenizer, SINGLE)
    assert tokenizer_fingerprint(tokenizer) == before


def test_another_maximum_length_is_kept_apart(bert_tokenizer, tmp_path):
    long = [Row("0", ("lovely " * 40,), 0)]
    whole = tokenize_once(bert_tokenizer, long, Cache(tmp_path))
    bert_tokenizer.model_max_length = 8
    cut = tokenize_once(bert_tokenizer, long, Cache(tmp_path))
    assert (whole.lengths.tolist(), cut.lengths.tolist()) == ([42], [8])


def test_another_side_of_cutting_is_kept_apart(bert_tokenizer, tmp_path):
    bert_tokenizer.model_max_length = 5
    row = [Row("0", ("lovely great bright warm clever moving",), 0)]
    right = tokenize_once(bert_tokenizer, row, Cache(tmp_path))
    bert_tokenizer.truncation_side = "left"
    left = tokenize_once(bert_tokenizer, row, Cache(tmp_path))
    assert right.ids.tolist() != left.ids.tolist()


def test_other_rows_and_other_vocabularies_are_kept_apart(tiny_base, bert_tokenizer, tmp_path):
    tokenize_once(bert_tokenizer, SINGLE, Cache(tmp_path))
    tokenize_once(bert_tokenizer, SINGLE[:-1], Cache(tmp_path))
    tokenize_once(AutoTokenizer.from_pretrained(tiny_base("roberta")), SINGLE, Cache(tmp_path))
    assert kept_count(tmp_path) == 3
