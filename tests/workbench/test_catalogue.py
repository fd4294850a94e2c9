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
from workbench.catalogue import catalogue
from workbench.errors import PluginError
from workbench.plugins import STRATEGIES, found

TOO_LONG = r"importing them did not end within 0\.01 s"
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
def crowd(tmp_path_factory) -> list[Path]:
    """Folders of packages: a polite one, a broken one, one that claims a taken name, one that lacks another."""
    plugins = ("polite_plugin", "broken_plugin", "rival_plugin")
    own = tmp_path_factory.mktemp("own")
    advertised(own, "sound", SOUND.replace("NAME", "'sound'"))
    advertised(own, "hopeful", "import what_it_lacks" + SOUND.replace("NAME", "'hopeful'"))
    return [own, *(installed(plugin, tmp_path_factory.getbasetemp()) for plugin in plugins)]


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def listing(crowd, cache):
    """Runs a listing command among the crowd; what the first one finds out is kept for the next."""
    env = with_packages(*crowd, WORKBENCH_CACHE=str(cache))
    return lambda *words: run_workbench("list", *words, env=env, cwd=cache)


@pytest.fixture(scope="module")
def listed(listing):
    done = listing("strategies", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.fixture
def on_path(monkeypatch):
    """Puts folders of packages on the path of this process and of those it starts."""

    def put(*folders: Path) -> None:
        for folder in reversed(folders):
            monkeypatch.syspath_prepend(folder)
        monkeypatch.setenv("PYTHONPATH", with_packages(*folders)["PYTHONPATH"])

    return put


@pytest.fixture
def kept(listed, crowd, cache, tmp_path, on_path, monkeypatch) -> tuple[Path, Cache]:
    """The crowd on the path, one folder of it to change at will, a cache that keeps its listing, and no patience.

    Without patience, asking for a new listing is an error; what is kept can still be read.
    """
    own = shutil.copytree(crowd[0], tmp_path / "own")
    on_path(own, *crowd[1:])
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.01)
    return own, Cache(shutil.copytree(cache, tmp_path / "cache"))


@pytest.fixture(scope="module")
def odd_ones(tmp_path_factory):
    """What is listed of plugins that exit, kill or print when imported, by a cache that cannot be written."""
    place = tmp_path_factory.mktemp("odd")
    advertised(place, "exits", "raise SystemExit('not on this machine')")
    advertised(place, "kills", "import os\nos.abort()")
    advertised(place, "prints", "print('hello', end='')" + SOUND.replace("NAME", "'prints'"))
    (place / "catalogue").write_text("a file where a folder belongs")
    done = run_workbench(
        "list", "strategies", "--json", env=with_packages(place, WORKBENCH_CACHE=str(place)), cwd=place
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _rows(listed: dict, name: str) -> list[dict]:
    return [row for row in listed["rows"] if row["name"] == name]


def test_a_strangers_strategy_is_listed_with_its_options_and_provider(listed):
    (row,) = _rows(listed, "low-rank-ffn")
    assert row["from"] == "polite-strategies 1.2.0"
    assert row["what it does"].startswith("Cut both feed-forward matrices of every layer down to a low rank")
    assert (row["families"], row["needs"]) == (["all"], [])
    assert row["claims"] == ["fewer-parameters", "smaller-file"]
    assert row["not after"] == ["graph", "low-rank in its feed-forward"]
    assert list(row["options"]) == ["share"]
    assert row["options"]["share"]["default"] == 0.25
    assert row["options"]["share"]["description"] == "rank that stays, as a share of the encoder's width"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no-licence", "RuntimeError: no licence file was found"),
        ("not-a-class", "broken_strategies.not_a_class:shrink is not a Strategy class"),
        ("misnamed", "broken_strategies.misnamed:Misnamed calls itself 'somebody-else'; the two names must be one"),
    ],
    ids=["no-licence", "not-a-class", "misnamed"],
)
def test_a_broken_strategy_is_listed_with_its_package_and_reason(name, reason, listed):
    (row,) = _rows(listed, name)
    assert row["from"] == "broken-strategies 0.3.1"
    assert row["what it does"].startswith("broken")
    assert f"strategy '{name}' from broken-strategies 0.3.1 is broken: {reason}" in listed["remarks"]


def test_a_name_claimed_twice_is_listed_for_each_provider_as_broken(listed):
    rows = _rows(listed, "layer-drop")
    assert [row["from"] for row in rows] == [OURS, "rival-strategies 9.0.0"]
    assert all(row["what it does"].startswith("broken") for row in rows)
    (remark,) = {remark for remark in listed["remarks"] if "layer-drop" in remark}
    assert remark.startswith(f"strategy 'layer-drop' is provided twice, by {OURS} (strategies.layer_drop:LayerDrop)")


def test_a_plugin_that_ends_the_process_when_imported_is_listed_as_broken(odd_ones):
    reasons = [remark for remark in odd_ones["remarks"] if "exits" in remark or "kills" in remark]
    assert reasons[0] == "strategy 'exits' from exits 0.1 is broken: SystemExit: not on this machine"
    assert reasons[1].startswith("strategy 'kills' from kills 0.1 is broken: it ends the process that imports it")


def test_a_plugin_that_prints_when_imported_garbles_nothing(odd_ones):
    (row,) = _rows(odd_ones, "prints")
    assert row["what it does"] == "Do nothing, soundly."


def test_a_broken_strategy_or_cache_spoils_nothing_else(listed, odd_ones):
    assert _rows(listed, "int8-dynamic") == _rows(odd_ones, "int8-dynamic")
    (row,) = _rows(listed, "int8-dynamic")
    assert (row["from"], row["claims"]) == (OURS, ["smaller-file", "other-runtime"])


def test_the_list_of_plugins_says_which_are_fine_and_why_others_are_not(listing):
    done = listing("plugins", "--json")
    states = {(row["name"], row["from"]): row["state"] for row in json.loads(done.stdout)["rows"]}
    assert done.returncode == 0
    assert states["low-rank-ffn", "polite-strategies 1.2.0"] == "fine"
    assert states["int8-dynamic", OURS] == "fine"
    assert states["sst2", OURS] == "fine"
    assert states["no-licence", "broken-strategies 0.3.1"].endswith("RuntimeError: no licence file was found")
    assert states["layer-drop", OURS] == states["layer-drop", "rival-strategies 9.0.0"]
    assert states["layer-drop", OURS].endswith("(rival_strategies.layer_drop:LayerDrop); uninstall one")


def test_people_get_a_table_and_a_remark_for_each_fault(listing):
    done = listing("strategies")
    assert done.returncode == 0
    assert "low-rank" in done.stdout
    assert "no licence file was found" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_every_advertised_strategy_has_an_entry_and_none_is_imported_to_make_it(kept):
    entries = catalogue(kept[1])
    assert [entry.name for entry in entries] == [provider.name for provider in found(STRATEGIES)]
    assert {"sound", "hopeful"} <= {entry.name for entry in entries}
    assert sys.modules.keys().isdisjoint({"sound", "hopeful"})


def test_a_second_listing_reads_what_the_first_one_kept(kept):
    _, cache = kept
    (path,) = (cache.root / "catalogue").glob("*.json")
    path.write_text(path.read_text().replace("Do nothing, soundly.", "Read from the cache."))
    (entry,) = [entry for entry in catalogue(cache) if entry.name == "sound"]
    assert entry.summary == "Read from the cache."


def test_strategies_are_asked_again_when_one_was_edited(kept):
    own, cache = kept
    with (own / "sound.py").open("a") as stream:
        stream.write("# edited\n")
    with pytest.raises(PluginError, match=TOO_LONG):
        catalogue(cache)


def test_strategies_are_asked_again_when_a_package_came_that_a_broken_one_may_have_lacked(kept):
    own, cache = kept
    laid_out(own, "what-it-lacks", "")
    with pytest.raises(PluginError, match=TOO_LONG):
        catalogue(cache)


def test_strategies_are_asked_again_when_what_was_kept_cannot_be_read(kept):
    _, cache = kept
    (path,) = (cache.root / "catalogue").glob("*.json")
    path.write_text('[{"name": "half a')
    with pytest.raises(PluginError, match=TOO_LONG):
        catalogue(cache)
