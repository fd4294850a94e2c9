"""Process memory: how much this process held at its highest in each phase of its life."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

SELF = Path("/proc/self")
# Tells Linux to forget the highest mark, so that the next phase has its own. ``ru_maxrss`` cannot forget, and a child
# starts with its parent's.
FORGET_THE_PEAK = "5"
EXACT = "the kernel's high-water mark of each phase"
SAMPLED = "what the process held at the end of each phase; higher marks in between went unseen"


class Phase(BaseModel):
    """What a process held: at its highest during the phase, and at its end in private and in file-backed memory.

    What the system does not tell is absent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    peak_bytes: int
    end_bytes: int
    anonymous_bytes: int | None = None
    file_bytes: int | None = None


class Watch:
    """Watches this process; ``how`` says how well it can."""

    def __init__(self) -> None:
        self.how = EXACT if _forget_peak() else SAMPLED

    def ended(self, name: str) -> Phase:
        """Say what the phase that ends now held, and begin the next."""
        phase = _from_kernel(name) if self.how == EXACT else _from_psutil(name)
        _forget_peak()
        return phase


def _forget_peak() -> bool:
    try:
        (SELF / "clear_refs").write_text(FORGET_THE_PEAK, encoding="ascii")
    except OSError:
        return False
    return True


def _from_kernel(name: str) -> Phase:
    lines = (SELF / "status").read_text(encoding="ascii", errors="replace").splitlines()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)

    def size(key: str) -> int:
        return int(facts[key].split()[0]) * 1024

    return Phase(
        name=name,
        peak_bytes=size("VmHWM"),
        end_bytes=size("VmRSS"),
        anonymous_bytes=size("RssAnon"),
        file_bytes=size("RssFile"),
    )


def _from_psutil(name: str) -> Phase:
    import psutil

    held = int(psutil.Process().memory_info().rss)
    return Phase(name=name, peak_bytes=held, end_bytes=held)
