"""Base names: the three forms in which a study may name its base, told apart by how they are spelled."""

from __future__ import annotations

import re

from workbench.study import Base

PACKAGE = "package:"
# As the hub itself checks names, with the oddities below.
HUB_ID = re.compile(r"(\b[\w\-.]+\b/)?\b[\w\-.]{1,96}\b")
PACKAGE_PLACE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(/.*)?")


def no_base_name(name: str) -> str:
    """Say that a name has none of the forms."""
    return (
        f"base {name!r} is neither a hub id (name, or owner/name) nor a folder "
        "(starting with '.', '/' or '~') nor 'package:NAME/FOLDER'"
    )


def base_name_fault(base: Base) -> str | None:
    """What is wrong with how a base is named; whether there is such a base is not asked."""
    name = base.name
    if name.startswith(PACKAGE):
        fine = bool(PACKAGE_PLACE.fullmatch(name.removeprefix(PACKAGE)))
    else:
        odd = ".." in name or "--" in name or name.endswith(".git")
        fine = base.is_folder or (bool(HUB_ID.fullmatch(name)) and not odd)
    return None if fine else no_base_name(name)
