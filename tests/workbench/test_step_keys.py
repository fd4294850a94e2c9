"""The keys that a record tells are those under which its steps and its base were really cached."""

from pathlib import Path

from records import a_run
from tiny import study_of

from workbench.cache import Cache
from workbench.finetuned import finetuned_base
from workbench.leftovers import Survey
from workbench.plan import make_plan
from workbench.progress import Quiet
from workbench.run import Run
from workbench.step_keys import step_keys_of
from workbench.steps import StepMaker
from workbench.store import RunStore

BRIEF = {"epochs": 1, "batch_size": 32, "evaluations": 1, "learning_rate": 1e-3}


def made(cache: Cache, folder: Path, base: Path, task: object) -> Run:
    """The record of a run whose base and steps are in the cache: a layer left out, then recovery training, twice."""
    training = {"use": "finetune", **BRIEF}
    recipe = {"name": "drop", "steps": [{"use": "layer-drop", "keep": [0]}, training, training]}
    plan = make_plan(study_of(base, task, recipes=[recipe], training=BRIEF))
    planned = plan.runs[-1]
    encoder, base_record = finetuned_base(plan.base, planned.data, planned.seed, cache, Quiet())
    maker, steps = StepMaker(planned, encoder, folder, Quiet(), cache), []
    for number in range(1, len(planned.strategies) + 1):
        encoder, step = maker.make(number, encoder)
        steps.append(step)
    data = {"source": "files", "fingerprint": planned.data.fingerprint, "rows": {"test": 2}}
    whole = a_run("drop", "drop", seed=planned.seed, data=data, base=base_record, steps=tuple(steps))
    return Run.model_validate_json(whole.model_dump_json())


def test_what_a_kept_run_was_made_from_is_known_by_its_record_and_stays(tmp_path, tiny_base, tiny_task):
    cache, store = Cache(tmp_path / "cache"), RunStore(tmp_path / "store")
    run = made(cache, tmp_path, tiny_base("bert"), tiny_task)
    cached = {path.name for path in (cache.root / "steps").iterdir()}
    # Leaving a layer out needs no training, so there is nothing to cache.
    assert cached == set(step_keys_of(run)[1:])
    assert len(cached) == 2
    store.prepare()
    with store.writing(run.id) as folder:
        store.keep(run, folder)
    found = {sort.name: sort for sort in Survey.take(store, cache, 0).sorts()}
    for name, count in (("fine-tuned bases", 1), ("trained steps", 2)):
        assert (found[name].count, found[name].leftovers) == (count, ())
    assert len(found["tokens"].leftovers) == found["tokens"].count > 0


def test_a_run_that_failed_before_it_had_a_base_has_no_steps():
    assert step_keys_of(a_run("x")) == []
