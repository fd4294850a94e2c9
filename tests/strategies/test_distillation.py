"""A student learns what its teacher says; the teacher is asked once."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny import FAMILIES

from strategies.distillation import Distillation
from strategies.layer_drop import LayerDrop
from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import layer_groups, layers_of
from workbench.plan import sketch_of
from workbench.runtimes.runtime import Runtime
from workbench.shapes import SHAPES
from workbench.strategy import check_fit
from workbench.student import UNLABELLED, Student, Weights, relation_loss
from workbench.tasks.data import rows_fingerprint
from workbench.teacher import Teacher, hidden_states, with_projections

BRIEF = {"epochs": 1, "batch_size": 16, "evaluations": 1, "learning_rate": 1e-3}


class Counting(Runtime):
    """A real runtime that counts the rows it was asked."""

    name = "torch"

    def __init__(self, inner):
        self.inner = inner
        self.model = inner.model
        self.rows = 0

    def logits(self, batch):
        self.rows += len(batch["input_ids"])
        return self.inner.logits(batch)

    def save(self, folder):
        self.inner.save(folder)

    def inventory(self):
        return self.inner.inventory()

    def macs(self, batch):
        return self.inner.macs(batch)


@pytest.fixture
def own_cache(tmp_path):
    return Cache(tmp_path / "own-cache")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_loss_at_once_trains_a_shorter_student_of_each_family(family, tiny_encoder, make_bench):
    base = tiny_encoder(family)
    bench = make_bench(base)
    student = LayerDrop(layers=2).apply(base, bench)
    taught = Distillation(**BRIEF, hidden=1.0, relations=1.0).apply(student, bench)
    tokens = bench.tokens(base, bench.data.select)
    assert len(taught.logits(tokens)) == len(bench.data.select)
    assert not np.array_equal(taught.logits(tokens), student.logits(tokens))
    assert taught.lineage.portable


def test_a_second_student_never_asks_the_teacher_again(tiny_encoder, make_bench, own_cache):
    base = tiny_encoder("bert")
    counting = Counting(base.runtime)
    teacher = replace(base, runtime=counting)
    for layers in (2, 1):
        bench = replace(make_bench(teacher), cache=own_cache)
        Distillation(**BRIEF).apply(LayerDrop(layers=layers).apply(base, bench), bench)
        assert counting.rows == len(bench.data.train)


def test_another_teacher_is_asked_anew(tiny_encoder, make_bench, own_cache):
    first, second = tiny_encoder("bert", seed=0), tiny_encoder("bert", seed=1)
    bench = replace(make_bench(first), cache=own_cache)
    rows = bench.data.train
    told = [Teacher(encoder, bench).logits(rows).values for encoder in (first, second)]
    assert not np.array_equal(*told)


def test_kept_outputs_are_memory_mapped_and_equal_the_teachers_own(tiny_encoder, make_bench, own_cache):
    base = tiny_encoder("bert")
    bench = replace(make_bench(base), cache=own_cache)
    rows = bench.data.train
    kept = Teacher(base, bench).logits(rows).values
    assert isinstance(kept, np.memmap)
    np.testing.assert_array_equal(kept, base.logits(bench.tokens(base, rows)))


@pytest.mark.parametrize("family", FAMILIES)
def test_kept_hidden_states_and_projections_are_those_of_the_layer(family, tiny_encoder, make_bench, own_cache):
    base = tiny_encoder(family)
    bench = replace(make_bench(base), cache=own_cache)
    rows = bench.data.calibrate[:5]
    tokens = bench.tokens(base, rows)
    batch = {name: torch.from_numpy(values) for name, values in tokens.batch(range(5)).items()}
    batch = base.runtime.accepted(batch)
    with torch.inference_mode():
        states = hidden_states(base.model, batch)
        _, joined = with_projections(base.model, batch, 2)
    teacher = Teacher(base, bench)
    mask = batch["attention_mask"].bool()
    kept = torch.from_numpy(teacher.hidden_states(rows, [3, 1])[3].batch(tokens, list(range(5))))
    torch.testing.assert_close(kept[mask], states[3][mask], atol=5e-3, rtol=5e-3)
    kept = torch.from_numpy(teacher.projections(rows, 2).batch(tokens, list(range(5))))
    torch.testing.assert_close(kept[mask], joined[mask], atol=5e-3, rtol=5e-3)


def test_projections_of_a_shared_layer_come_from_its_own_turn(tiny_encoder, make_bench):
    albert = tiny_encoder("albert")
    bench = make_bench(albert)
    batch = bench.tokens(albert, bench.data.calibrate[:2]).batch([0, 1])
    tensors = {name: torch.from_numpy(values) for name, values in batch.items()}
    assert layer_groups(albert.model.config) == [0, 0, 0, 0]
    assert len(layers_of(albert.model)) == 1
    with torch.inference_mode():
        early, late = (with_projections(albert.model, tensors, layer)[1] for layer in (0, 3))
    assert not torch.allclose(early, late)


def test_equal_relations_cost_nothing_and_others_cost_something():
    torch.manual_seed(0)
    vectors, mask = torch.randn(2, 5, 48), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool()
    assert relation_loss(vectors, vectors, mask, 4).item() == pytest.approx(0, abs=1e-6)
    other = torch.randn(2, 5, 24)
    assert relation_loss(other, vectors, mask, 4).item() > 0.1


def test_relations_ignore_padding():
    torch.manual_seed(0)
    mine, theirs = torch.randn(1, 3, 24), torch.randn(1, 3, 24)
    mask = torch.tensor([[1, 1, 1]]).bool()
    padded = [torch.cat([part, torch.randn(1, 2, 24)], 1) for part in (mine, theirs)]
    longer = torch.tensor([[1, 1, 1, 0, 0]]).bool()
    short, long = relation_loss(mine, theirs, mask, 2), relation_loss(*padded, longer, 2)
    assert short.item() == pytest.approx(long.item(), rel=1e-5)


def _weights(**changes):
    settings = {"soft": 1.0, "hard": 0.0, "hidden": 0.0, "relations": 0.0, "temperature": 2.0, "hidden_loss": "mse"}
    return Weights(**{**settings, "relation_heads": 1, "layer_map": {}, **changes})


def test_the_soft_loss_is_the_closed_form(tiny_encoder):
    student = Student(tiny_encoder("bert").model, _weights(), 0, regression=False)
    ours, theirs = torch.tensor([[1.0, -1.0]]), torch.tensor([[0.5, 0.0]])
    wanted = torch.softmax(theirs / 2, -1)
    closed = 4 * (wanted * (wanted.log() - torch.log_softmax(ours / 2, -1))).sum()
    assert student._soft(ours, theirs).item() == pytest.approx(closed.item(), rel=1e-5)


def test_rows_without_a_label_do_not_count_in_the_hard_loss(tiny_encoder):
    student = Student(tiny_encoder("bert").model, _weights(hard=1.0), 0, regression=False)
    logits = torch.tensor([[1.0, -1.0], [3.0, 2.0]])
    alone = student._hard(logits[:1], torch.tensor([1]))
    assert student._hard(logits, torch.tensor([1, UNLABELLED])).item() == pytest.approx(alone.item())
    assert student._hard(logits, torch.tensor([UNLABELLED, UNLABELLED])).item() == 0


def test_a_regression_student_learns_the_teachers_score(tiny_encoder, tiny_regression, make_bench):
    base = tiny_encoder("bert", tiny_regression)
    bench = make_bench(base, tiny_regression)
    student = tiny_encoder("bert", tiny_regression, seed=5)
    options = {**BRIEF, "epochs": 6, "soft": 1.0, "hard": 0.0}
    taught = Distillation(**options).apply(student, bench)
    tokens = bench.tokens(base, bench.data.calibrate)
    kind, wanted = bench.data.kind, base.logits(tokens)
    assert kind.divergence(taught.logits(tokens), wanted) < kind.divergence(student.logits(tokens), wanted)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_the_rate_for_numbers_is_taken_where_the_task_asks_for_one(
    kind, tiny_encoder, tiny_task, tiny_regression, make_bench
):
    task = tiny_regression if kind == "regression" else tiny_task
    base = tiny_encoder("bert", task)
    student = tiny_encoder("bert", task, seed=5)
    taught = {}
    for name, rates in {"low": {}, "both": {"regression_rate": 1e-3}, "high": {"learning_rate": 1e-3}}.items():
        bench = make_bench(base, task)
        options = {**BRIEF, "learning_rate": 1e-5, **rates}
        taught[name] = Distillation(**options).apply(student, bench).logits(bench.tokens(base, bench.data.select))
    same, other = ("high", "low") if kind == "regression" else ("low", "high")
    assert np.array_equal(taught["both"], taught[same])
    assert not np.array_equal(taught["both"], taught[other])


@pytest.mark.parametrize(
    ("drop", "options", "learned"),
    [
        (LayerDrop(keep=(0, 3)), {}, [2, 4]),
        (LayerDrop(keep=(0, 3), refit=True), {}, [3, 4]),
        (LayerDrop(keep=(0, 3), refit=True), {"layer_map": (1, 4)}, [1, 4]),
    ],
    ids=["evenly spread", "what they stand for", "as asked"],
)
def test_a_student_s_layers_learn_from_those_of_the_teacher(drop, options, learned, tiny_encoder, make_bench):
    base = tiny_encoder("bert")
    bench = make_bench(base)
    student = drop.apply(base, bench)
    weights = Distillation(hidden=1.0, **options)._weights(student.model, base, student.lineage.stands_for)
    assert list(weights.layer_map.values()) == learned


def test_the_checkpoint_closest_to_the_teacher_is_kept_whatever_the_labels_say(
    tiny_encoder, tiny_regression, make_bench
):
    base = tiny_encoder("bert", tiny_regression)
    plain = make_bench(base, tiny_regression)
    said = base.logits(plain.tokens(base, plain.data.select))
    # The closer a student comes to the teacher, the worse it scores on these.
    contrary = tuple(row._replace(label=-float(score[0])) for row, score in zip(plain.data.select, said, strict=True))
    student = tiny_encoder("bert", tiny_regression, seed=5)
    options = {**BRIEF, "epochs": 6, "evaluations": 6, "soft": 1.0, "hard": 0.0}
    distances = {}
    for keep in ("best", "closest"):
        bench = make_bench(base, tiny_regression)
        bench = replace(bench, data=replace(bench.data, select=contrary))
        taught = Distillation(**options, keep=keep).apply(student, bench)
        tokens = bench.tokens(base, contrary)
        distances[keep] = bench.data.kind.divergence(taught.logits(tokens), base.logits(tokens))
        assert taught.lineage.steps[-1].detail["select"]["metric"] == bench.data.task.headline
    assert distances["closest"] < distances["best"]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_variants_of_rows_are_labelled_by_the_teacher(
    task, tiny_encoder, tiny_task, tiny_regression, make_bench, own_cache
):
    chosen = tiny_regression if task == "regression" else tiny_task
    base = tiny_encoder("bert", chosen)
    bench = replace(make_bench(base, chosen), cache=own_cache)
    taught = Distillation(**BRIEF, augment=2).apply(base, bench)
    assert taught.lineage.steps[-1].detail["rows"] == 3 * len(bench.data.train)
    assert all(torch.isfinite(parameter).all() for parameter in taught.model.parameters())


def test_a_named_shape_has_the_published_sizes_and_survives_saving(tiny_encoder, make_bench, tmp_path):
    base = tiny_encoder("roberta")
    bench = make_bench(base)
    student = Distillation(**BRIEF, student="bert-tiny", hidden=1.0).apply(base, bench)
    config = student.model.config
    sizes = (config.num_hidden_layers, config.hidden_size, config.num_attention_heads, config.intermediate_size)
    assert sizes == tuple(SHAPES["bert-tiny"])
    student.save(tmp_path)
    tokens = bench.tokens(student, bench.data.select)
    np.testing.assert_array_equal(Encoder.load(tmp_path).logits(tokens), student.logits(tokens))


def test_frozen_embeddings_stay_as_they_were(tiny_encoder, make_bench):
    base = tiny_encoder("bert")
    taught = Distillation(**BRIEF, freeze_embeddings=True).apply(base, make_bench(base))
    before, after = (encoder.model.bert.embeddings.word_embeddings.weight for encoder in (base, taught))
    torch.testing.assert_close(before, after, rtol=0, atol=0)
    assert all(parameter.requires_grad for parameter in taught.model.parameters())


def test_the_control_has_the_same_budget_and_no_teacher():
    control = Distillation(epochs=2, augment=3, hidden=1.0, keep="closest").control()
    assert control.keep == "best"
    assert (control.soft, control.hidden, control.relations, control.hard) == (0, 0, 0, 1)
    assert control.epochs == 2 * (1 + 3)


def _sketch(tiny_encoder, tiny_task, tmp_path):
    return sketch_of(tiny_encoder("bert").model.config, tiny_task.declared(tmp_path))


def test_a_teacher_with_other_labels_is_refused_before_work(tiny_encoder, tiny_task, tiny_regression, tmp_path):
    tiny_encoder("bert", tiny_regression).save(tmp_path)
    with pytest.raises(PlanError, match="other labels"):
        check_fit(Distillation(teacher=str(tmp_path)), _sketch(tiny_encoder, tiny_task, tmp_path))


def test_a_teacher_with_another_tokenizer_may_only_be_asked_for_outputs(tiny_encoder, tiny_task, tmp_path):
    tiny_encoder("roberta").save(tmp_path)
    sketch = replace(_sketch(tiny_encoder, tiny_task, tmp_path), tokenizer="another")
    check_fit(Distillation(teacher=str(tmp_path)), sketch)
    with pytest.raises(PlanError, match="splits text otherwise"):
        check_fit(Distillation(teacher=str(tmp_path), hidden=1.0), sketch)


def test_a_given_teacher_is_the_one_asked(tiny_encoder, make_bench, tmp_path):
    base, other = tiny_encoder("bert"), tiny_encoder("roberta", seed=3)
    other.save(tmp_path)
    bench = make_bench(base)
    options = {**BRIEF, "epochs": 8, "soft": 1.0, "hard": 0.0}
    taught = Distillation(**options, teacher=str(tmp_path)).apply(base, bench)
    kind, rows = bench.data.kind, bench.data.calibrate
    wanted = other.logits(bench.tokens(other, rows))
    before, after = (kind.divergence(encoder.logits(bench.tokens(base, rows)), wanted) for encoder in (base, taught))
    assert after < before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"layer_map": (1, 2)}, "layer_map names 2 teacher layers for a student of 4"),
        ({"student": "bert-tiny", "freeze_embeddings": True}, "random"),
    ],
)
def test_senseless_options_are_refused_before_work(options, words, tiny_encoder, tiny_task, tmp_path):
    with pytest.raises(PlanError, match=words):
        check_fit(Distillation(**options), _sketch(tiny_encoder, tiny_task, tmp_path))


def test_all_losses_off_is_refused():
    with pytest.raises(ValueError, match="every loss has weight 0"):
        Distillation(soft=0, hard=0)


def test_unlabelled_rows_keep_one_fingerprint():
    from workbench.tasks.task import Row

    assert rows_fingerprint([Row("a", ("x",), math.nan)]) == rows_fingerprint([Row("a", ("x",), math.nan)])
