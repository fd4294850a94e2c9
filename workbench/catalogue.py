"""Catalogue: what every installed strategy says of itself, without importing any of them here.

Strategies import torch, and strangers' modules may do anything. A child process imports them once; what they declare
is kept until a provider's file or the set of installed packages changes, so that listing stays instant.
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
TOLD = "workbench-entry: "


class Entry(BaseModel):
    """One strategy as a person sees it: what it declares, or why it is broken.

    ``own_check``: it looks at the encoder itself, and may say more than it declares, or that earlier traits are gone.
    ``own_control``: it may have a control, the same step without its teacher.
    """

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
    own_check: bool = False
    own_control: bool = False
    broken: str = ""

    @classmethod
    def of(cls, provider: Provider) -> Self:
        """Ask a strategy what it declares; whatever goes wrong becomes the reason it is broken."""
        from workbench.strategy import Strategy

        try:
            strategy = _checked(load(STRATEGIES, provider.name), provider)
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
                own_check=strategy.check is not Strategy.check,
                own_control=strategy.control is not Strategy.control,
            )
        except Exception as error:  # noqa: BLE001 - a stranger's class may raise anything when asked
            return cls(name=provider.name, provider=provider.label, broken=_reason(provider, error))


def catalogue(cache: Cache) -> list[Entry]:
    """Describe every strategy that is advertised, broken ones and names claimed twice included."""
    providers = found(STRATEGIES)
    path = cache.root / "catalogue" / f"{_state(providers)}.json"
    try:
        return [Entry(**item) for item in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, ValidationError):
        entries = _ask(providers)
    try:
        write_text_whole(path, json.dumps([entry.model_dump(mode="json") for entry in entries]))
    except OSError:
        # A cache that cannot be written makes listing slower, not wrong.
        return entries
    return entries


def _ask(providers: list[Provider]) -> list[Entry]:
    """Ask a child about all of them; whoever ends it is broken, and the next child goes on behind the culprit."""
    entries: list[Entry] = []
    while len(entries) < len(providers):
        told, last_words = _ask_child(len(entries))
        entries += told
        if len(entries) < len(providers):
            culprit = providers[len(entries)]
            reason = f"{_blamed(culprit)}: it ends the process that imports it ({last_words})"
            entries.append(Entry(name=culprit.name, provider=culprit.label, broken=reason))
    return entries


def _ask_child(start: int) -> tuple[list[Entry], str]:
    command = [sys.executable, "-m", "workbench.catalogue", str(start)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise PluginError(
            f"the strategies cannot be listed: importing them did not end within {PATIENCE_SECONDS} s"
        ) from None
    # Plugins may print while they are imported.
    told = [line.removeprefix(TOLD) for line in done.stdout.splitlines() if line.startswith(TOLD)]
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return [Entry(**json.loads(line)) for line in told], said[-1][:300]


def _describe(provider: Provider, providers: list[Provider]) -> Entry:
    rivals = [other for other in providers if other.name == provider.name]
    if len(rivals) > 1:
        return Entry(name=provider.name, provider=provider.label, broken=conflict(rivals))
    return Entry.of(provider)


def _tell(start: int) -> None:
    providers = found(STRATEGIES)
    for provider in providers[start:]:
        entry = _describe(provider, providers)
        sys.stdout.write(f"\n{TOLD}{entry.model_dump_json()}\n")
        sys.stdout.flush()


def _state(providers: list[Provider]) -> str:
    facts = [[p.name, p.value, p.distribution, p.version, _file_state(p.value)] for p in providers]
    return hash_of([__version__, sys.executable, facts, _installed(), list(Entry.model_fields)])


def _installed() -> list[str]:
    """Every installed package with its version, as its folder is named: what a plugin lacked may have come."""
    # Once somebody imports setuptools, it puts the packages it carries along on the path; they are not installed.
    folders = [Path(folder) for folder in sys.path if Path(folder).name != "_vendor"]
    return sorted({path.name for folder in folders for path in folder.glob("*.dist-info")})


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


def _reason(provider: Provider, error: Exception) -> str:
    if isinstance(error, PluginError):
        return str(error)
    return f"{_blamed(provider)}: {traceback.format_exception_only(error)[-1].strip()}"


def _checked(strategy: Any, provider: Provider) -> Any:
    """Refuse what is no Strategy class, and a class that goes by another name."""
    from workbench.strategy import Strategy

    if not (isinstance(strategy, type) and issubclass(strategy, Strategy)):
        raise PluginError(f"{_blamed(provider)}: {provider.value} is not a Strategy class")
    if strategy.name != provider.name:
        raise PluginError(
            f"{_blamed(provider)}: {provider.value} calls itself {strategy.name!r}; the two names must be one"
        )
    return strategy


def _blamed(provider: Provider) -> str:
    return f"strategy {provider.name!r} from {provider.label} is broken"


if __name__ == "__main__":
    _tell(int(sys.argv[1]))
