"""How late and how busy the event loop is: what every call pays, whatever it asks for."""

import asyncio
import time
from collections.abc import Callable

_EVERY_SECONDS = 0.05
_REMEMBERED = 0.8
"""Weight of the past in the running mean of the busy part: what was half a second ago hardly counts."""


class LoopLag:
    """Sets itself an alarm, looks how late it rings and how much of the time its thread was computing.

    Lateness alone does not show an overload: grpc.aio takes up one call in each turn of the loop, so that calls pile
    up in the transport while the loop still turns quickly. A thread that computes nearly all the time shows it.
    """

    def __init__(self, observe: Callable[[float], None]) -> None:
        self._observe = observe
        self._due = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._cpu_seconds = 0.0
        self._wall_seconds = 0.0
        self.late_seconds = 0.0
        """Of the last alarm."""
        self.busy = 0.0
        """Part of the last moments in which the thread of the loop was computing, 0..1."""

    def start(self) -> None:
        self._cpu_seconds, self._wall_seconds = time.thread_time(), time.perf_counter()
        self._set()

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _set(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + _EVERY_SECONDS
        self._alarm = loop.call_at(self._due, self._ring)

    def _ring(self) -> None:
        self.late_seconds = max(asyncio.get_running_loop().time() - self._due, 0.0)
        cpu_seconds, wall_seconds = time.thread_time(), time.perf_counter()
        busy = min((cpu_seconds - self._cpu_seconds) / max(wall_seconds - self._wall_seconds, 1e-9), 1.0)
        self.busy = _REMEMBERED * self.busy + (1 - _REMEMBERED) * busy
        self._cpu_seconds, self._wall_seconds = cpu_seconds, wall_seconds
        self._observe(self.late_seconds)
        self._set()
