"""Fewer rows: models whose word or position table was cut to some of its rows, and their configuration with it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from workbench.errors import PlanError
from workbench.families import family_of, part, with_part, word_rows


def token_ids(config: Any) -> dict[str, int]:
    """The token ids that a configuration names, by their keys: padding, beginning, end, whichever there are."""
    named = config.to_dict().items()
    return {key: value for key, value in named if key.endswith("_token_id") and isinstance(value, int)}


def with_words(model: Any, rows: Sequence[int], ids: Mapping[str, int]) -> Any:
    """A copy of a model that has only these rows of its word table, numbered anew in their order.

    ``ids`` are the new numbers of the tokens that its configuration names. The given model stays as it was.
    """
    path, table = word_rows(model)
    padding = None if table.padding_idx is None else ids.get("pad_token_id")
    changed = with_part(model, path, _with_rows(table, list(rows), padding))
    changed.config.vocab_size = len(rows)
    for key, number in ids.items():
        setattr(changed.config, key, number)
    return changed


def check_position_table(config: Any) -> None:
    """Refuse a model whose positions do not come from a table alone."""
    told = getattr(config, "position_embedding_type", "absolute")
    if told != "absolute":
        raise PlanError(
            f"this encoder knows positions by their distances ({told}), which no shorter table can tell; "
            "leave this step out"
        )


def with_positions(model: Any, count: int) -> Any:
    """A copy of a model that takes at most so many tokens; the given model stays as it was."""
    check_position_table(model.config)
    family = family_of(model.config)
    changed = copy.deepcopy(model)
    holder, rows = part(changed, f"{family.backbone}.embeddings"), count + family.reserved_positions
    table = holder.position_embeddings
    holder.position_embeddings = _with_rows(table, list(range(rows)), table.padding_idx)
    # Ready-made numbers for every position.
    for name, buffer in list(holder.named_buffers(recurse=False)):
        setattr(holder, name, buffer[:, :rows])
    changed.config.max_position_embeddings = rows
    return changed


def _with_rows(table: nn.Embedding, rows: list[int], padding: int | None) -> nn.Embedding:
    weight = table.weight.detach()[rows].clone()
    smaller: nn.Embedding = nn.Embedding.from_pretrained(weight, not table.weight.requires_grad, padding)
    return smaller
