"""Feed-forward pruning: the least important neurons are gone; one width for all opens with stock transformers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from graphs import answers
from pydantic import ValidationError
from tiny import FAMILIES, study_of, write_base
from transformers import AutoModelForSequenceClassification

from strategies.ffn_pruning import FfnPruning
from strategies.head_pruning import HeadPruning
from strategies.layer_drop import LayerDrop
from strategies.layer_sharing import LayerSharing
from strategies.onnx_graph import OnnxGraph
from strategies.openvino_graph import OpenVinoGraph
from workbench.bench import Bench
from workbench.cache import Cache
from workbench.encoder import Encoder
from workbench.errors import PlanError
from workbench.families import family_of, layers_of, part, quantity
from workbench.finetuned import OpenedBase
from workbench.lineage import Manifest
from workbench.narrowing import counts_of, units_of
from workbench.progress import Quiet
from workbench.runtimes.torch_runtime import TorchRuntime
from workbench.sketch import Sketch
from workbench.strategy import check_fit
from workbench.study import Study
from workbench.tasks.data import read_task
from workbench.teacher import hidden_states

BERT = Sketch(family="bert", layers=4, hidden=32, heads=4, ffn=64, vocabulary=125, kind="classification")
UNEVEN = FfnPruning(share=0.5, spread="global", multiple=4, refit=False)


class Listening(Quiet):
    """Keeps what was said."""

    def __init__(self):
        self.heard = []

    def say(self, text):
        self.heard.append(text)


def detail(encoder):
    return encoder.lineage.steps[-1].detail


@pytest.mark.parametrize("options", [{"share": 1.0}, {"width": 64}, {"share": 1.0, "spread": "global", "multiple": 48}])
@pytest.mark.parametrize("family", FAMILIES)
def test_keeping_every_neuron_is_exact_to_rounding(family, options, lively, stepped):
    before = answers(lively(family))
    same = stepped(family, FfnPruning(**options))
    np.testing.assert_allclose(answers(same), before, atol=1e-5)
    assert same.runtime.parameters() == lively(family).runtime.parameters()
    assert same.lineage.portable


@pytest.mark.parametrize("family", FAMILIES)
def test_neurons_that_do_nothing_go_first(family, lively, make_bench):
    encoder = lively(family)
    for entry, units in enumerate(units_of(encoder.model, "ffn")):
        with torch.no_grad():
            units.reader.weight[:, entry::4] = 0
    smaller = FfnPruning(width=48).apply(encoder, make_bench(encoder))
    assert detail(smaller)["importance_kept"] == 1
    np.testing.assert_allclose(answers(smaller), answers(encoder), atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_width_for_all_opens_with_stock_transformers(family, stepped, tmp_path):
    smaller = stepped(family, FfnPruning(spread="even"))
    assert counts_of(smaller.model, "ffn") == detail(smaller)["widths"] == [32] * len(layers_of(smaller.model))
    smaller.save(tmp_path)
    assert Manifest.read(tmp_path).portable
    model, loading = AutoModelForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(loading.values()), loading
    assert quantity(model.config, "intermediate_size") == 32
    stock = replace(smaller, runtime=TorchRuntime(model))
    np.testing.assert_array_equal(answers(stock), answers(smaller))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_uneven_widths_reload_and_both_graphs_agree_and_stock_classes_are_not_promised(
    family, stepped, make_bench, tmp_path
):
    smaller = stepped(family, UNEVEN)
    widths = detail(smaller)["widths"]
    assert len(set(widths)) > 1
    assert sum(widths) == 4 * 64 // 2
    assert {width % 4 for width in widths} == {0}
    smaller.save(tmp_path)
    assert not Manifest.read(tmp_path).portable
    again = Encoder.load(tmp_path)
    assert counts_of(again.model, "ffn") == widths
    np.testing.assert_array_equal(answers(again), answers(smaller))
    for graph in (OnnxGraph(), OpenVinoGraph()):
        np.testing.assert_allclose(answers(graph.apply(again, make_bench(again))), answers(smaller), atol=1e-4)


def test_the_one_layer_of_an_albert_stays_one_width_however_it_is_spread(stepped):
    smaller = stepped("albert", FfnPruning(spread="global", multiple=8))
    assert detail(smaller)["widths"] == [32]
    assert smaller.lineage.portable


def test_each_group_of_an_albert_is_pruned_once_for_all_its_turns(tiny_task, make_bench, tmp_path):
    base = write_base("albert", tmp_path / "base", num_hidden_groups=2, initializer_range=0.2)
    encoder = OpenedBase.open(study_of(base, tiny_task)).untrained(tiny_task.declared(Path()), 0)
    smaller = FfnPruning(spread="global", multiple=1).apply(encoder, make_bench(encoder))
    assert len(set(detail(smaller)["widths"])) == 2
    (tmp_path / "artifact").mkdir()
    smaller.save(tmp_path / "artifact")
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path / "artifact")), answers(smaller))


def test_a_later_even_step_does_not_make_uneven_layers_portable_again(stepped, tmp_path):
    smaller = stepped("bert", UNEVEN, FfnPruning(share=0.5, spread="even", multiple=1))
    assert len(set(detail(smaller)["widths"])) > 1
    smaller.save(tmp_path)
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path)), answers(smaller))
    flat = stepped("bert", UNEVEN, FfnPruning(share=0.01, multiple=4))
    assert detail(flat)["widths"] == [4] * 4
    assert flat.lineage.steps[-1].portable
    assert not flat.lineage.portable


def test_after_head_pruning_one_width_reloads_through_the_workbench(stepped, tmp_path):
    both = stepped("distilbert", HeadPruning(heads=2), FfnPruning(width=32))
    both.save(tmp_path)
    assert not Manifest.read(tmp_path).portable
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path)), answers(both))


def test_uneven_layers_can_be_dropped_and_reload_and_cannot_be_shared(stepped, tmp_path):
    shorter = stepped("roberta", UNEVEN, LayerDrop(keep=(0, 2, 3)))
    shorter.save(tmp_path)
    np.testing.assert_array_equal(answers(Encoder.load(tmp_path)), answers(shorter))
    with pytest.raises(PlanError, match="already uneven in neurons; move it before that step"):
        check_fit(LayerSharing(), check_fit(UNEVEN, BERT))


@pytest.mark.parametrize("family", FAMILIES)
def test_refitting_comes_closer_on_the_rows_it_saw_and_on_others(family, lively, make_bench):
    encoder = lively(family)
    bench = make_bench(encoder)
    tokens = bench.tokens(encoder, bench.data.train)
    wanted = encoder.logits(tokens)
    plain, refitted = (FfnPruning(width=24, refit=refit).apply(encoder, bench) for refit in (False, True))
    made = detail(refitted)
    assert all(after < before for before, after in zip(made["error_cut"], made["error_refit"], strict=True))
    far, near = (bench.data.kind.divergence(found.logits(tokens), wanted) for found in (plain, refitted))
    assert near < far


def test_in_several_passes_widths_come_to_the_same_and_neurons_are_chosen_anew(stepped):
    once, often = (stepped("bert", FfnPruning(width=16, passes=passes)) for passes in (1, 3))
    assert detail(once)["widths"] == detail(often)["widths"] == [16] * 4
    assert not np.array_equal(answers(once), answers(often))
    uneven = stepped("bert", FfnPruning(share=0.25, passes=2, multiple=4, spread="global"))
    assert sum(detail(uneven)["widths"]) == 64


def test_the_neurons_left_are_the_models_own(stepped, lively):
    smaller, encoder = stepped("bert", FfnPruning(width=16, refit=False)), lively("bert")
    family = family_of(encoder.model.config)
    for ours, theirs in zip(layers_of(smaller.model), layers_of(encoder.model), strict=True):
        first, before = (part(layer, family.ffn_maps[0]).weight for layer in (ours, theirs))
        assert (first[:, None] == before[None]).all(dim=2).sum() == 16


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": 40}, "no multiple of 32: 40"),
        ({"share": 0.3, "spread": "even", "multiple": 1}, "no multiple of 32: 19"),
        ({"share": 1.0}, "nothing was pruned: every neuron stays"),
        ({"width": 32}, None),
    ],
)
def test_a_width_that_suits_no_kernel_is_taken_with_a_remark(options, said, tiny_encoder, make_bench):
    encoder, listening = tiny_encoder("bert"), Listening()
    smaller = FfnPruning(**options, refit=False).apply(encoder, replace(make_bench(encoder), progress=listening))
    if said is None:
        assert "remark" not in detail(smaller)
        assert listening.heard == []
    else:
        assert detail(smaller)["remark"].startswith(said)
        assert listening.heard == [f"  {detail(smaller)['remark']}"]


def test_such_a_width_is_remarked_before_any_work_too():
    (said,) = FfnPruning(width=40).remarks(check_fit(FfnPruning(width=40), BERT))
    assert said.startswith("no multiple of 32: 40")
    assert FfnPruning(width=32).remarks(check_fit(FfnPruning(width=32), BERT)) == ()


def test_the_outline_tells_the_width():
    assert check_fit(FfnPruning(spread="even"), BERT).ffn == 32
    assert check_fit(FfnPruning(width=40), BERT).ffn == 40
    assert check_fit(FfnPruning(share=0.01, spread="even"), BERT).ffn == 32
    assert check_fit(FfnPruning(share=0.3, spread="even", multiple=1), BERT).ffn == 19
    assert check_fit(FfnPruning(), BERT) == BERT.with_traits("uneven in neurons")
    with pytest.raises(PlanError, match="width: 65 neurons cannot stay, each layer has 64"):
        check_fit(FfnPruning(width=65), BERT)
    with pytest.raises(PlanError, match="width: layers already differ in their neurons; give share"):
        check_fit(FfnPruning(width=16), check_fit(UNEVEN, BERT))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": 0}, "width"),
        ({"multiple": 0}, "multiple"),
        ({"width": 32, "share": 0.5}, "give width .a number in every layer. or share, not both"),
        ({"width": 32, "spread": "global"}, "not both"),
    ],
)
def test_senseless_options_are_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        FfnPruning(**options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "step", [FfnPruning(), FfnPruning(spread="even"), HeadPruning()], ids=["neurons", "neurons-even", "heads"]
)
def test_on_the_embedded_base_refitting_keeps_the_states_of_unseen_rows_nearer(step, tmp_path):
    # Its head is untrained, so that its answers hardly depend on the text and would tell nothing.
    study = Study(name="embedded", tasks=("rotten-tomatoes",))
    task = study.chosen_tasks()[0]
    encoder = OpenedBase.open(study).untrained(task, 0)
    places = {"scratch": tmp_path, "workplace": tmp_path / "work", "cache": Cache(tmp_path / "cache")}
    bench = Bench(data=read_task(task, limit=128), teacher=encoder, seed=0, progress=Quiet(), **places)
    tokens = bench.tokens(encoder, bench.data.select)
    wanted = last_states(encoder, tokens)
    cut, refitted = (step.model_copy(update={"refit": refit}).apply(encoder, bench) for refit in (False, True))
    far, near = ((last_states(found, tokens) - wanted).square().sum() for found in (cut, refitted))
    assert near < far


def last_states(encoder, tokens):
    """What the last layer gives for every token."""
    states = []
    for chosen in tokens.buckets():
        batch = {name: torch.from_numpy(values) for name, values in tokens.batch(chosen).items()}
        with torch.no_grad():
            found = hidden_states(encoder.model, encoder.runtime.accepted(batch))[-1]
        states.append(found[batch["attention_mask"].bool()])
    return torch.cat(states)
