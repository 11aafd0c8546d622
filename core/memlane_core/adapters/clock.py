"""Clocks: the machine's, and one that a file moves (for demos and tests)."""

import time
from pathlib import Path


class SystemClock:
    def now(self) -> float:
        return time.time()


class OffsetFileClock:
    """The machine's clock plus the number of seconds written in a file; a missing file is an offset of 0.

    The file is looked at on each reading (a stat, about a microsecond), so whoever writes it moves time at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._offset = 0.0

    def now(self) -> float:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return time.time()
        stamp = (stat.st_mtime_ns, stat.st_size)
        if stamp != self._stamp:
            text = self._path.read_text().strip()
            if text:
                self._offset = float(text)
                self._stamp = stamp
        return time.time() + self._offset
