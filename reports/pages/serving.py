"""Serving: Streamlit's server, started with its first page loaded and the store being read, so that nobody waits."""

from __future__ import annotations

from threading import Thread
from types import ModuleType

from streamlit.web.cli import main as streamlit

from reports.pages import overview
from reports.pages.reading import read_ahead
from workbench.store import RunStore, default_store

# Loaded before the server answers; where the app is started without this file, it is when somebody first looks.
FIRST = (overview,)


def main() -> None:
    """Do what the command ``streamlit`` does, and meanwhile make ready what will be looked at."""
    Thread(target=make_ready, name="making ready", daemon=True).start()
    streamlit(prog_name="streamlit")


def make_ready() -> None:
    """Read what is shown first, then load what is shown later."""
    read_ahead(RunStore(default_store()))
    load_later()


def load_later() -> tuple[ModuleType, ...]:
    """The chart of the first page, and the pages that are opened from there."""
    from reports import chart_pareto
    from reports.pages import compare_two, configurations, new_study, reports_page, run, try_it

    return (chart_pareto, run, compare_two, try_it, reports_page, configurations, new_study)
