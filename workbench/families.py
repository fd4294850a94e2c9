"""Families: where BERT, RoBERTa, ALBERT and DistilBERT keep their parts, and how to take layers out of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import nn

from workbench.errors import BaseModelError, PlanError

Block = Literal["attention", "ffn"]


@dataclass(frozen=True)
class Family:
    """The map of one architecture: attribute paths inside its task models, and its names in the configuration."""

    name: str
    backbone: str
    layers: str
    word_embeddings: str
    head: tuple[str, ...]
    keys: dict[str, str] = field(default_factory=dict)
    reserved_positions: int = 0
    shares_layers: bool = False
    attention: str = "attention.self"
    projections: tuple[str, str, str] = ("query", "key", "value")
    # The parts of a layer that make up each of its two halves, norms included.
    attention_block: tuple[str, ...] = ("attention",)
    ffn_block: tuple[str, ...] = ("intermediate", "output")
    # The map that reads what the heads gathered; the map that makes neurons, and the one that reads them.
    attention_output: str = "attention.output.dense"
    ffn_maps: tuple[str, str] = ("intermediate.dense", "output.dense")
    # The norms that take in what each of the two halves gives, added to what went into it.
    norms: tuple[str, str] = ("attention.output.LayerNorm", "output.LayerNorm")
    # What an attention module calls the number of its heads, and the width of all of them.
    head_numbers: tuple[str, str] = ("num_attention_heads", "all_head_size")
    lacks: tuple[str, ...] = ()

    def key(self, meaning: str) -> str:
        """What the configuration calls a quantity."""
        return self.keys.get(meaning, meaning)


DISTIL_KEYS = {
    "num_hidden_layers": "n_layers",
    "hidden_size": "dim",
    "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim",
}

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "bert",
            "bert",
            "bert.encoder.layer",
            "bert.embeddings.word_embeddings",
            ("bert.pooler", "classifier"),
        ),
        Family(
            "roberta",
            "roberta",
            "roberta.encoder.layer",
            "roberta.embeddings.word_embeddings",
            ("classifier",),
            # RoBERTa numbers positions from the padding index on, so two rows of its table are never reached.
            reserved_positions=2,
        ),
        Family(
            "albert",
            "albert",
            "albert.encoder.albert_layer_groups",
            "albert.embeddings.word_embeddings",
            ("albert.pooler", "classifier"),
            shares_layers=True,
            attention="albert_layers.0.attention",
            attention_block=("albert_layers.0.attention",),
            ffn_block=("albert_layers.0.ffn", "albert_layers.0.ffn_output", "albert_layers.0.full_layer_layer_norm"),
            attention_output="albert_layers.0.attention.dense",
            ffn_maps=("albert_layers.0.ffn", "albert_layers.0.ffn_output"),
            norms=("albert_layers.0.attention.LayerNorm", "albert_layers.0.full_layer_layer_norm"),
        ),
        Family(
            "distilbert",
            "distilbert",
            "distilbert.transformer.layer",
            "distilbert.embeddings.word_embeddings",
            ("pre_classifier", "classifier"),
            keys=DISTIL_KEYS,
            attention="attention",
            projections=("q_lin", "k_lin", "v_lin"),
            attention_block=("attention", "sa_layer_norm"),
            ffn_block=("ffn", "output_layer_norm"),
            attention_output="attention.out_lin",
            ffn_maps=("ffn.lin1", "ffn.lin2"),
            norms=("sa_layer_norm", "output_layer_norm"),
            head_numbers=("n_heads", "dim"),
            lacks=("token_types",),
        ),
    )
}


def family_of(config: Any) -> Family:
    """Find the family of a configuration; any other architecture is refused."""
    return check_family(getattr(config, "model_type", None))


def check_family(name: str | None) -> Family:
    """Find a family by its name in configurations."""
    if name not in FAMILIES:
        raise BaseModelError(f"architecture {name!r} is not supported; supported: {', '.join(FAMILIES)}")
    return FAMILIES[name]


def quantity(config: Any, meaning: str) -> int:
    """Read a quantity such as ``num_hidden_layers`` under the family's own name for it."""
    return int(getattr(config, family_of(config).key(meaning)))


def longest_input(config: Any) -> int:
    """How many tokens the position table can hold."""
    return int(config.max_position_embeddings) - family_of(config).reserved_positions


def takes_token_types(config: Any) -> bool:
    """Whether the family tells the first text from the second by token types."""
    return "token_types" not in family_of(config).lacks


def part(model: nn.Module, path: str) -> Any:
    """Reach a part of a model by its attribute path."""
    return model.get_submodule(path)


def with_part(model: Any, path: str, new: nn.Module) -> Any:
    """A copy of a model with another module in the place of a part; the given model stays as it was."""
    changed = copy.deepcopy(model)
    holder, _, name = path.rpartition(".")
    setattr(part(changed, holder), name, new)
    return changed


def word_table(model: Any) -> Any:
    """The module that turns token ids into word embeddings."""
    return part(model, family_of(model.config).word_embeddings)


def word_rows(model: Any) -> tuple[str, nn.Embedding]:
    """The one plain table that word embeddings come from, and its path: all of their module, or a narrow part of it."""
    top = family_of(model.config).word_embeddings
    inside = [(name, module) for name, module in word_table(model).named_modules() if isinstance(module, nn.Embedding)]
    if len(inside) != 1:
        raise PlanError(f"the word embeddings have {len(inside) or 'no'} plain tables; one is needed")
    name, table = inside[0]
    return f"{top}.{name}".removesuffix("."), table


def layers_of(model: Any) -> nn.ModuleList:
    """The transformer layers of a model, or ALBERT's layer groups."""
    return part(model, family_of(model.config).layers)  # type: ignore[no-any-return]


def projections(model: Any, layer: int) -> tuple[list[nn.Module], int]:
    """The query, key and value maps of a layer, and how often they are used before that layer's own turn.

    In families that share layers one map serves many layers, each at its own turn.
    """
    family = family_of(model.config)
    groups = layer_groups(model.config)
    holder = layers_of(model)[groups[layer]].get_submodule(family.attention)
    return [holder.get_submodule(name) for name in family.projections], groups[:layer].count(groups[layer])


def projection_width(model: Any, layer: int) -> int:
    """How wide the queries of a layer are, as are its keys and values: the hidden size, unless heads are gone."""
    query: Any = projections(model, layer)[0][0]
    return int(query.out_features)


def layer_groups(config: Any) -> list[int]:
    """Which entry of the layer list serves each layer: its own, or in ALBERT its group's."""
    count = quantity(config, "num_hidden_layers")
    return _groups(config, count) if family_of(config).shares_layers else list(range(count))


def block_parameters(model: Any, layer: int, block: Block) -> dict[str, nn.Parameter]:
    """The parameters of one half of an entry of the layer list, norms included, by their names inside that entry."""
    family = family_of(model.config)
    paths = family.attention_block if block == "attention" else family.ffn_block
    holder = layers_of(model)[layer]
    return {
        f"{path}.{name}": parameter
        for path in paths
        for name, parameter in part(holder, path).named_parameters(remove_duplicate=False)
    }


def norm_after(model: Any, layer: int, block: Block) -> nn.Module:
    """The norm that takes in what one half of an entry of the layer list gives, added to what went into it."""
    attention, ffn = family_of(model.config).norms
    return part(layers_of(model)[layer], attention if block == "attention" else ffn)  # type: ignore[no-any-return]


def put_parameter(module: nn.Module, path: str, parameter: nn.Parameter) -> None:
    """Let a module use a parameter, which others may use as well, in the place of its own."""
    holder, _, name = path.rpartition(".")
    setattr(part(module, holder), name, parameter)


def check_layers(config: Any, keep: Sequence[int]) -> None:
    """Refuse a list of layers to keep that the model cannot be cut down to."""
    count = quantity(config, "num_hidden_layers")
    if not keep:
        raise PlanError("keep names no layer; keep at least one")
    outside = [index for index in keep if not 0 <= index < count]
    if outside:
        raise PlanError(f"keep names layer {outside[0]}, but the encoder has layers 0 to {count - 1}")
    if list(keep) != sorted(set(keep)):
        raise PlanError(f"keep must name each layer once, in ascending order (given: {list(keep)})")
    if family_of(config).shares_layers and not _stays_even(config, count, keep):
        raise PlanError(
            f"this ALBERT spreads {config.num_hidden_groups} groups evenly over its layers; "
            f"keeping {list(keep)} would not leave them even"
        )


def with_layers(model: Any, keep: Sequence[int]) -> Any:
    """A copy of a model that has only the layers in ``keep``; the given model stays as it was."""
    check_layers(model.config, keep)
    family = family_of(model.config)
    shorter = copy.deepcopy(model)
    if not family.shares_layers:
        kept = [layers_of(shorter)[index] for index in keep]
        holder, _, name = family.layers.rpartition(".")
        setattr(part(shorter, holder), name, nn.ModuleList(kept))
    setattr(shorter.config, family.key("num_hidden_layers"), len(keep))
    return shorter


def _stays_even(config: Any, count: int, keep: Sequence[int]) -> bool:
    # With fewer layers than groups, stock ALBERT cannot run.
    return len(keep) >= config.num_hidden_groups and _groups(config, count, keep) == _groups(config, len(keep))


def _groups(config: Any, count: int, keep: Sequence[int] | None = None) -> list[int]:
    # ALBERT spreads its groups by this rule when it runs.
    return [int(index / (count / config.num_hidden_groups)) for index in (keep or range(count))]
