"""The command `workbench dashboard`: opens the dashboard of a store on this machine."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.text import Text

import workbench
from workbench.console import StoreOption, out
from workbench.errors import PluginError, UsageError
from workbench.store import STORE_VARIABLE, default_store

APP = Path(workbench.__file__).parents[1] / "app.py"
# Streamlit's own command, with everything loaded before anybody looks. Our folder is put before all others, and the
# current one nowhere: it may well hold a folder called reports.
START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from reports.pages.serving import main; main()"
PORT = 8501
# Only this machine may look, nobody is told of it, and nothing waits for an answer on the terminal.
SETTINGS = {
    "server.address": "localhost",
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "minimal",
}
PortOption = Annotated[int, typer.Option("--port", min=1, max=65535, help="Where it listens, on this machine only.")]


def dashboard(store: StoreOption = None, port: PortOption = PORT) -> None:
    """Look at kept studies in a browser; Ctrl-C ends it."""
    folder = checked_store(store or default_store())
    check_port(port)
    if not APP.is_file():
        raise PluginError(f"{APP} is missing; install encoder-workbench again")
    out.print(Text(f"dashboard of {folder}: http://localhost:{port} (Ctrl-C ends it)"), soft_wrap=True)
    _become_streamlit(folder, port)


def checked_store(folder: Path) -> Path:
    """The whole path of a store that is there, or could be made."""
    whole = folder.expanduser().absolute()
    if whole.exists() and not whole.is_dir():
        raise UsageError(f"store {folder} is a file; name a folder with --store")
    if not whole.is_dir() and not whole.parent.is_dir():
        raise UsageError(f"store {folder}: there is no folder {whole.parent} to hold it; name another with --store")
    return whole


def check_port(port: int) -> None:
    """Refuse a port on which something listens, or which this person may not have."""
    for family, kind, protocol, _, address in socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM):
        with socket.socket(family, kind, protocol) as trial:
            # As the server does it: a port whose last user has just ended is free.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(address)
                trial.listen(1)
            except OSError as error:
                raise UsageError(f"port {port} cannot be had ({error.strerror}); choose another with --port") from None


def _become_streamlit(store: Path, port: int) -> NoReturn:
    """Put the server into this process's place, so that whoever ends this process ends the server."""
    options = [part for name, value in SETTINGS.items() for part in (f"--{name}", value)]
    start = [sys.executable, "-P", "-c", START, str(APP.parent)]
    command = [*start, "run", str(APP), *options, "--server.port", str(port)]
    sys.stdout.flush()
    os.execve(sys.executable, command, {**os.environ, STORE_VARIABLE: str(store)})
