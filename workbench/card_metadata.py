"""Card metadata: what the hub's programs read at the top of a model card, and nothing that was not measured."""

from __future__ import annotations

from typing import Any

from workbench.base_name import PACKAGE, base_name_fault
from workbench.errors import PluginError, UnknownNameError
from workbench.lineage import Manifest
from workbench.measurement import Measurement
from workbench.plugins import TASKS, load
from workbench.run import Run
from workbench.study import Base
from workbench.tasks.sources import HubDataset
from workbench.usage_example import opener_of

TASK_TYPE = "text-classification"
# The hub's names of metrics, where they are not ours.
HUB_METRICS = {"matthews": "matthews_correlation", "pearson": "pearsonr", "spearman": "spearmanr"}
CLASSIC_GLUE = "GLUE folder "
ONLY_PART = "test"


def card_metadata(run: Run, manifest: Manifest) -> dict[str, Any]:
    """The metadata of a run's card; what is not known has no key."""
    found = quality_of(run)
    base, home = hub_id_of(run), hub_dataset_of(run)
    facts = {
        "library_name": opener_of(manifest).library,
        "pipeline_tag": TASK_TYPE,
        "tags": _tags(run, manifest),
        "base_model": base,
        "datasets": [home.path] if home else None,
        "metrics": sorted({hub_metric(metric) for metrics in found.values() for metric in metrics}),
        "model-index": [{"name": run.id, "results": _results(run, home)}] if found else None,
    }
    return {key: value for key, value in facts.items() if value}


def quality_of(run: Run) -> dict[str, dict[str, Measurement]]:
    """The task's metrics by test part and name."""
    found: dict[str, dict[str, Measurement]] = {}
    for one in run.measurements:
        metric, _, part = one.metric.partition("/")
        if metric in run.metrics:
            found.setdefault(part or ONLY_PART, {})[metric] = one
    return found


def hub_id_of(run: Run) -> str | None:
    """The base's id on the hub; absent for a folder, for a package, and where no base is on record."""
    if run.base is None:
        return None
    base = Base(name=run.base.name)
    elsewhere = base.is_folder or base.name.startswith(PACKAGE) or base_name_fault(base)
    return None if elsewhere else base.name


def hub_dataset_of(run: Run) -> HubDataset | None:
    """The data set of the hub that a run's rows belong to, whether they came from there or as the classic files."""
    try:
        task = load(TASKS, run.task)
    except (UnknownNameError, PluginError):
        return None
    homes = [source for source in getattr(task, "sources", ()) if isinstance(source, HubDataset)]
    from_glue = run.data.source.startswith(CLASSIC_GLUE)
    return next((home for home in homes if from_glue or home.describe() == run.data.source), None)


def hub_metric(name: str) -> str:
    """What the hub calls a metric."""
    return HUB_METRICS.get(name, name)


def one_line(text: str) -> str:
    """A text without line breaks, as programs that read metadata line by line expect it."""
    return " ".join(text.split())


def _tags(run: Run, manifest: Manifest) -> list[str]:
    format_tags = {"torch": ["safetensors"], "onnxruntime": ["onnx"], "openvino": ["openvino"]}[manifest.runtime]
    steps = [step.use for step in run.steps]
    return list(dict.fromkeys(map(one_line, ["encoder-workbench", *format_tags, run.task, *steps])))


def _results(run: Run, home: HubDataset | None) -> list[dict[str, Any]]:
    return [
        {
            "task": {"type": TASK_TYPE, "name": one_line(run.task)},
            "dataset": _dataset(run, part, home),
            "metrics": [
                {"type": hub_metric(name), "name": name, "value": round(one.value, 6)} for name, one in metrics.items()
            ],
        }
        for part, metrics in quality_of(run).items()
    ]


def _dataset(run: Run, part: str, home: HubDataset | None) -> dict[str, Any]:
    rows = run.data.rows.get(part)
    # A limited study sees some rows of a split only.
    counted = {"args": {"rows": rows}} if rows else {}
    if home is None:
        return {"name": one_line(run.task), "type": one_line(run.task), "split": one_line(part), **counted}
    pinned = {"revision": home.revision} if home.describe() == run.data.source else {}
    place = {"config": home.config, "split": home.splits.get(part, part), **pinned}
    return {"name": f"{home.path} {home.config}", "type": home.path, **place, **counted}
