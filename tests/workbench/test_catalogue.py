"""The catalogue and its listings: every advertised strategy, sound or not, described without importing it here."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from third_party.installing import advertised, installed, laid_out, run_workbench, with_packages

from workbench import __version__
from workbench import catalogue as asking
from workbench.cache import Cache
from workbench.catalogue import Entry, catalogue
from workbench.errors import PluginError
from workbench.plugins import STRATEGIES, found

OURS = f"encoder-workbench {__version__}"
SOUND = """
from workbench.strategy import Strategy

class Only(Strategy):
    '''Do nothing, soundly.'''

    name = NAME
    claims = ("other-weights",)

    def apply(self, encoder, bench):
        return encoder.evolve(encoder.model, by=self)
"""


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """Runs a listing with a polite package installed, a broken one, and one that claims a name that is taken."""
    plugins = ("polite_plugin", "broken_plugin", "rival_plugin")
    folders = [installed(plugin, tmp_path_factory.getbasetemp()) for plugin in plugins]
    place = tmp_path_factory.mktemp("crowd")
    env = with_packages(*folders, WORKBENCH_CACHE=str(place / "cache"))
    return lambda *words: run_workbench("list", *words, env=env, cwd=place)


@pytest.fixture(scope="module")
def listed(crowd):
    done = crowd("strategies", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["rows"]


@pytest.fixture
def on_path(monkeypatch):
    """Puts a folder of packages on the path of this process and of those it starts."""

    def put(folder: Path) -> None:
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setenv("PYTHONPATH", with_packages(folder)["PYTHONPATH"])

    return put


@pytest.fixture(scope="module")
def one_listing(tmp_path_factory) -> tuple[Path, Path]:
    """A folder with a sound package and one that lacks another, and a cache that keeps a listing of them."""
    place = tmp_path_factory.mktemp("sound")
    plugins = advertised(place / "plugins", "sound", SOUND.replace("NAME", "'sound'"))
    advertised(plugins, "hopeful", "import what_it_lacks" + SOUND.replace("NAME", "'hopeful'"))
    env = with_packages(plugins, WORKBENCH_CACHE=str(place / "cache"))
    assert run_workbench("list", "strategies", env=env, cwd=place).returncode == 0
    return plugins, place / "cache"


@pytest.fixture
def kept(one_listing, tmp_path, on_path) -> tuple[Path, Cache]:
    """Those packages on the path, and a copy of the cache that keeps a listing of them."""
    plugins = shutil.copytree(one_listing[0], tmp_path / "plugins")
    on_path(plugins)
    return plugins, Cache(shutil.copytree(one_listing[1], tmp_path / "cache"))


def _rows(listed: list[dict], name: str) -> list[dict]:
    return [row for row in listed if row["name"] == name]


def _entry(entries: list[Entry], name: str) -> Entry:
    (entry,) = [entry for entry in entries if entry.name == name]
    return entry


def test_a_strangers_strategy_is_listed_with_its_options_and_provider(listed):
    assert _rows(listed, "low-rank-ffn") == [
        {
            "name": "low-rank-ffn",
            "what it does": "Cut both feed-forward matrices of every layer down to a low rank; "
            "the best such cut, by singular values.",
            "options": ["share"],
            "families": ["bert", "roberta", "albert", "distilbert"],
            "needs": [],
            "claims": ["fewer-parameters", "smaller-file"],
            "not after": ["graph", "low-rank in its feed-forward"],
            "from": "polite-strategies 1.2.0",
        }
    ]


def test_a_broken_strategy_is_listed_with_its_reason_and_spoils_no_other(listed):
    (row,) = _rows(listed, "no-licence")
    assert row["from"] == "broken-strategies 0.3.1"
    assert row["what it does"].startswith("broken: ")
    assert row["what it does"].endswith("RuntimeError: no licence file was found")
    (sound,) = _rows(listed, "int8-dynamic")
    assert sound["claims"] == ["smaller-file", "other-runtime"]


def test_what_is_no_strategy_class_is_listed_as_broken(listed):
    (row,) = _rows(listed, "not-a-class")
    assert row["what it does"] == "broken: broken_strategies.not_a_class:shrink is not a Strategy class"


def test_a_class_that_goes_by_another_name_is_listed_as_broken(listed):
    (row,) = _rows(listed, "misnamed")
    assert row["what it does"].startswith("broken: ")
    assert "calls itself 'somebody-else'" in row["what it does"]


def test_a_name_claimed_twice_is_listed_for_each_provider_as_broken(listed):
    rows = _rows(listed, "layer-drop")
    assert [row["from"] for row in rows] == [OURS, "rival-strategies 9.0.0"]
    assert all(row["what it does"].startswith("broken: strategy 'layer-drop' is provided twice, by") for row in rows)


def test_the_list_of_plugins_says_which_are_fine_and_why_others_are_not(crowd):
    done = crowd("plugins", "--json")
    states = {(row["name"], row["from"]): row["state"] for row in json.loads(done.stdout)["rows"]}
    assert done.returncode == 0
    assert states["low-rank-ffn", "polite-strategies 1.2.0"] == "fine"
    assert states["int8-dynamic", OURS] == "fine"
    assert states["sst2", OURS] == "fine"
    assert states["no-licence", "broken-strategies 0.3.1"].endswith("RuntimeError: no licence file was found")
    assert states["layer-drop", OURS] == states["layer-drop", "rival-strategies 9.0.0"]
    assert states["layer-drop", OURS].endswith("(rival_strategies.layer_drop:LayerDrop); uninstall one")


def test_people_get_a_table_and_a_remark_for_each_fault(crowd):
    done = crowd("strategies")
    assert done.returncode == 0
    assert "low-rank" in done.stdout
    assert "no licence file was found" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_every_advertised_strategy_has_an_entry_and_none_is_imported_to_make_it(kept):
    entries = catalogue(kept[1])
    assert [entry.name for entry in entries] == [provider.name for provider in found(STRATEGIES)]
    assert _entry(entries, "sound").summary == "Do nothing, soundly."
    assert "sound" not in sys.modules


def test_a_second_listing_reads_what_the_first_one_kept(kept):
    _, cache = kept
    (path,) = (cache.root / "catalogue").glob("*.json")
    path.write_text(path.read_text().replace("Do nothing, soundly.", "Read from the cache."))
    assert _entry(catalogue(cache), "sound").summary == "Read from the cache."


def test_a_plugin_that_was_edited_is_described_anew(kept):
    plugins, cache = kept
    module = plugins / "sound.py"
    module.write_text(module.read_text().replace("Do nothing, soundly.", "Do nothing, but later."))
    assert _entry(catalogue(cache), "sound").summary == "Do nothing, but later."


def test_a_cache_that_can_be_neither_read_nor_written_makes_listing_slower_but_not_wrong(kept):
    _, cache = kept
    (path,) = (cache.root / "catalogue").glob("*.json")
    path.unlink()
    path.mkdir()
    assert _entry(catalogue(cache), "sound").summary == "Do nothing, soundly."


def test_whatever_a_plugin_does_while_it_is_imported_is_its_own_fault_alone(tmp_path, on_path):
    plugins = tmp_path / "plugins"
    advertised(plugins, "exits", "raise SystemExit('not on this machine')")
    advertised(plugins, "kills", "import os\nos.abort()")
    advertised(plugins, "prints", "print('hello', end='')" + SOUND.replace("NAME", "'prints'"))
    on_path(plugins)
    entries = catalogue(Cache(tmp_path / "cache"))
    assert _entry(entries, "exits").broken.endswith("SystemExit: not on this machine")
    assert "ends the process" in _entry(entries, "kills").broken
    assert _entry(entries, "prints").broken == ""
    assert _entry(entries, "int8-dynamic").claims == ("smaller-file", "other-runtime")


def test_a_plugin_that_was_broken_is_fine_once_what_it_lacked_is_there(kept):
    plugins, cache = kept
    assert _entry(catalogue(cache), "hopeful").broken.endswith("No module named 'what_it_lacks'")
    laid_out(plugins, "what-it-lacks", "")
    assert _entry(catalogue(cache), "hopeful").broken == ""


def test_a_listing_that_takes_too_long_is_an_error_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.05)
    with pytest.raises(PluginError, match=r"did not end within 0\.05 s"):
        catalogue(Cache(tmp_path))
