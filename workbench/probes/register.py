"""The probes a study can ask for, by name."""

from __future__ import annotations

from workbench.probes.probe import Probe
from workbench.probes.quality import Quality
from workbench.probes.size import Size

PROBES: dict[str, Probe] = {"quality": Quality(), "size": Size()}
