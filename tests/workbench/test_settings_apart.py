"""Seeds of one recipe that were made otherwise are told, with the setting and its values."""

from typing import Any

from records import a_run

from workbench.run import Run
from workbench.settings_apart import made_apart

COST = {"wall_seconds": 1.0, "cpu_seconds": 1.0}


def a_step(use: str = "layer-drop", version: str = "1", **options: Any) -> dict[str, Any]:
    return {"use": use, "options": options, "provider": "x", "version": version, "detail": {}, "cost": COST}


def made(seed: int, *steps: dict[str, Any], **changes: Any) -> Run:
    return a_run(f"run-{seed}", "drop", seed=seed, steps=steps, **changes)


def tuned(seed: int, **settings: Any) -> Run:
    base = {"name": "b", "hash": "h", "finetuned": True, "key": "k", "cost": COST}
    return a_run(f"base-{seed}", seed=seed, base={**base, "settings": settings})


def test_seeds_made_alike_need_no_word():
    assert list(made_apart([made(seed, a_step(refit=True)) for seed in (0, 1)])) == []


def test_an_option_that_differs_is_told_as_a_study_writes_it():
    runs = [made(0, a_step(refit=True, keep=3)), made(1, a_step(refit="classes", keep=3))]
    assert list(made_apart(runs)) == [
        "seeds of drop on reviews were made with different settings: layer-drop refit (true, classes)"
    ]


def test_recipes_with_the_same_difference_share_a_sentence():
    runs = [made(0, a_step(keep=3)), made(1, a_step(keep=4))]
    elsewhere = [run.model_copy(update={"task": "news"}) for run in runs]
    assert list(made_apart([*runs, *elsewhere])) == [
        "seeds of drop on reviews, drop on news were made with different settings: layer-drop keep (3, 4)"
    ]


def test_a_strategy_used_twice_is_compared_place_by_place():
    assert list(made_apart([made(seed, a_step(keep=4), a_step(keep=3)) for seed in (0, 1)])) == []
    (told,) = made_apart([made(0, a_step(keep=4), a_step(keep=3)), made(1, a_step(keep=5), a_step(keep=3))])
    assert told.endswith(": layer-drop keep (4, 5)")


def test_other_steps_and_other_versions_are_told():
    (told,) = made_apart([made(0, a_step()), made(1, a_step(version="2"), a_step("onnx"))])
    assert told.endswith(": steps (layer-drop, layer-drop + onnx), layer-drop version (1, 2)")


def test_an_option_that_older_records_do_not_know_is_no_difference():
    assert list(made_apart([made(0, a_step(keep=3)), made(1, a_step(keep=3, ridge=0.1))])) == []


def test_fine_tuning_is_told_of_the_baseline_and_never_what_it_came_to():
    runs = [tuned(0, epochs=3.0, select={"step": 420}), tuned(1, epochs=1.0, select={"step": 60})]
    assert list(made_apart(runs)) == [
        "seeds of baseline on reviews were made with different settings: fine-tuning epochs (3.0, 1.0)"
    ]


def test_failed_runs_do_not_count():
    failure = {"stage": "apply", "message": "no room"}
    assert list(made_apart([made(0, a_step(keep=3)), made(1, a_step(keep=4), failure=failure)])) == []
