"""Web answer: whether an address answers within a time, and if not, why."""

from __future__ import annotations

import queue
import threading
import urllib.error
import urllib.request
from http.client import HTTPException

# Answers that show a server at work although it refuses this very request.
REFUSALS = (401, 404, 405)


def fault_of(address: str, patience: float) -> str | None:
    """Why an address does not answer, if it does not.

    A thread asks, because finding a name's address and following redirections keep to no time limit of their own.
    """
    answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=lambda: answers.put(_ask(address, patience)), daemon=True).start()
    try:
        return answers.get(timeout=patience)
    except queue.Empty:
        return f"no answer in {patience:g} s"


def _ask(address: str, patience: float) -> str | None:
    if not address.startswith(("http://", "https://")):
        return "not a web address; HF_ENDPOINT should start with https://"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=patience):
            return None
    except urllib.error.HTTPError as error:
        return None if error.code in REFUSALS else f"it answers {error.code} {error.reason}"
    except urllib.error.URLError as error:
        return error.reason.strerror or str(error.reason) if isinstance(error.reason, OSError) else str(error.reason)
    except TimeoutError:
        return f"no answer in {patience:g} s"
    except (OSError, HTTPException, ValueError) as error:
        return str(error) or type(error).__name__
