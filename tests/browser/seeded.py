"""A console with customers to look at, for the tests and the pictures of it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import memlane
from tests.support.bank_customers import History
from tests.support.memlane_server import running_server


@contextlib.contextmanager
def seeded_console(folder: Path) -> Iterator[str]:
    """Address of its page."""
    clock_file = folder / "clock"
    settings = {
        "MEMLANE_CONSOLE__ENABLED": "true",
        "MEMLANE_CONSOLE__PORT": "0",
        "MEMLANE_CONTEXT__TIME_ZONE": "Asia/Shanghai",
        "MEMLANE_CLOCK_OFFSET_FILE": str(clock_file),
    }
    with running_server(folder / "data", settings) as server:
        with memlane.Client(server.address) as client:
            History(client, clock_file).tell()
        yield server.console
