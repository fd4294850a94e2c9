"""Encoder: a model or graph with its tokenizer and its lineage; load it, save it, ask it, evolve it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ArtifactError, PlanError, PluginError, UnknownNameError, first_line
from workbench.lineage import Lineage, MadeStep, Manifest
from workbench.plugins import STRATEGIES, load, provider_of
from workbench.runtimes.onnx_runtime import OnnxRuntime
from workbench.runtimes.openvino_runtime import OpenVinoRuntime
from workbench.runtimes.runtime import Runtime
from workbench.runtimes.torch_runtime import TorchRuntime, load_weights
from workbench.strategy import Strategy
from workbench.tasks.kinds import KINDS
from workbench.tokens import Tokens


@dataclass(frozen=True)
class Encoder:
    """Something that answers a task. Encoders are not edited; ``evolve`` gives a new one."""

    runtime: Runtime
    tokenizer: Any
    lineage: Lineage

    @property
    def model(self) -> Any:
        """The torch model; an encoder that is a runtime graph has none."""
        if not isinstance(self.runtime, TorchRuntime):
            raise PlanError(f"a torch model is needed, but this encoder is a graph for {self.runtime.name}")
        return self.runtime.model

    def evolve(
        self,
        body: Any,
        by: Strategy,
        detail: Mapping[str, Any] | None = None,
        tokenizer: Any = None,
        portable: bool | None = None,
    ) -> Encoder:
        """A new encoder whose model, or runtime, is ``body``, with the step that made it in its lineage.

        ``detail`` is what the step decided and its ``rebuild`` will need again; it must be plain JSON. ``portable``
        says whether stock classes can hold this result, where that is not simply what the strategy declares.
        """
        provider = provider_of(STRATEGIES, by.name)
        step = MadeStep(
            use=by.name,
            options=by.model_dump(mode="json"),
            provider=provider.distribution,
            version=provider.version,
            portable=by.portable if portable is None else portable,
            detail=dict(detail or {}),
        )
        runtime = body if isinstance(body, Runtime) else TorchRuntime(body)
        lineage = self.lineage.plus(step)
        if tokenizer:
            lineage = lineage.model_copy(update={"max_length": tokenizer.model_max_length})
        return replace(self, runtime=runtime, tokenizer=tokenizer or self.tokenizer, lineage=lineage)

    def logits(self, tokens: Tokens, told: Callable[[int], None] = lambda done: None) -> list[NDArray[np.float32]]:
        """The outputs for every example, in order. ``told`` hears the count done.

        They are computed in length-sorted batches, or one by one where company would change an answer: what is judged
        must be what a text gets that comes alone.
        """
        outputs: list[NDArray[np.float32] | None] = [None] * len(tokens)
        done = 0
        for chosen in tokens.singles() if self.runtime.minds_company else tokens.buckets():
            for index, row in zip(chosen, self.runtime.logits(tokens.batch(chosen)), strict=True):
                outputs[index] = row
            done += len(chosen)
            told(done)
        return [row for row in outputs if row is not None]

    def save(self, folder: Path) -> Manifest:
        """Write everything into an empty folder, the manifest last."""
        self.runtime.save(folder)
        if self.tokenizer.is_fast:
            # What the last call asked for would be saved too, and files would depend on whether there was one.
            self.tokenizer.backend_tokenizer.no_truncation()
            self.tokenizer.backend_tokenizer.no_padding()
        self.tokenizer.save_pretrained(folder)
        manifest = Manifest.describe(folder, self.lineage, self.runtime.name)
        manifest.write(folder)
        return manifest

    @classmethod
    def load(cls, folder: Path) -> Encoder:
        """Open an artifact. Only strategies that are installed are asked to rebuild; nothing else is imported."""
        return cls.opened(folder, Manifest.read(folder))

    @classmethod
    def opened(cls, folder: Path, manifest: Manifest, threads: int = 0) -> Encoder:
        """Open an artifact whose manifest was read; graphs run with so many threads, by default as many as cores."""
        from transformers import AutoTokenizer

        if manifest.runtime not in LOADERS:
            raise ArtifactError(
                f"{folder}: made for runtime {manifest.runtime!r}; this workbench runs {', '.join(LOADERS)}"
            )
        runtime = LOADERS[manifest.runtime](folder, manifest, threads)
        return cls(runtime, AutoTokenizer.from_pretrained(folder), manifest.lineage)


def _load_torch(folder: Path, manifest: Manifest, threads: int) -> Runtime:
    try:
        if manifest.portable:
            auto = _auto_class(manifest.lineage.kind)
            return TorchRuntime(auto.from_pretrained(folder, use_safetensors=True))
        return TorchRuntime(load_weights(_skeleton(folder, manifest.lineage), folder))
    except (OSError, RuntimeError, ValueError) as error:
        raise ArtifactError(f"{folder}: its weights do not fit its manifest ({first_line(error)})") from None


def _load_onnx(folder: Path, manifest: Manifest, threads: int) -> Runtime:
    return OnnxRuntime(folder, threads)


def _load_openvino(folder: Path, manifest: Manifest, threads: int) -> Runtime:
    return OpenVinoRuntime(folder, threads)


LOADERS: dict[str, Callable[[Path, Manifest, int], Runtime]] = {
    "torch": _load_torch,
    "onnxruntime": _load_onnx,
    "openvino": _load_openvino,
}


def _skeleton(folder: Path, lineage: Lineage) -> Any:
    """Build the architecture the manifest tells of, step by step, with weights still to come."""
    from transformers import AutoConfig

    settings = dict(lineage.base_config)
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    model = _auto_class(lineage.kind).from_config(config)
    for number, step in enumerate(lineage.steps, 1):
        strategy = _strategy(folder, number, step)
        model = strategy.rebuild(model, step.detail)
    return model


def _strategy(folder: Path, number: int, step: MadeStep) -> Strategy:
    where = f"{folder}: step {number}: "
    try:
        loaded = load(STRATEGIES, step.use, where=where)
    except UnknownNameError as error:
        raise ArtifactError(f"{error}; it was made by {step.provider} {step.version}: install that package") from None
    except PluginError as error:
        raise ArtifactError(str(error)) from None
    return loaded(**step.options)  # type: ignore[no-any-return]


def _auto_class(kind: str) -> Any:
    import transformers

    return getattr(transformers, KINDS[kind].auto_class)
