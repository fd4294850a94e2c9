"""The dashboard: kept studies to look at, and new ones to start."""

from __future__ import annotations

import streamlit as st

from reports.pages import overview
from reports.pages.address import keep_address

# A picture of our own: for the icon of a page, browsers would be sent to a font service.
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path fill="#2f7fc1" d="M1 2h14v3H1zM3 6.5h10v3H3zM5 11h6v3H5z"/></svg>'
)


# Every page but the first is loaded when somebody opens it, so that the first view need not wait for all of them.
def _run() -> None:
    from reports.pages import run

    run.show()


def _compare_two() -> None:
    from reports.pages import compare_two

    compare_two.show()


def _try_it() -> None:
    from reports.pages import try_it

    try_it.show()


def _reports() -> None:
    from reports.pages import reports_page

    reports_page.show()


def _configurations() -> None:
    from reports.pages import configurations

    configurations.show()


def _new_study() -> None:
    from reports.pages import new_study

    new_study.show()


st.set_page_config(page_title="Encoder workbench", page_icon=ICON, layout="wide")
keep_address()
st.navigation(
    [
        st.Page(overview.show, title="Overview", icon=":material/dashboard:", url_path="overview", default=True),
        st.Page(_run, title="Run", icon=":material/search:", url_path="run"),
        st.Page(_compare_two, title="Compare two", icon=":material/compare_arrows:", url_path="compare_two"),
        st.Page(_try_it, title="Try it", icon=":material/chat:", url_path="try_it"),
        st.Page(_reports, title="Reports", icon=":material/description:", url_path="reports"),
        st.Page(_configurations, title="Configurations", icon=":material/layers:", url_path="configurations"),
        st.Page(_new_study, title="New study", icon=":material/add_circle:", url_path="new_study"),
    ]
).run()
