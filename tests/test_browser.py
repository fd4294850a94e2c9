"""A real browser walks through a real dashboard; what it sees is kept as pictures in screenshots/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, dashboard_of, missing_browser
from contrast import contrast
from dossiers import HOSTILE_MESSAGE, HOSTILE_TEXTS, VERSIONS, keep_campaign, keep_failure, keep_versions
from selenium.webdriver.common.keys import Keys

from workbench.store import RunStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_browser()), reason=f"no browser to look with: {missing_browser()}"),
]

PICTURES = Path(__file__).parents[1] / "screenshots"
PAGES = ("Overview", "Run", "Compare two", "Try it", "Reports", "Configurations", "New study")
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    """The dashboard of a small store in which some texts would like to be markup."""
    store = RunStore(tmp_path_factory.mktemp("store"))
    runs = keep_versions(store, texts=HOSTILE_TEXTS)
    keep_campaign(store, runs, {version.recipe: version.faster for version in VERSIONS})
    keep_failure(store, "sunk", HOSTILE_MESSAGE)
    with dashboard_of(store.root, tmp_path_factory.mktemp("log") / "log") as served:
        yield served


@pytest.fixture(scope="module")
def window(tmp_path_factory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_page_can_be_walked_to_and_none_fails(window, address, scheme):
    window.colours(scheme)
    window.open(address)
    links = [link.text.split("\n")[-1].strip() for link in window.all("[data-testid='stSidebarNavLink']")]
    assert tuple(links) == PAGES
    for page in PAGES:
        window.walk_to(page)
        window.photograph(PICTURES / f"{page.lower().replace(' ', '_')}_{scheme}.png")
        assert not window.all("[data-testid='stException']"), f"{page}: {window.text()}"
    assert (window.brightness() > 128) == (scheme == "light")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_charts_write_is_plain_to_read(window, address, scheme):
    window.colours(scheme)
    window.open(address)
    for page in ("Overview", "Run", "Configurations"):
        window.walk_to(page)
        inks = window.chart_inks()
        assert inks, page
        assert min(contrast(ink, window.paper()) for ink in inks) >= 7, page


def test_charts_are_still_plain_to_read_when_light_becomes_dark(window, address):
    window.colours("light")
    window.open(address)
    (before,) = window.chart_inks()
    window.colours("dark")
    window.settle()
    (after,) = window.chart_inks()
    assert before != after
    assert contrast(after, window.paper()) >= 7


def test_a_store_that_is_typed_is_shown_again_after_a_reload(window, address, tmp_path):
    other = RunStore(tmp_path / "other store")
    keep_versions(other, "tickets")
    window.open(address)
    window.wait_for_text("task reviews")
    (field,) = window.all("[data-testid='stSidebar'] input[type='text']:not([role='combobox'])")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(str(other.root), Keys.ENTER)
    window.wait_for_text("task tickets")
    window.reload()
    window.wait_for_text("task tickets")
    for page in ("Configurations", "Overview"):
        window.walk_to(page)
        window.reload()
    window.wait_for_text("task tickets")
    assert "task reviews" not in window.text()


def test_a_slider_that_is_moved_changes_the_recommendation(window, address):
    window.open(address)
    window.wait_for_text("Ship int8")
    quality = next(one for one in window.all("input[type='range']") if "Quality" in one.get_attribute("aria-label"))
    while quality.get_attribute("aria-valuetext") != "100 %":
        quality.send_keys(Keys.ARROW_RIGHT)
    window.wait_for_text("Ship the baseline as it is")
    window.walk_to("Reports")
    window.wait_for_text("at least 100 % of the baseline's quality")
    assert "at least 97 %" not in window.text()


def test_texts_that_would_be_markup_show_as_text(window, address):
    window.open(address)
    window.wait_for_text(f"sunk failed: {HOSTILE_MESSAGE}.")
    window.walk_to("Compare two")
    shown = window.driver.execute_script("return document.body.textContent")
    assert "</script><script>alert('text')</script>" in shown
    assert not window.all("img[src='x'], img[src*='example.org'], [data-testid='stMain'] a[href*='example.org']")


def test_nothing_is_fetched_from_elsewhere(window, address):
    window.open(address)
    names = window.driver.execute_script("return performance.getEntriesByType('resource').map(found => found.name)")
    assert names
    assert [name for name in names if not name.startswith((address, "data:", "blob:"))] == []
