"""One real server process for the wire tests of a module."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    clock: Path = tmp_path_factory.mktemp("clock") / "offset"
    settings = {"MEMLANE_CLOCK_OFFSET_FILE": str(clock), "MEMLANE_INDEX__BUDGET_MIB": "2048"}
    with running_forked_server(tmp_path_factory.mktemp("memlane") / "data", settings) as process:
        yield process


@pytest.fixture(scope="module")
def channel(server: ServerProcess) -> Iterator[grpc.Channel]:
    with server.channel() as channel:
        yield channel
