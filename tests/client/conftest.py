"""A scripted server per test, and a caller per client kind."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memlane import RetryPolicy
from tests.client.callers import CALLERS, Caller
from tests.client.scripted_server import ScriptedServer

QUICK = RetryPolicy(initial_backoff_seconds=0.001, max_backoff_seconds=0.002)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer().start()
    yield server
    server.stop()


@pytest.fixture(params=sorted(CALLERS))
def connect(request: pytest.FixtureRequest, server: ScriptedServer) -> Iterator[Callable[..., Caller]]:
    """Makes clients of either kind with options of the test's choice."""
    made: list[Caller] = []

    def make(**options: Any) -> Caller:
        caller: Caller = CALLERS[request.param](server.target, **{"retry": QUICK, **options})
        made.append(caller)
        return caller

    yield make
    for caller in made:
        caller.close()


@pytest.fixture
def caller(connect: Callable[..., Caller]) -> Caller:
    return connect()
