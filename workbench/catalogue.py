"""Catalogue: what every installed strategy says of itself, without importing any of them here.

Strategies import torch, and strangers' modules may do anything. A child process imports them once; what they declare
is kept until a provider's version or file changes, so that listing stays instant.
"""

from __future__ import annotations

import json
import subprocess
import sys
import traceback
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench import __version__
from workbench.cache import Cache
from workbench.errors import PluginError
from workbench.files import hash_of, write_text_whole
from workbench.plugins import STRATEGIES, Provider, conflict, found, load

PATIENCE_SECONDS = 300


class Entry(BaseModel):
    """One strategy as a person sees it: what it declares, or why it is broken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    provider: str
    summary: str = ""
    families: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    portable: bool = False
    gives: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    broken: str = ""

    @classmethod
    def of(cls, provider: Provider) -> Self:
        """Ask a strategy what it declares; whatever goes wrong becomes the reason it is broken."""
        from workbench.strategy import Strategy

        try:
            strategy = load(STRATEGIES, provider.name)
            if not (isinstance(strategy, type) and issubclass(strategy, Strategy)):
                raise PluginError(f"{provider.value} is not a Strategy class")
            return cls(
                name=provider.name,
                provider=provider.label,
                summary=(strategy.__doc__ or "").strip().partition("\n")[0],
                families=strategy.families,
                kinds=strategy.kinds,
                needs=strategy.needs,
                claims=strategy.claims,
                portable=strategy.portable,
                gives=strategy.gives,
                refuses=strategy.refuses,
                options=strategy.model_json_schema(),
            )
        except Exception as error:  # noqa: BLE001 - a stranger's class may raise anything when asked
            return cls(name=provider.name, provider=provider.label, broken=_last_line(error))


def catalogue(cache: Cache) -> list[Entry]:
    """Describe every strategy that is advertised, broken ones and names claimed twice included."""
    providers = found(STRATEGIES)
    path = cache.root / "catalogue" / f"{_state(providers)}.json"
    try:
        return [Entry(**item) for item in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, ValidationError):
        entries = _ask_child()
    try:
        write_text_whole(path, json.dumps([entry.model_dump(mode="json") for entry in entries]))
    except OSError:
        # A cache that cannot be written makes listing slower, not wrong.
        return entries
    return entries


def _ask_child() -> list[Entry]:
    command = [sys.executable, "-m", "workbench.catalogue"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise PluginError(f"the strategies cannot be listed: a plugin ended the process ({said[-1][:300]})")
    return [Entry(**item) for item in json.loads(done.stdout.rpartition("\n")[2])]


def _describe_all() -> list[Entry]:
    providers = found(STRATEGIES)
    entries = []
    for provider in providers:
        rivals = [other for other in providers if other.name == provider.name]
        if len(rivals) > 1:
            entries.append(Entry(name=provider.name, provider=provider.label, broken=conflict(rivals)))
        else:
            entries.append(Entry.of(provider))
    return entries


def _state(providers: list[Provider]) -> str:
    facts = [[p.name, p.value, p.distribution, p.version, _file_state(p.value)] for p in providers]
    return hash_of([__version__, sys.executable, facts])


def _file_state(value: str) -> list[Any]:
    """When a provider's file last changed, found without importing it."""
    module = value.partition(":")[0]
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
        for count in range(len(rest)):
            where = spec.submodule_search_locations if spec else None
            spec = PathFinder.find_spec(".".join([top, *rest[: count + 1]]), where) if where else None
        status = Path(spec.origin).stat() if spec and spec.origin else None
    except (ImportError, OSError, ValueError):
        return []
    return [status.st_mtime_ns, status.st_size] if status else []


def _last_line(error: BaseException) -> str:
    if isinstance(error, PluginError):
        return str(error)
    return traceback.format_exception_only(error)[-1].strip()


if __name__ == "__main__":
    # Plugins may print while they are imported; the answer is the last line.
    sys.stdout.write("\n" + json.dumps([entry.model_dump(mode="json") for entry in _describe_all()]))
