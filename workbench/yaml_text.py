"""YAML as people write it: values one below the other, lists of numbers on one line."""

from __future__ import annotations

from typing import Any

import yaml

WIDTH = 100


class _Writer(yaml.SafeDumper):
    """Writes every value out in full, and list items further in than their key."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


def block_text(value: Any) -> str:
    """Spell plain values (mappings, lists, texts, numbers) as YAML that reads back equal."""
    return str(yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=WIDTH))


def _list(writer: _Writer, items: Any) -> yaml.Node:
    short = all(isinstance(item, int | float) for item in items)
    return writer.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)


def _mapping(writer: _Writer, pairs: dict[Any, Any]) -> yaml.Node:
    return writer.represent_mapping("tag:yaml.org,2002:map", pairs.items(), flow_style=not pairs)


def _text(writer: _Writer, text: str) -> yaml.Node:
    style = "|" if "\n" in text.strip() else None
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Writer.add_representer(list, _list)
_Writer.add_representer(tuple, _list)
_Writer.add_representer(dict, _mapping)
_Writer.add_representer(str, _text)
