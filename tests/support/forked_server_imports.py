"""What the fork server imports and loads before it forks: all that `memlane serve` needs.

Nothing here may open a channel or make a server: gRPC does not survive a fork. The idle threads of NumPy and pyarrow
are restored by their own fork handlers.
"""

import gc

import memlane_server.cli.main
import memlane_server.cli.serve
import memlane_server.console.server
from memlane_core import kernels
from memlane_core.adapters import local_embedder
from tests.support.forked_engine import fork_first_engine

kernels.warm_up()

# The weights of the local embedder, loaded once and then shared by all servers: copies are made on write, and nothing
# writes to them. It loads them at its first text.
_encoder = local_embedder.USE(threads=1)
_encoder.encode(["warm-up"])


def _loaded(threads: int) -> local_embedder.USE:
    assert threads == 1, "the settings of the embedder are not those that were loaded"
    return _encoder


setattr(local_embedder, "USE", _loaded)  # noqa: B010 - mypy does not let a class be assigned to

# Servers collect before they serve; what was made here need not be looked through, and copied, by each of them.
gc.collect()
gc.freeze()


def serve() -> None:
    """The command `memlane serve`, in a process that was just forked."""
    fork_first_engine()
    memlane_server.cli.main.app()
