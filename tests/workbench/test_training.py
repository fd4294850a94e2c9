"""Training is decided by its seed, resumes where it was cut off, and keeps the best checkpoint."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import FAMILIES, study_of

from strategies.finetune import Finetune
from workbench.cache import Cache
from workbench.errors import PlanError
from workbench.finetuned import OpenedBase, finetuned_base
from workbench.progress import Quiet
from workbench.study import Training
from workbench.tasks.data import read_task
from workbench.tokens import tokenize
from workbench.training import LengthGrouped, last_whole_checkpoint


def weights_of(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def assert_equal_weights(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], rtol=0, atol=0, msg=name)


@pytest.fixture
def opened(tiny_base, tiny_task):
    settings = {"epochs": 3, "learning_rate": 2e-3, "batch_size": 16, "evaluations": 6}
    return OpenedBase.open(study_of(tiny_base("bert"), tiny_task, training=settings))


@pytest.fixture
def data(tiny_task):
    return read_task(tiny_task.declared(Path()))


def test_a_base_learns_a_learnable_task(opened, data, tmp_path):
    encoder, record = finetuned_base(opened, data, 0, Cache(tmp_path), Quiet())
    rows = data.tests["test"]
    answers = data.kind.predictions(encoder.logits(tokenize(encoder.tokenizer, rows)))
    assert np.mean([answer == row.label for answer, row in zip(answers, rows, strict=True)]) > 0.9
    assert record.finetuned
    assert record.settings["select"]["score"] > 0.9


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(family, tiny_encoder, make_bench):
    encoder = tiny_encoder(family)
    options = {"epochs": 1, "learning_rate": 1e-3, "batch_size": 32, "evaluations": 1}
    first, again, other = (
        Finetune(**options).apply(encoder, make_bench(encoder, seed=seed)).model for seed in (3, 3, 4)
    )
    assert_equal_weights(weights_of(first), weights_of(again))
    assert any(not torch.equal(tensor, other.state_dict()[name]) for name, tensor in first.state_dict().items())


def test_few_rows_are_seen_more_often_where_a_least_number_of_steps_is_asked_for(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    bench = make_bench(encoder)
    options = {"epochs": 1, "batch_size": 32, "evaluations": 1}
    an_epoch = -(-len(bench.data.train) // 32)
    for least, steps in ((0, an_epoch), (an_epoch - 1, an_epoch), (an_epoch + 2, an_epoch + 2)):
        made = Finetune(**options, least_steps=least).apply(encoder, make_bench(encoder))
        assert made.lineage.steps[-1].detail["select"]["steps"] == steps
        cut = Finetune(**options, least_steps=least, most_steps=max(2, least)).apply(encoder, make_bench(encoder))
        assert cut.lineage.steps[-1].detail["select"]["steps"] == max(2, least)


def test_training_in_bfloat16_learns_as_well_and_keeps_weights_of_float32(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    options = {"epochs": 3, "learning_rate": 2e-3, "batch_size": 16, "evaluations": 3}
    whole = Finetune(**options).apply(encoder, make_bench(encoder))
    asked = Finetune(**options, precision="bfloat16").apply(encoder, make_bench(encoder))
    as_study = Finetune(**options).apply(encoder, replace(make_bench(encoder), precision="bfloat16"))
    told = [made.lineage.steps[-1].detail["select"] for made in (whole, asked, as_study)]
    assert [each["precision"] for each in told] == ["float32", "bfloat16", "bfloat16"]
    assert min(each["score"] for each in told) > 0.9
    assert_equal_weights(weights_of(asked.model), weights_of(as_study.model))
    assert {tensor.dtype for tensor in asked.model.state_dict().values()} == {torch.float32}
    assert any(
        not torch.equal(tensor, asked.model.state_dict()[name]) for name, tensor in weights_of(whole.model).items()
    )


def test_bases_of_another_precision_or_with_another_end_are_others(opened, data):
    def key(finetune="always", **training):
        given = {**opened.study.training.model_dump(exclude_none=True), **training}
        return replace(opened, study=opened.study.changed(training=given, finetune=finetune)).key(data, 0)

    keys = [key(), key(precision="bfloat16"), key(most_steps=7)]
    assert len(set(keys)) == 3


def test_fine_tuning_leaves_the_given_encoder_alone(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    before = weights_of(encoder.model)
    Finetune(epochs=1, batch_size=32, evaluations=1).apply(encoder, make_bench(encoder))
    assert_equal_weights(before, weights_of(encoder.model))


def test_nothing_is_trained_twice(opened, data, tmp_path):
    cache = Cache(tmp_path)
    first, record = finetuned_base(opened, data, 0, cache, Quiet())
    second, again = finetuned_base(opened, data, 0, cache, Quiet())
    assert again == record
    assert_equal_weights(weights_of(first.model), weights_of(second.model))
    assert len(list((tmp_path / "bases").iterdir())) == 1


@pytest.mark.parametrize("change", ["seed", "data", "settings", "settings of the task", "length"])
def test_whatever_decides_the_weights_decides_the_key(change, opened, data, tiny_base, tiny_task):
    before = opened.key(data, 0)
    if change == "seed":
        assert opened.key(data, 1) != before
    elif change == "data":
        assert opened.key(read_task(tiny_task.declared(Path()), limit=50), 0) != before
    elif change == "settings":
        slower = opened.study.changed(training=Training(learning_rate=1e-5))
        assert OpenedBase.open(slower).key(data, 0) != before
    elif change == "settings of the task":
        slower = opened.study.changed(task_training={data.task.name: Training(learning_rate=1e-5)})
        assert OpenedBase.open(slower).key(data, 0) != before
    else:
        assert OpenedBase.open(opened.study.changed(max_length=16)).key(data, 0) != before


CHILD = """
import os, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {tests!r})
from tiny import study_of
from workbench.cache import Cache
from workbench.finetuned import OpenedBase, finetuned_base
from workbench.progress import Quiet
from workbench.study import Study
from workbench.tasks.data import read_task
study = Study.model_validate_json(Path({study!r}).read_text())
data = read_task(study.tasks[0].declared(Path()))
finetuned_base(OpenedBase.open(study), data, 0, Cache(Path({cache!r})), Quiet())
"""


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def test_a_training_killed_after_a_checkpoint_ends_with_the_weights_of_an_undisturbed_one(opened, data, tmp_path):
    undisturbed, _ = finetuned_base(opened, data, 0, Cache(tmp_path / "whole"), Quiet())
    study = tmp_path / "study.json"
    study.write_text(opened.study.model_dump_json())
    cache = tmp_path / "cut"
    code = CHILD.format(tests=str(Path(__file__).parents[1]), study=str(study), cache=str(cache))
    child = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    )
    workplace = cache / "unfinished" / opened.key(data, 0)
    wait_for(lambda: list(workplace.glob("checkpoint-*/trainer_state.json")) or child.poll() is not None)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert last_whole_checkpoint(workplace)
    assert not (cache / "bases").exists()
    resumed, _ = finetuned_base(opened, data, 0, Cache(cache), Quiet())
    assert_equal_weights(weights_of(undisturbed.model), weights_of(resumed.model))
    assert not workplace.exists()


def test_a_half_written_checkpoint_is_passed_over(tmp_path):
    for step in (5, 10):
        (tmp_path / f"checkpoint-{step}").mkdir()
    (tmp_path / "checkpoint-5" / "trainer_state.json").write_text(json.dumps({"global_step": 5}))
    (tmp_path / "checkpoint-10" / "trainer_state.json").write_text('{"global_st')
    assert last_whole_checkpoint(tmp_path) == str(tmp_path / "checkpoint-5")
    assert not (tmp_path / "checkpoint-10").exists()


def test_every_epoch_visits_every_example_once_in_another_order():
    lengths = np.random.default_rng(0).integers(3, 60, 1000)
    sampler = LengthGrouped(lengths, batch_size=16, seed=1)
    first = list(sampler)
    sampler.set_epoch(1)
    second = list(sampler)
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first != second
    sampler.set_epoch(0)
    assert list(sampler) == first


def test_grouping_by_length_spares_most_of_the_padding():
    lengths = np.random.default_rng(0).integers(3, 60, 4000)
    sampler = LengthGrouped(lengths, batch_size=16, seed=1)
    order = np.asarray(list(sampler))
    padded = sum(16 * lengths[order[at : at + 16]].max() for at in range(0, 4000, 16))
    assert padded < 1.1 * lengths.sum()


def test_a_base_that_carries_a_fitting_head_is_used_as_it_is(opened, data, tiny_task, tmp_path):
    trained, _ = finetuned_base(opened, data, 0, Cache(tmp_path / "cache"), Quiet())
    trained.save(tmp_path / "ready")
    ready = OpenedBase.open(study_of(tmp_path / "ready", tiny_task))
    assert not ready.needs_training(data.task)
    used, record = finetuned_base(ready, data, 0, Cache(tmp_path / "cache"), Quiet())
    assert not record.finetuned
    assert_equal_weights(weights_of(trained.model), weights_of(used.model))


def test_never_training_a_base_without_a_head_is_refused(tiny_base, tiny_task):
    never = OpenedBase.open(study_of(tiny_base("bert"), tiny_task, finetune="never"))
    with pytest.raises(PlanError, match="carries no head"):
        never.needs_training(tiny_task.declared(Path()))


def test_shared_weights_survive_checkpoints(tiny_encoder, make_bench):
    encoder = tiny_encoder("bert")
    layers = encoder.model.bert.encoder.layer
    layers[1].output.dense.weight = layers[0].output.dense.weight
    trained = Finetune(epochs=2, batch_size=32, evaluations=2).apply(encoder, make_bench(encoder))
    ours = trained.model.bert.encoder.layer
    assert ours[1].output.dense.weight is ours[0].output.dense.weight
