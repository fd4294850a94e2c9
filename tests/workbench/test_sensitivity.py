"""The search for parts that must stay in float: ranked by harm, as few as needed, never more than allowed."""

import copy

import numpy as np
import pytest
import torch
from graphs import lively_encoder, pairs, tokens

from workbench.errors import DataError
from workbench.families import layers_of
from workbench.fidelity import agreement, distance
from workbench.progress import Quiet
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.sensitivity import HELD_ROWS, Guard, Quantizer, divided, guarded, ranked
from workbench.tasks.kinds import KINDS
from workbench.tasks.task import Row

LAYERS = 6


class Coarse(Quantizer):
    """Rounds the matrices of layers in place of a real quantizer: some harmlessly, the bad ones to almost nothing."""

    def __init__(self, encoder, bad):
        self.encoder = encoder
        self.bad = bad
        self.asked = []

    @property
    def parts(self):
        return [f"layer.{number}" for number in range(LAYERS)]

    def without(self, parts):
        self.asked.append(tuple(parts))
        return self._rounded([part for part in self.parts if part not in parts])

    def only(self, part):
        return self._rounded([part])

    def _rounded(self, parts):
        model = copy.deepcopy(self.encoder.model)
        for part in parts:
            step = 0.8 if part in self.bad else 1e-4
            for parameter in layers_of(model)[self.parts.index(part)].parameters():
                with torch.no_grad():
                    parameter.copy_((parameter / step).round() * step)
        return TorchRuntime(model)


@pytest.fixture(scope="module")
def encoder(tiny_regression, tmp_path_factory):
    return lively_encoder("bert", tmp_path_factory.mktemp("lively") / "base", tiny_regression, num_hidden_layers=LAYERS)


@pytest.fixture(scope="module")
def held(encoder):
    return tokens(encoder, pairs(40))


def search(quantizer, encoder, held, threshold, cap=5):
    return guarded(quantizer, encoder, held, Guard(threshold, cap), Quiet())


def test_parts_are_ranked_by_the_harm_each_does_alone(encoder, held):
    harm = ranked(Coarse(encoder, {"layer.1", "layer.4"}), encoder, held, Quiet())
    assert set(list(harm)[:2]) == {"layer.1", "layer.4"}
    assert len(harm) == LAYERS
    assert list(harm.values()) == sorted(harm.values(), reverse=True)


@pytest.mark.parametrize("bad", [{"layer.2"}, {"layer.0", "layer.5"}, {"layer.1", "layer.2", "layer.4"}])
def test_just_the_bad_parts_are_left_in_float(bad, encoder, held):
    outcome = search(Coarse(encoder, bad), encoder, held, threshold=0.999)
    assert set(outcome.parts) == bad
    assert outcome.record["agreement"]["reached"] is True
    assert outcome.record["agreement"]["before"] < 0.999 <= outcome.record["agreement"]["after"]
    assert set(outcome.record["excluded_parts"]) == bad


def test_each_trial_is_made_once(encoder, held):
    quantizer = Coarse(encoder, {"layer.1", "layer.2", "layer.4"})
    search(quantizer, encoder, held, threshold=0.999)
    assert len(quantizer.asked) == len(set(quantizer.asked)) == 5
    assert [len(parts) for parts in quantizer.asked] == [0, 1, 2, 4, 3]


def test_what_agrees_at_once_is_taken_without_a_search(encoder, held):
    quantizer = Coarse(encoder, set())
    outcome = search(quantizer, encoder, held, threshold=0.999)
    assert outcome.parts == ()
    assert quantizer.asked == [()]
    assert "harm_alone" not in outcome.record


def test_without_a_threshold_agreement_is_only_recorded(encoder, held):
    outcome = search(Coarse(encoder, {"layer.3"}), encoder, held, threshold=None)
    assert outcome.parts == ()
    seen = outcome.record["agreement"]
    assert seen["before"] == seen["after"] < 0.999
    assert "reached" not in seen


def test_a_cap_that_is_too_low_gives_the_best_trial_and_says_that_it_is_not_enough(encoder, held):
    bad = {"layer.1", "layer.2", "layer.4"}
    outcome = search(Coarse(encoder, bad), encoder, held, threshold=0.999, cap=2)
    assert len(outcome.parts) <= 2
    assert outcome.record["agreement"]["reached"] is False
    assert outcome.record["agreement"]["after"] >= outcome.record["agreement"]["before"]


def test_one_part_at_least_is_always_quantized(encoder, held):
    quantizer = Coarse(encoder, {f"layer.{number}" for number in range(LAYERS)})
    search(quantizer, encoder, held, threshold=1.0, cap=100)
    assert max(len(parts) for parts in quantizer.asked) == LAYERS - 1


@pytest.mark.parametrize(("there", "wanted", "used", "apart"), [(24, 128, 16, 8), (512, 128, 128, 256), (2, 9, 1, 1)])
def test_rows_are_divided_into_some_to_calibrate_on_and_others(there, wanted, used, apart):
    rows = [Row(str(number), ("a",), 0) for number in range(there)]
    seen, held = divided(rows, wanted)
    assert (len(seen), len(held)) == (used, apart)
    assert not set(seen) & set(held)
    assert len(held) <= HELD_ROWS


def test_a_single_row_cannot_be_divided():
    with pytest.raises(DataError, match="there are 1; give the task more training rows"):
        divided([Row("0", ("a",), 0)], 1)


def test_agreement_looks_at_predictions_and_distance_at_outputs():
    ours = [np.array(row, np.float32) for row in ([1, 0], [0, 1], [3, 0], [0, 2])]
    theirs = [np.array(row, np.float32) for row in ([1, 0], [0, 1], [0, 3], [0, 2])]
    assert agreement(KINDS["classification"], ours, theirs).value == 0.75
    assert distance(ours, theirs) == pytest.approx(np.sqrt(18 / 8))
    assert distance(ours, ours) == 0
