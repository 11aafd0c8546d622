"""How late the event loop is: what every call waits, whatever it asks for."""

import asyncio
from collections.abc import Callable

_EVERY_SECONDS = 0.05


class LoopLag:
    """Sets itself an alarm and looks how late it rings."""

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._due = 0.0
        self._last = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + _EVERY_SECONDS
        self._alarm = loop.call_at(self._due, self._ring)

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def seconds(self) -> float:
        """The lateness of the last alarm, or of the one that is overdue. On the event loop."""
        if self._alarm is None:
            return 0.0
        return max(self._last, asyncio.get_running_loop().time() - self._due)

    def _ring(self) -> None:
        self._last = max(asyncio.get_running_loop().time() - self._due, 0.0)
        self._observe(self._last)
        self.start()
