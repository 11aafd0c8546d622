"""Loads for benchmarks, put on servers of their own by the generator in Go (benchmarks/load)."""

from functools import cache

from memlane_server.bench.load import Load, Outcome, Target
from memlane_server.bench.memload import Memload, Running, find
from tests.support.memlane_server import ServerProcess

UNLIMITED = {
    f"MEMLANE_LIMITS__{whose}__{kind}__{bound}": "10000000"
    for whose in ("TENANT", "USER")
    for kind in ("READS", "WRITES")
    for bound in ("PER_SECOND", "BURST")
}
"""Settings of a server that is measured by one user: what one user may ask for in production would bound it."""


@cache
def generator() -> Memload:
    """Built on first use. Raises GeneratorMissing, which says what is missing."""
    return find()


def drive(server: ServerProcess, load: Load, *, token: str = "") -> Outcome:
    """Put a load on a server and wait for its end. Raises GeneratorFailed."""
    return begin(server, load, token=token).result()


def begin(server: ServerProcess, load: Load, *, token: str = "") -> Running:
    """Put a load on a server beside others. Raises GeneratorFailed."""
    target = Target(address=server.address, token=token)
    return generator().start(target, load, server_pid=server.pid)
