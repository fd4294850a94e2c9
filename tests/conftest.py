"""Fixtures every room's tests share: tiny bases of each family, a tiny task, and a bench to work on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiny import study_of, write_base, write_pair_regression_files, write_task_files

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Test processes that each took all cores would wait for each other; tiny models gain nothing from a second thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that no process begins a long one when the others are nearly done."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test reads or writes the user's cache, store or GLUE folder."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.delenv("WORKBENCH_STORE", raising=False)
    monkeypatch.delenv("WORKBENCH_GLUE_DIR", raising=False)
    yield


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the folder of a tiny base of a family."""
    made: dict[str, Path] = {}

    def give(family: str) -> Path:
        if family not in made:
            made[family] = write_base(family, tmp_path_factory.mktemp(f"base-{family}"))
        return made[family]

    return give


@pytest.fixture(scope="session")
def tiny_task(tmp_path_factory: pytest.TempPathFactory):
    """A small classification task over single texts."""
    return write_task_files(tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="session")
def tiny_regression(tmp_path_factory: pytest.TempPathFactory):
    """A small regression task over pairs."""
    return write_pair_regression_files(tmp_path_factory.mktemp("regression"))


@pytest.fixture
def tiny_encoder(tiny_base, tiny_task) -> Callable[..., object]:
    """Gives an untrained encoder of a family under a head for a task (by default the small classification)."""
    from workbench.finetuned import OpenedBase

    def give(family: str, task=None, seed: int = 0):
        chosen = task or tiny_task
        opened = OpenedBase.open(study_of(tiny_base(family), chosen))
        return opened.untrained(chosen.declared(Path()), seed)

    return give


@pytest.fixture
def lively(tiny_encoder) -> Callable[[str], object]:
    """Gives encoders whose parameters are all far from their starting values and from each other."""

    import torch

    def give(family: str):
        encoder = tiny_encoder(family)
        generator = torch.Generator().manual_seed(3)
        for parameter in encoder.model.parameters():
            parameter.data.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
        return encoder

    return give


@pytest.fixture
def make_bench(tiny_task, tmp_path) -> Callable[..., object]:
    """Gives a bench for an encoder, the encoder itself being the teacher."""
    from workbench.bench import Bench
    from workbench.cache import Cache
    from workbench.progress import Quiet
    from workbench.tasks.data import read_task

    def give(teacher, task=None, seed: int = 0):
        scratch = tmp_path / f"scratch-{os.urandom(3).hex()}"
        (scratch / "workplace").mkdir(parents=True)
        return Bench(
            data=read_task((task or tiny_task).declared(Path())),
            teacher=teacher,
            seed=seed,
            scratch=scratch,
            workplace=scratch / "workplace",
            progress=Quiet(),
            cache=Cache.default(),
        )

    return give


@pytest.fixture
def stepped(lively, make_bench) -> Callable[..., object]:
    """Gives a lively encoder of a family after some steps."""

    def give(family: str, *steps):
        encoder = lively(family)
        bench = make_bench(encoder)
        for step in steps:
            encoder = step.apply(encoder, bench)
        return encoder

    return give
