"""Stages tell what each step of a recipe gave and cost, the base first."""

from records import a_run, a_step, observed

from workbench.stages import stages_of


def test_the_base_and_every_step_are_told_in_order():
    base = a_run(measurements=observed(accuracy=0.9, disk=400, parameters=100, macs=7))
    steps = [a_step(2, accuracy=0.5, disk=200, parameters=50, agreement=0.6), a_step(3, accuracy=0.8, disk=200)]
    run = a_run("r", "drop", steps=steps, measurements=observed(accuracy=0.8, disk=200))
    first, second, third = stages_of(run, base)
    assert (first.name, second.name, third.name) == ("base", "1. layer-drop", "2. layer-drop")
    assert (first.quality, first.disk_bytes, first.parameters, first.macs) == (0.9, 400, 100, 7)
    assert (first.agreement, first.cost) == (None, None)
    assert (second.quality, second.disk_bytes, second.parameters, second.agreement) == (0.5, 200, 50, 0.6)
    assert (second.cost.wall_seconds, second.cost.cpu_seconds) == (2, 4)
    assert third.quality == 0.8


def test_what_was_not_measured_after_a_step_is_absent():
    stage = stages_of(a_run("r", "drop", steps=[a_step()]), a_run())[1]
    assert (stage.quality, stage.disk_bytes, stage.parameters, stage.macs, stage.agreement) == (None,) * 5


def test_quality_is_the_first_metric_of_the_run_averaged_over_the_parts_of_the_test():
    step = a_step(f1=0.3, accuracy__matched=0.8, accuracy__mismatched=0.6)
    base = a_run(measurements=observed(f1=0.4, accuracy__matched=0.9, accuracy__mismatched=0.7))
    assert [stage.quality for stage in stages_of(a_run("r", "drop", steps=[step]), base)] == [0.8, 0.7]
    asked_f1 = a_run("r", "drop", steps=[step], metrics=["f1"])
    assert [stage.quality for stage in stages_of(asked_f1, base)] == [0.4, 0.3]


def test_the_baseline_has_one_stage():
    assert len(stages_of(a_run(), a_run())) == 1
