"""A base is found in a folder, a package or on the hub, and refused by name when it is not what it claims to be."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny import FAMILIES, study_of
from transformers import AutoModelForSequenceClassification

from workbench.bases import content_hash, has_fitting_head, load_model, load_tokenizer, locate, read_config
from workbench.errors import BaseModelError, PlanError
from workbench.families import family_of, part
from workbench.finetuned import OpenedBase
from workbench.study import Base

WEIGHTS = "model.safetensors"


@pytest.fixture
def spoiled(tiny_base, tmp_path):
    """Gives a copy of a tiny base after something was done to it."""

    def give(spoil: Callable[[Path], object], family: str = "bert") -> Path:
        folder = shutil.copytree(tiny_base(family), tmp_path / "base")
        spoil(folder)
        return folder

    return give


@pytest.fixture
def task(tiny_task):
    return tiny_task.declared(Path())


def rewrite_weights(folder: Path, keep: Callable[[str], bool]) -> None:
    weights = {name: tensor for name, tensor in load_file(folder / WEIGHTS).items() if keep(name)}
    save_file(weights, folder / WEIGHTS, {"format": "pt"})


def rewrite_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def cut(folder: Path, size: int) -> None:
    path = folder / WEIGHTS
    path.write_bytes(path.read_bytes()[:size])


def pickle_weights(folder: Path) -> None:
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()


def test_a_folder_is_found_relative_to_the_study(tiny_base, tmp_path):
    shutil.copytree(tiny_base("bert"), tmp_path / "models" / "mine")
    assert locate(Base(name="./models/mine"), tmp_path) == tmp_path / "models" / "mine"
    assert locate(Base(name=str(tiny_base("bert"))), tmp_path) == tiny_base("bert")


def test_the_home_folder_is_known(tiny_base, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tiny_base("bert").parent))
    assert locate(Base(name=f"~/{tiny_base('bert').name}"), tmp_path) == tiny_base("bert")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BaseModelError, match=f"base './none': no folder {tmp_path / 'none'}"):
        locate(Base(name="./none"), tmp_path)


def test_a_folder_without_a_configuration_is_refused(spoiled, tmp_path):
    folder = spoiled(lambda base: (base / "config.json").unlink())
    with pytest.raises(BaseModelError, match=f"base './base': {folder} holds no config.json"):
        locate(Base(name="./base"), tmp_path)


def test_a_folder_without_weights_is_refused(spoiled, tmp_path):
    folder = spoiled(lambda base: (base / WEIGHTS).unlink())
    with pytest.raises(BaseModelError, match=rf"{folder} holds no weights \(looked for model\.safetensors\)"):
        locate(Base(name="./base"), tmp_path)


def test_pickled_weights_are_refused_unless_they_are_allowed(spoiled, tmp_path, task):
    folder = spoiled(pickle_weights)
    with pytest.raises(
        BaseModelError, match=r"pickled weights only.*convert them to safetensors, or set allow_pickle: true"
    ):
        locate(Base(name="./base"), tmp_path)
    trusted = Base(name="./base", allow_pickle=True)
    assert locate(trusted, tmp_path) == folder
    assert load_model(trusted, folder, task).config.num_labels == 2


def test_safetensors_are_taken_where_pickled_weights_lie_beside_them(spoiled, tmp_path, task):
    folder = spoiled(lambda base: (base / "pytorch_model.bin").write_bytes(b"never to be opened"))
    assert locate(Base(name="./base"), tmp_path) == folder
    load_model(Base(name="./base"), folder, task)
    load_model(Base(name="./base", allow_pickle=True), folder, task)


@pytest.mark.parametrize("size", [0, 4, 1000, -100])
def test_a_truncated_weight_file_is_refused_by_the_base_s_name(size, spoiled, task):
    folder = spoiled(lambda base: cut(base, size))
    with pytest.raises(BaseModelError, match=r"base './base': .*"):
        load_model(Base(name="./base"), folder, task)


def test_shards_that_an_index_promises_must_be_there(spoiled, task, tmp_path):
    def promise(base: Path) -> None:
        (base / WEIGHTS).rename(base / "elsewhere")
        index = {
            "metadata": {},
            "weight_map": {"embeddings.word_embeddings.weight": "model-00001-of-00001.safetensors"},
        }
        (base / "model.safetensors.index.json").write_text(json.dumps(index))

    folder = spoiled(promise)
    assert locate(Base(name="./base"), tmp_path) == folder
    with pytest.raises(BaseModelError, match=r"base './base': "):
        load_model(Base(name="./base"), folder, task)


@pytest.mark.parametrize("family", FAMILIES)
def test_loading_keeps_every_weight_of_the_base(family, tiny_base, task):
    folder = tiny_base(family)
    model = load_model(Base(name=str(folder)), folder, task)
    loaded = part(model, family_of(model.config).backbone).state_dict()
    for name, tensor in load_file(folder / WEIGHTS).items():
        if name in loaded:
            assert torch.equal(loaded[name], tensor), name
    head = {name for path in family_of(model.config).head for name in [path.partition(".")[2] or path]}
    missing = {name for name in loaded if name not in load_file(folder / WEIGHTS)}
    assert all(name.partition(".")[0] in head for name in missing)


def test_a_base_whose_file_lacks_a_layer_is_refused_instead_of_invented(spoiled, task):
    folder = spoiled(lambda base: rewrite_weights(base, lambda name: "layer.3." not in name))
    with pytest.raises(BaseModelError, match=r"base './base': .*encoder\.layer\.3"):
        load_model(Base(name="./base"), folder, task)


def test_a_base_whose_weights_have_other_shapes_than_its_configuration_is_refused(spoiled, task):
    folder = spoiled(lambda base: rewrite_config(base, hidden_size=64))
    with pytest.raises(BaseModelError, match=r"base './base': "):
        load_model(Base(name="./base"), folder, task)


def test_weights_of_another_model_are_refused(spoiled, tiny_base, task):
    folder = spoiled(lambda base: shutil.copy(tiny_base("distilbert") / WEIGHTS, base / WEIGHTS))
    with pytest.raises(BaseModelError, match=r"base './base': "):
        load_model(Base(name="./base"), folder, task)


def test_a_base_without_a_pooler_gets_a_new_one(spoiled, task):
    folder = spoiled(lambda base: rewrite_weights(base, lambda name: not name.startswith("pooler")))
    assert load_model(Base(name="./base"), folder, task).bert.pooler is not None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"model_type": "bert", "hidden_size": "wide"}', '{"model_type": ["bert"]}']
)
def test_a_configuration_that_cannot_be_read_is_refused_by_the_base_s_name(text, spoiled):
    folder = spoiled(lambda base: (base / "config.json").write_text(text))
    with pytest.raises(BaseModelError, match=r"base './base': "):
        read_config(Base(name="./base"), folder)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_base_without_a_tokenizer_is_refused_by_its_name(family, spoiled):
    def strip(base: Path) -> None:
        for path in base.iterdir():
            if path.name not in {"config.json", WEIGHTS}:
                path.unlink()

    folder = spoiled(strip, family)
    config = read_config(Base(name="./base"), folder)
    with pytest.raises(BaseModelError, match=r"base './base': its tokenizer cannot be opened"):
        load_tokenizer(Base(name="./base"), folder, 32, config)


def test_a_damaged_tokenizer_is_refused_by_the_base_s_name(spoiled):
    folder = spoiled(lambda base: (base / "tokenizer.json").write_text("{"))
    config = read_config(Base(name="./base"), folder)
    with pytest.raises(BaseModelError, match=r"base './base': its tokenizer cannot be opened"):
        load_tokenizer(Base(name="./base"), folder, 32, config)


def test_a_tokenizer_with_more_tokens_than_the_model_has_embeddings_for_is_refused(spoiled, tiny_base):
    def swap(base: Path) -> None:
        for path in tiny_base("roberta").iterdir():
            if path.name not in {"config.json", WEIGHTS}:
                shutil.copy(path, base / path.name)

    folder = spoiled(swap)
    config = read_config(Base(name="./base"), folder)
    with pytest.raises(BaseModelError, match=r"base './base': its tokenizer has .* tokens"):
        load_tokenizer(Base(name="./base"), folder, 32, config)


@pytest.mark.parametrize(("family", "asked", "given"), [("bert", 32, 32), ("bert", 500, 64), ("roberta", 500, 62)])
def test_texts_are_cut_at_what_is_asked_or_what_fits(family, asked, given, tiny_base):
    base = Base(name=str(tiny_base(family)))
    config = read_config(base, tiny_base(family))
    assert load_tokenizer(base, tiny_base(family), asked, config).model_max_length == given


def test_a_hub_id_that_cannot_be_reached_says_so_and_names_the_other_ways(tmp_path):
    with pytest.raises(BaseModelError) as caught:
        locate(Base(name="no-one/such-a-model"), tmp_path)
    said = str(caught.value)
    assert said.startswith("base 'no-one/such-a-model': the hub cannot serve it and its cache has no copy (")
    assert said.endswith("check the name and the network, or give a folder or 'package:NAME/FOLDER'")


@pytest.mark.parametrize("name", ["", "a b", "a/b/c", "a\nb", "models/mine/", "x" * 200, "a..b"])
def test_a_name_that_can_be_nothing_says_what_a_name_can_be(name, tmp_path):
    with pytest.raises(BaseModelError, match=r"is neither a hub id .* nor a folder .* nor 'package:NAME/FOLDER'"):
        locate(Base(name=name), tmp_path)


@pytest.mark.parametrize(
    "name", ["no_such_package/model", "no_such.deeper/model", "os/model", "", "/", "../x", "..", "__main__/x", "a b/x"]
)
def test_a_package_that_is_not_installed_is_named_with_the_way_to_the_default_base(name, tmp_path):
    with pytest.raises(BaseModelError) as caught:
        locate(Base(name=f"package:{name}"), tmp_path)
    assert str(caught.value).startswith(f"base 'package:{name}': package {name.partition('/')[0]!r} is not installed")
    assert "pip install 'encoder-workbench[demo]'" in str(caught.value)


def test_a_folder_inside_an_installed_package_is_found_without_importing_it(tiny_base, tmp_path, monkeypatch):
    package = tmp_path / "boobytrapped_model"
    shutil.copytree(tiny_base("bert"), package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert locate(Base(name="package:boobytrapped_model/model"), tmp_path) == package / "model"
    with pytest.raises(BaseModelError, match="package 'boobytrapped_model' has no folder 'weights'"):
        locate(Base(name="package:boobytrapped_model/weights"), tmp_path)


def test_the_content_hash_sees_weights_configuration_and_tokenizer_and_nothing_else(spoiled):
    folder = spoiled(lambda base: None)
    before = content_hash(folder)
    (folder / "README.md").write_text("words")
    (folder / "pictures").mkdir()
    assert content_hash(folder) == before
    seen = {before}
    for name in (WEIGHTS, "config.json", "tokenizer.json"):
        path = folder / name
        path.write_bytes(path.read_bytes() + b" ")
        seen.add(content_hash(folder))
    assert len(seen) == 4


def saved_with_head(base: Path, folder: Path, task) -> Path:
    model = load_model(Base(name=str(base)), base, task)
    model.save_pretrained(folder, safe_serialization=True)
    for path in base.glob("*token*"):
        shutil.copy(path, folder / path.name)
    return folder


def test_a_head_fits_when_it_was_saved_for_just_these_labels_in_this_order(tiny_base, task, tmp_path):
    assert not has_fitting_head(read_config(Base(name="b"), tiny_base("bert")), task)
    folder = saved_with_head(tiny_base("bert"), tmp_path / "saved", task)
    config = read_config(Base(name="b"), folder)
    assert has_fitting_head(config, task)
    assert not has_fitting_head(config, task.model_copy(update={"labels": ("good", "bad")}))
    assert not has_fitting_head(config, task.model_copy(update={"labels": ("bad", "good", "ugly")}))


def test_a_head_for_scores_does_not_fit_labels_nor_the_other_way_round(tiny_base, task, tiny_regression, tmp_path):
    scores = tiny_regression.declared(Path())
    with_scores = read_config(Base(name="b"), saved_with_head(tiny_base("bert"), tmp_path / "s", scores))
    with_labels = read_config(Base(name="b"), saved_with_head(tiny_base("bert"), tmp_path / "l", task))
    assert has_fitting_head(with_scores, scores)
    assert not has_fitting_head(with_scores, task)
    assert not has_fitting_head(with_labels, scores)


def test_a_fitting_head_is_kept_and_another_is_replaced(tiny_base, task, tmp_path):
    folder = saved_with_head(tiny_base("bert"), tmp_path / "saved", task)
    kept = AutoModelForSequenceClassification.from_pretrained(folder).classifier.weight
    assert torch.equal(load_model(Base(name="b"), folder, task).classifier.weight, kept)
    three = task.model_copy(update={"labels": ("bad", "good", "ugly")})
    assert load_model(Base(name="b"), folder, three).classifier.weight.shape == (3, 32)


def test_a_base_that_must_not_be_trained_needs_a_fitting_head(tiny_base, tiny_task, task, tmp_path):
    never = OpenedBase.open(study_of(tiny_base("bert"), tiny_task, finetune="never"))
    with pytest.raises(PlanError, match=re.escape("carries no head for the labels of task 'reviews' (bad, good)")):
        never.needs_training(task)
    folder = saved_with_head(tiny_base("bert"), tmp_path / "saved", task)
    assert not OpenedBase.open(study_of(folder, tiny_task, finetune="never")).needs_training(task)
    assert not OpenedBase.open(study_of(folder, tiny_task)).needs_training(task)
    assert OpenedBase.open(study_of(folder, tiny_task, finetune="always")).needs_training(task)


def test_a_head_that_the_configuration_promises_but_the_weights_lack_is_not_invented(
    tiny_base, tiny_task, task, tmp_path
):
    folder = saved_with_head(tiny_base("bert"), tmp_path / "saved", task)
    rewrite_weights(folder, lambda name: not name.startswith("classifier"))
    opened = OpenedBase.open(study_of(folder, tiny_task))
    if not opened.needs_training(task):
        with pytest.raises(BaseModelError, match="classifier"):
            opened.untrained(task, 0)
