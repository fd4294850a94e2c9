"""The front door opens on an empty store and on a kept study."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from workbench.environment import Environment
from workbench.run import Run
from workbench.store import RunStore

APP = str(Path(__file__).parents[1] / "app.py")


def kept_run(recipe: str, accuracy: float) -> Run:
    steps = [] if recipe == "baseline" else [{"use": "layer-drop"}]
    return Run.model_validate(
        {
            "id": recipe,
            "fingerprint": "f",
            "study": "kept",
            "recipe": {"name": recipe, "steps": steps},
            "task": "reviews",
            "metrics": ["accuracy"],
            "seed": 0,
            "created": "2026-01-01T00:00:00.000+00:00",
            "command": "workbench run kept.yaml",
            "environment": Environment.observe(),
            "data": {"source": "files", "fingerprint": "d", "rows": {"test": 2}},
            "measurements": [{"metric": "accuracy", "unit": "score", "better": "higher", "values": [accuracy]}],
        }
    )


@pytest.fixture
def store(tmp_path, monkeypatch) -> RunStore:
    monkeypatch.setenv("WORKBENCH_STORE", str(tmp_path))
    made = RunStore(tmp_path)
    made.prepare()
    return made


def test_an_empty_store_says_what_to_do_next(store):
    page = AppTest.from_file(APP).run(timeout=60)
    assert not page.exception
    assert "make demo" in page.info[0].value


def test_a_kept_study_is_shown_beside_its_baseline_and_damage_is_named(store):
    for recipe, accuracy in (("baseline", 0.8), ("short", 0.6)):
        run = kept_run(recipe, accuracy)
        with store.writing(run.id) as folder:
            store.keep(run, folder)
    (store.folder("damaged")).mkdir()
    page = AppTest.from_file(APP).run(timeout=60)
    assert not page.exception
    table = page.dataframe[0].value
    assert list(table["recipe"]) == ["baseline", "short"]
    assert list(table["kept"]) == ["100.0 %", "75.0 %"]
    assert "damaged" in page.warning[0].value
