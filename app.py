"""The dashboard: kept studies to look at, and new ones to start."""

from __future__ import annotations

import streamlit as st

from reports.pages import compare_two, configurations, new_study, overview, reports_page, run, try_it

# A picture of our own: for the icon of a page, browsers would be sent to a font service.
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path fill="#2f7fc1" d="M1 2h14v3H1zM3 6.5h10v3H3zM5 11h6v3H5z"/></svg>'
)

st.set_page_config(page_title="Encoder workbench", page_icon=ICON, layout="wide")
st.navigation(
    [
        st.Page(overview.show, title="Overview", icon=":material/dashboard:", url_path="overview", default=True),
        st.Page(run.show, title="Run", icon=":material/search:", url_path="run"),
        st.Page(compare_two.show, title="Compare two", icon=":material/compare_arrows:", url_path="compare_two"),
        st.Page(try_it.show, title="Try it", icon=":material/chat:", url_path="try_it"),
        st.Page(reports_page.show, title="Reports", icon=":material/description:", url_path="reports"),
        st.Page(configurations.show, title="Configurations", icon=":material/layers:", url_path="configurations"),
        st.Page(new_study.show, title="New study", icon=":material/add_circle:", url_path="new_study"),
    ]
).run()
