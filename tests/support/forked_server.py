"""A memlane server process that is forked from one in which the imports are done and the kernels are loaded.

Most of what a start of `memlane serve` costs is importing pymilvus, openai, numba and SQLAlchemy: seconds of processor
time, the same each time. Here that is paid once per pytest worker, by the fork server of the standard library's
multiprocessing. What runs after the fork is the command `memlane serve` with its own environment, data directory,
process id, signals and exit code; tests of starting and ending itself take `ServerProcess`, a new interpreter.
"""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from tests.support.memlane_server import Running, ServerProcess

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.support.forked_server_imports"])


class _Forked:
    """A multiprocessing process with the methods of subprocess.Popen."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        reader, writer = _context.Pipe(duplex=False)
        # Closed by the system when this process ends, however it ends; the server ends with it.
        held, self._lifeline = _context.Pipe(duplex=False)
        with writer, held:
            self._process = _context.Process(
                target=_serve, args=(dict(environment), writer, held, str(log)), daemon=True
            )
            self._process.start()
        with reader:
            self.stdout = os.fdopen(os.dup(reader.fileno()), "rb")

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("memlane serve", timeout or 0.0)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _end_with(lifeline: Connection) -> None:
    """Nothing is ever sent: poll returns when the other end is closed."""
    lifeline.poll(None)
    os.kill(os.getpid(), signal.SIGKILL)


def _serve(environment: Mapping[str, str], stdout: Connection, lifeline: Connection, log: str) -> None:
    """In the forked process: become `memlane serve`."""
    threading.Thread(target=_end_with, args=(lifeline,), name="lifeline", daemon=True).start()
    with stdout:
        os.dup2(stdout.fileno(), 1)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["memlane", "serve"]
    from memlane_server.cli.main import app
    from tests.support.forked_engine import fork_first_engine

    fork_first_engine()
    app()


class ForkedServer(ServerProcess):
    """As ServerProcess, at a fraction of the processor time. `command` does not apply."""

    def launch(self, environment: Mapping[str, str]) -> Running:
        return _Forked(environment, self.log)


@contextlib.contextmanager
def running_forked_server(
    data_dir: Path, settings: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    server = ForkedServer(data_dir, settings)
    try:
        yield server.start()
    finally:
        server.kill()
