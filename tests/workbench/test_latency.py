"""The latency probe's own side: an encoder on a stand, asked as the coordinator asks."""

import numpy as np
import pytest

from workbench.measuring import GRID_LENGTHS
from workbench.probes.latency import Stand
from workbench.probes.opening import OpeningJob

TEXTS = (("the film was lovely",), ("a dull story",), ("this cast seemed warm and clever and bright",))


@pytest.fixture
def stand(tiny_encoder, tmp_path):
    encoder = tiny_encoder("bert")
    made = Stand(OpeningJob(artifact=tmp_path, texts=TEXTS, threads=1), lambda artifact, threads: (encoder, 7))
    return made, made.open()


def test_opening_answers_every_text_once_and_tells_what_came_out(stand):
    _, opened = stand
    assert opened["load_ns"] == 7
    assert all(taken > 0 for taken in opened["model_ns"])
    assert len(opened["model_ns"]) == len(opened["tokens"]) == len(opened["logits"]) == len(TEXTS)
    assert opened["tokens"][2] > opened["tokens"][1]


def test_a_turn_times_tokens_and_model_apart_and_answers_as_before(stand):
    made, opened = stand
    told = made.block()
    assert len(told["tokenize_ns"]) == len(told["model_ns"]) == len(TEXTS)
    assert told["cpu_seconds"] >= 0 and told["switches"] >= 0 and told["wall_seconds"] > 0
    np.testing.assert_allclose(told["logits"], opened["logits"], rtol=1e-5)


def test_batches_answer_all_texts_in_one_time(stand):
    (taken,) = stand[0].throughput()["model_ns"]
    assert taken > 0


def test_a_shape_is_timed_several_times(stand):
    assert len(stand[0].grid(8, 16)["model_ns"]) > 1


def test_a_shape_longer_than_the_encoder_takes_is_not_tried(stand):
    made, _ = stand
    longest = made.encoder.tokenizer.model_max_length
    assert longest < max(GRID_LENGTHS)
    assert made.grid(1, max(GRID_LENGTHS)) == {"model_ns": []}
