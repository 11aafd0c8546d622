"""What the fork server imports before it forks: all that `memlane serve` needs.

Nothing here may open a channel or make a server: gRPC does not survive a fork. The idle threads of NumPy and pyarrow
are restored by their own fork handlers.
"""

import memlane_server.cli.main
import memlane_server.cli.serve
import memlane_server.console.server  # noqa: F401
from memlane_core import kernels

kernels.warm_up()
