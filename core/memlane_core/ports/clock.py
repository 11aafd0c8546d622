"""Time as a dependency, so that tests and the demo can move it."""

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds, UTC."""
        ...
