"""A memlane server process that is forked from one in which the imports are done and the kernels are loaded.

Most of what a start of `memlane serve` costs is importing pymilvus, numba and SQLAlchemy and reading the embedder's
vocabulary: seconds of processor time, the same each time. Here that is paid once, by `fork_server`. What runs after the
fork is the command `memlane serve` with its own environment, data directory, process id, signals and exit code; tests
of starting and ending itself take `ServerProcess`, a new interpreter.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.fork_server import ForkedProcess
from tests.support.memlane_server import Running, ServerProcess


class ForkedServer(ServerProcess):
    """As ServerProcess, at a fraction of the processor time. `command` does not apply."""

    def launch(self, environment: Mapping[str, str]) -> Running:
        return ForkedProcess(environment, self.log)


@contextlib.contextmanager
def running_forked_server(
    data_dir: Path, settings: Mapping[str, str] | None = None
) -> Iterator[ServerProcess]:
    server = ForkedServer(data_dir, settings)
    try:
        yield server.start()
    finally:
        server.kill()
