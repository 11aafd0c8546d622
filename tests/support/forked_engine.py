"""The embedded store's process, forked from the memlane server that it belongs to.

A new interpreter imports for most of a second before the engine answers, which is much of what a short test's server
costs. All that follows is the engine's own: process, socket, files, and the end of its standard input as the sign that
its parent died. For servers that were forked themselves, whose imports are done. Tests of the store and of
`ServerProcess` start the engine as users do; so does a forked server that starts it a second time, since gRPC, which is
at work by then, does not survive a fork.
"""

import itertools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn, cast

from memlane_core.adapters.milvus import lite
from memlane_core.adapters.milvus_lite.host import main
from tests.support.fork_server import keep_only


class _ForkedEngine:
    """What LiteProcess asks of a subprocess.Popen."""

    def __init__(self, data_dir: Path, socket: Path) -> None:
        engine_in, own_out = os.pipe()
        own_in, engine_out = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            _become_engine(data_dir, socket, engine_in, engine_out)
        os.close(engine_in)
        os.close(engine_out)
        self.stdin = os.fdopen(own_out, "w")
        self.stdout = os.fdopen(own_in)
        self.returncode: int | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._reap, name="engine-reaper", daemon=True).start()

    def _reap(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        self._ended.set()

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("the engine", timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def _become_engine(data_dir: Path, socket: Path, stdin: int, stdout: int) -> NoReturn:
    """In the forked process, of which the calling thread is the main one."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        keep_only(stdin, stdout)
        sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 - for the rest of the process
        code = main(data_dir, socket)
    finally:
        # Without the exit handlers of the server.
        os._exit(code)


def fork_first_engine() -> None:
    """From here on the first engine of this process is forked from it, later ones are started as usual."""
    launch, starts = lite.launch, itertools.count()

    def fork_or_launch(data_dir: Path, socket: Path) -> "subprocess.Popen[str]":
        if next(starts):
            return launch(data_dir, socket)
        return cast("subprocess.Popen[str]", _ForkedEngine(data_dir, socket))

    setattr(lite, "launch", fork_or_launch)  # noqa: B010 - mypy does not let a function be assigned to
