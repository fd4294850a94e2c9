"""Trimmed tokenizers: the same tokenizer with fewer pieces, numbered anew from zero in their old order."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Mapping
from typing import Any

from workbench.errors import PlanError
from workbench.spelling import SPELLINGS, Spelling

Json = dict[str, Any]
# What the post-processors of BERT and RoBERTa call the pieces at the ends of a text.
ENDS = {"cls", "sep"}


def spelling_of(tokenizer: Any) -> Spelling:
    """How a tokenizer spells; one whose vocabulary cannot be trimmed is refused."""
    if not tokenizer.is_fast:
        raise PlanError(
            f"the tokenizer ({type(tokenizer).__name__}) has no fast form, and only that can be trimmed; "
            "save the base with a tokenizer.json, or leave this step out"
        )
    machinery = _machinery(tokenizer)
    kind = machinery["model"]["type"]
    if kind not in SPELLINGS:
        raise PlanError(f"a {kind} tokenizer cannot be trimmed, but {', '.join(SPELLINGS)} can; leave this step out")
    added = {token["content"] for token in machinery["added_tokens"]}
    special = added | set(tokenizer.all_special_tokens) | _put_around(machinery["post_processor"])
    cutter = tokenizer.backend_tokenizer.pre_tokenizer
    return SPELLINGS[kind](
        machinery["model"],
        frozenset(special & tokenizer.get_vocab().keys()),
        lambda text: cutter is None or len(cutter.pre_tokenize_str(text)) < 2,
    )


def with_pieces(tokenizer: Any, keep: Collection[str]) -> Any:
    """A copy of a tokenizer that has only the pieces in ``keep``; the given one stays as it was.

    Files of slow tokenizers are written from what was kept, but for sentencepiece's, which are left out of the copy.
    """
    old = tokenizer.get_vocab()
    numbers = {piece: number for number, piece in enumerate(sorted(keep, key=old.__getitem__))}
    machinery = _machinery(tokenizer)
    machinery["model"] = spelling_of(tokenizer).cut(numbers)
    for token in machinery["added_tokens"]:
        token["id"] = numbers[token["content"]]
    machinery["post_processor"] = _renumbered(machinery["post_processor"], numbers)
    # What the last call asked for, and maybe with an old number.
    machinery["truncation"] = machinery["padding"] = None
    trimmed = copy.deepcopy(tokenizer)
    trimmed._tokenizer = type(tokenizer.backend_tokenizer).from_str(json.dumps(machinery))
    trimmed.vocab_file = None
    _check_numbers(trimmed, numbers)
    return trimmed


def _machinery(tokenizer: Any) -> Json:
    return json.loads(tokenizer.backend_tokenizer.to_str())  # type: ignore[no-any-return]


def _put_around(processor: Json | None) -> set[str]:
    """The pieces that a post-processor puts around texts."""
    if processor is None:
        return set()
    inner = [_put_around(each) for each in processor.get("processors", ())]
    pairs = {processor[name][0] for name in ENDS if name in processor}
    return pairs.union(*inner, *(token["tokens"] for token in processor.get("special_tokens", {}).values()))


def _renumbered(processor: Json | None, numbers: Mapping[str, int]) -> Json | None:
    """A post-processor that puts the same pieces around texts under new numbers."""
    if processor is None:
        return None
    changed = dict(processor)
    for name in ENDS & processor.keys():
        changed[name] = [processor[name][0], numbers[processor[name][0]]]
    if "processors" in processor:
        changed["processors"] = [_renumbered(each, numbers) for each in processor["processors"]]
    if "special_tokens" in processor:
        changed["special_tokens"] = {
            name: {**token, "ids": [numbers[piece] for piece in token["tokens"]]}
            for name, token in processor["special_tokens"].items()
        }
    return changed


def _check_numbers(tokenizer: Any, numbers: Mapping[str, int]) -> None:
    """Refuse a tokenizer whose pieces would not have the numbers of their rows."""
    if tokenizer.get_vocab() != numbers:
        raise PlanError("the tokenizer's pieces cannot be numbered anew, it may have one twice; leave this step out")
