"""The hub, when it cannot be reached: say so at once instead of retrying for half a minute."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlparse

OFFLINE = "HF_HUB_OFFLINE"
PATIENCE_SECONDS = 3.0


def settle_hub_access() -> None:
    """Turn the libraries' offline mode on when no hub answers; call before they are imported.

    Offline mode makes them use their local caches and otherwise fail without waiting. Child processes inherit it.
    """
    if OFFLINE not in os.environ and not _reachable():
        os.environ[OFFLINE] = "1"


def _reachable() -> bool:
    if any(name.lower() in {"https_proxy", "all_proxy"} for name in os.environ):
        # A proxy resolves names for us; only a real request could tell.
        return True
    address = urlparse(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    try:
        with socket.create_connection((address.hostname or "", address.port or 443), timeout=PATIENCE_SECONDS):
            return True
    except OSError:
        return False
