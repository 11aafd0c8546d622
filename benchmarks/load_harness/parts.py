"""What a part of the harness gets and gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..timing import Progress


@dataclass(frozen=True, slots=True)
class Options:
    seconds: float
    """Of one measurement."""
    soak_seconds: float
    progress: Progress


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold, and what was seen."""

    promise: str
    seen: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Section:
    """What a part has to say."""

    title: str
    text: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    checks: Sequence[Check] = ()
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """Lines to draw: points (x, y) by name."""
    axes: tuple[str, str] = ("", "")
    logarithmic: bool = False

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "title": self.title,
            "rows": [dict(zip(self.header, row, strict=True)) for row in self.rows],
            "checks": [{"promise": c.promise, "seen": c.seen, "holds": c.holds} for c in self.checks],
            "curves": {name: [list(point) for point in points] for name, points in self.curves.items()},
        }


def milliseconds(microseconds: float) -> str:
    return f"{microseconds / 1000:,.2f}"
