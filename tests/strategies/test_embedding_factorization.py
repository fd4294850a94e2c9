"""Embedding factorization: as close to the table as the rank allows, closest where the task looks, and smaller."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from tiny import FAMILIES, sentences

from strategies.embedding_factorization import EmbeddingFactorization, FactorizedEmbedding
from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import word_table
from workbench.onnx_export import export_onnx
from workbench.progress import Quiet
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.sketch import Sketch
from workbench.strategy import check_fit
from workbench.tasks.task import Row
from workbench.tokens import tokenize

ROWS = [Row(str(index), (text,), 0) for index, (text, _) in enumerate(sentences(9, 8))]
BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")


def table_of(encoder):
    return word_table(encoder.model).weight.detach().double().numpy()


def rebuilt_table(encoder):
    module = word_table(encoder.model)
    return module.widen(module.narrow.weight).detach().double().numpy()


def answers(encoder):
    return np.asarray(encoder.logits(tokenize(encoder.tokenizer, ROWS)))


def counts_of(encoder, bench):
    ids = np.concatenate(encoder.tokenizer([row.texts[0] for row in bench.data.train])["input_ids"])
    return np.bincount(ids, minlength=len(table_of(encoder)))


def weighted_svd(encoder, bench, smoothing=1.0):
    """The textbook form: singular values of the centred rows, each times the root of its smoothed count."""
    weights = counts_of(encoder, bench) + smoothing
    mean = (weights @ table_of(encoder)) / weights.sum()
    scale = np.sqrt(weights)[:, None]
    return mean, scale, np.linalg.svd(scale * (table_of(encoder) - mean), full_matrices=False)


def detail_of(encoder):
    return encoder.lineage.steps[-1].detail


@pytest.mark.parametrize("family", FAMILIES)
def test_at_full_rank_the_answers_are_the_same_to_rounding(family, lively, make_bench):
    encoder = lively(family)
    width = table_of(encoder).shape[1]
    full = EmbeddingFactorization(rank=width).apply(encoder, make_bench(encoder))
    assert isinstance(word_table(full.model), FactorizedEmbedding)
    np.testing.assert_allclose(answers(full), answers(encoder), atol=2e-5)
    assert detail_of(full)["plain_error"] < 1e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_the_given_encoder_stays_as_it_was(family, lively, make_bench):
    encoder = lively(family)
    before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
    EmbeddingFactorization(rank=3).apply(encoder, make_bench(encoder))
    after = encoder.model.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_go_down_by_the_table_less_its_two_factors_in_memory_and_in_the_file(
    family, lively, make_bench, tmp_path
):
    encoder = lively(family)
    words, width = table_of(encoder).shape
    narrow = EmbeddingFactorization(rank=5).apply(encoder, make_bench(encoder))
    saved = words * width - (words * 5 + 5 * width + width)
    assert encoder.runtime.parameters() - narrow.runtime.parameters() == saved
    assert detail_of(narrow)["parameters_before"] - detail_of(narrow)["parameters"] == saved
    sizes = []
    for name, which in (("base", encoder), ("narrow", narrow)):
        (tmp_path / name).mkdir()
        which.save(tmp_path / name)
        sizes.append((tmp_path / name / "model.safetensors").stat().st_size)
    # The file's own header names two tensors more.
    assert sizes[0] - sizes[1] == pytest.approx(4 * saved, abs=400)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_one_answers_as_before(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    narrow = EmbeddingFactorization(energy=0.6).apply(encoder, make_bench(encoder))
    manifest = narrow.save(tmp_path)
    again = Encoder.load(tmp_path)
    assert not manifest.portable
    assert word_table(again.model).narrow.padding_idx == word_table(encoder.model).padding_idx
    np.testing.assert_array_equal(answers(again), answers(narrow))


@pytest.mark.parametrize("family", FAMILIES)
def test_its_graph_agrees_with_it(family, lively, make_bench, tmp_path):
    encoder = lively(family)
    narrow = EmbeddingFactorization(rank=6).apply(encoder, make_bench(encoder))
    graph = replace(narrow, runtime=OnnxRuntime(export_onnx(narrow, tmp_path / "graph")))
    np.testing.assert_allclose(answers(graph), answers(narrow), atol=1e-4)
    assert np.abs(answers(narrow) - answers(encoder)).max() > 1e-3


def test_the_factors_are_the_truncated_svd_of_the_weighted_centred_table(lively, make_bench):
    encoder = lively("bert")
    bench = make_bench(encoder)
    narrow = EmbeddingFactorization(rank=7).apply(encoder, bench)
    mean, scale, (left, values, right) = weighted_svd(encoder, bench)
    expected = mean + (left[:, :7] * values[:7]) @ right[:7] / scale
    np.testing.assert_allclose(rebuilt_table(narrow), expected, atol=1e-5)
    np.testing.assert_allclose(word_table(narrow.model).widen.bias.detach(), mean, atol=1e-6)


@pytest.mark.parametrize("energy", [0.05, 0.3, 0.75, 0.9, 0.999])
def test_energy_decides_the_smallest_rank_that_reaches_it(energy, lively, make_bench):
    encoder = lively("bert")
    bench = make_bench(encoder)
    detail = detail_of(EmbeddingFactorization(energy=energy).apply(encoder, bench))
    _, _, (_, values, _) = weighted_svd(encoder, bench)
    shares = np.cumsum(values**2) / np.sum(values**2)
    assert shares[detail["rank"] - 1] >= energy
    assert detail["rank"] == 1 or shares[detail["rank"] - 2] < energy
    assert detail["energy_kept"] == pytest.approx(shares[detail["rank"] - 1])


def test_all_energy_needs_all_directions_that_the_table_has(lively, make_bench):
    encoder = lively("bert")
    detail = detail_of(EmbeddingFactorization(energy=1.0).apply(encoder, make_bench(encoder)))
    assert detail["rank"] == 32
    assert detail["energy_kept"] == 1.0


def test_a_table_that_lies_in_three_directions_needs_no_more(lively, make_bench):
    encoder = lively("bert")
    generator = torch.Generator().manual_seed(0)
    words, width = table_of(encoder).shape
    flat = torch.randn(words, 3, generator=generator) @ torch.randn(3, width, generator=generator) + 0.5
    word_table(encoder.model).weight.data.copy_(flat)
    detail = detail_of(EmbeddingFactorization(energy=0.999999).apply(encoder, make_bench(encoder)))
    assert detail["rank"] == 3
    assert detail["plain_error"] < 1e-5


def test_the_errors_told_are_those_of_the_stored_numbers(lively, make_bench):
    encoder = lively("roberta")
    bench = make_bench(encoder)
    narrow = EmbeddingFactorization(rank=9, smoothing=0.5).apply(encoder, bench)
    weights = counts_of(encoder, bench) + 0.5
    table, missed = table_of(encoder), table_of(encoder) - rebuilt_table(narrow)
    plain = np.linalg.norm(missed) / np.linalg.norm(table)
    scale = np.sqrt(weights)[:, None]
    assert detail_of(narrow)["plain_error"] == pytest.approx(plain, rel=1e-6)
    assert detail_of(narrow)["weighted_error"] == pytest.approx(
        np.linalg.norm(scale * missed) / np.linalg.norm(scale * table), rel=1e-6
    )


def test_words_the_task_uses_are_kept_better_than_without_weighting_and_better_than_words_it_does_not(
    lively, make_bench
):
    encoder = lively("bert")
    bench = make_bench(encoder)
    counts = counts_of(encoder, bench)
    frequent, absent = np.argsort(-counts)[:10], np.flatnonzero(counts == 0)
    assert len(absent) > 10

    def error(smoothing, chosen):
        narrow = EmbeddingFactorization(rank=10, smoothing=smoothing).apply(encoder, bench)
        missed = (table_of(encoder) - rebuilt_table(narrow))[chosen]
        return np.linalg.norm(missed) / np.linalg.norm(table_of(encoder)[chosen])

    alike = 1e9
    assert error(1.0, frequent) < 0.5 * error(alike, frequent)
    assert error(1.0, frequent) < 0.5 * error(1.0, absent)
    assert error(1.0, absent) > error(alike, absent)


def test_without_options_the_rank_is_a_third_of_the_width(lively, make_bench):
    for family, rank in (("bert", 10), ("albert", 5)):
        encoder = lively(family)
        narrow = EmbeddingFactorization().apply(encoder, make_bench(encoder))
        assert detail_of(narrow)["rank"] == rank
        assert narrow.runtime.parameters() < encoder.runtime.parameters()


def test_the_padding_row_does_not_learn_and_the_others_do(lively, make_bench):
    encoder = lively("roberta")
    model = EmbeddingFactorization(rank=4).apply(encoder, make_bench(encoder)).model
    pad = encoder.tokenizer.pad_token_id
    ids = torch.tensor([[0, 5, 2, pad], [0, 6, 5, 2]])
    # Without a mask the padding is attended to, and only its index keeps it from learning.
    model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=torch.tensor([0, 1])).loss.backward()
    gradient = word_table(model).narrow.weight.grad
    assert pad == 1
    assert not gradient[pad].any()
    assert gradient[5].any()
    assert word_table(model).widen.weight.grad.any()


def test_a_rank_that_outweighs_the_table_is_carried_out_and_said(lively, make_bench):
    class Heard(Quiet):
        def __init__(self):
            self.lines = []

        def say(self, text):
            self.lines.append(text)

    encoder = lively("bert")
    words, width = table_of(encoder).shape
    heard = Heard()
    bench = replace(make_bench(encoder), progress=heard)
    largest = max(rank for rank in range(width) if rank * (words + width) + width < words * width)
    EmbeddingFactorization(rank=largest).apply(encoder, bench)
    assert heard.lines == []
    EmbeddingFactorization(rank=largest + 1).apply(encoder, bench)
    assert len(heard.lines) == 1
    assert f"a rank of {largest} or less would" in heard.lines[0]


def test_rank_and_energy_together_are_refused():
    with pytest.raises(ValidationError, match=r"give rank .* or energy .* not both"):
        EmbeddingFactorization(rank=8, energy=0.5)


@pytest.mark.parametrize("options", [{"rank": 0}, {"energy": 0.0}, {"energy": 1.01}, {"smoothing": 0.0}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(ValidationError):
        EmbeddingFactorization(**options)


def test_a_rank_above_the_width_is_refused_at_plan_time():
    assert check_fit(EmbeddingFactorization(rank=32), BERT).traits == {"factorized"}
    with pytest.raises(PlanError, match=r"rank: 33 is above the full rank of the word table, 32"):
        check_fit(EmbeddingFactorization(rank=33), BERT)


def test_factorizing_twice_is_refused_at_plan_time_and_before_working(lively, make_bench):
    once = check_fit(EmbeddingFactorization(), BERT)
    with pytest.raises(PlanError, match="already factorized"):
        check_fit(EmbeddingFactorization(), once)
    encoder = lively("bert")
    narrow = EmbeddingFactorization().apply(encoder, make_bench(encoder))
    with pytest.raises(PlanError, match="already factorized"):
        EmbeddingFactorization().apply(narrow, make_bench(encoder))


def test_a_graph_has_no_table_to_factorize():
    with pytest.raises(PlanError, match="already turned into a runtime graph"):
        check_fit(EmbeddingFactorization(), BERT.with_traits("graph"))


def test_a_rank_above_the_narrow_table_of_albert_is_refused_before_any_work(lively, make_bench, tmp_path):
    encoder = lively("albert")
    strategy = EmbeddingFactorization(rank=17)
    check_fit(strategy, replace(BERT, family="albert", groups=1))
    bench = replace(make_bench(encoder), cache=Cache(tmp_path / "untouched"))
    with pytest.raises(PlanError, match="rank: 17 is above the full rank of the word table, 16"):
        strategy.apply(encoder, bench)
    assert not (tmp_path / "untouched").exists()
