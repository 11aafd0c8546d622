"""The vector store on a real Milvus 2.3.5: the contract of its port (B42), and how it lives through outages (B40)."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memlane_core.adapters.milvus import MilvusStore
from memlane_core.domain.errors import StoreUnavailable
from tests.contracts.vector_store import (
    IsolationContract,
    KnowledgeContract,
    LimitContract,
    OpeningContract,
    RowContract,
)
from tests.contracts.vector_store_builders import DIMENSION, EMBEDDER, SECONDS, OpenStore, Shared, fresh, row
from tests.support.milvus_server import MilvusServer

pytestmark = [pytest.mark.milvus_server, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server() -> Iterator[MilvusServer]:
    with MilvusServer() as running:
        yield running


@pytest.fixture(scope="module")
def shared(server: MilvusServer) -> Iterator[Shared]:
    store = MilvusStore(server.uri, dimension=DIMENSION, embedder_model=EMBEDDER)
    store.open(["bank-a", "银行 B"])
    yield Shared(store, "bank-a", "银行 B")
    store.close()


@pytest.fixture
def open_store(server: MilvusServer) -> Iterator[OpenStore]:
    opened: list[MilvusStore] = []
    prefix = fresh("own").replace("-", "_")

    def open_one(**options: Any) -> MilvusStore:
        settings: dict[str, Any] = {
            "dimension": DIMENSION,
            "embedder_model": EMBEDDER,
            "collection_prefix": prefix,
        } | options
        opened.append(MilvusStore(server.uri, **settings))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


class TestRows(RowContract):
    pass


class TestIsolation(IsolationContract):
    pass


class TestLimits(LimitContract):
    pass


class TestKnowledge(KnowledgeContract):
    pass


class TestOpening(OpeningContract):
    pass


class TestOutages:
    """B40: bounded while it is away, back without a restart of ours. Last: they disturb the shared server."""

    def test_a_frozen_server_costs_no_more_than_the_time_given(
        self, server: MilvusServer, shared: Shared, caplog: pytest.LogCaptureFixture, capfd: Any
    ) -> None:
        user = fresh("secret-user")
        server.freeze()
        try:
            with caplog.at_level(logging.DEBUG):
                for work in (
                    lambda: shared.store.load_user(shared.tenant, user, timeout_seconds=1.0),
                    lambda: shared.store.upsert(shared.tenant, [row(user)], timeout_seconds=1.0),
                    lambda: shared.store.ping(timeout_seconds=1.0),
                ):
                    began = time.monotonic()
                    with pytest.raises(StoreUnavailable) as raised:
                        work()
                    assert time.monotonic() - began < 2.0
                    assert user not in str(raised.value)
        finally:
            server.thaw()
        shown = capfd.readouterr()
        assert user not in caplog.text + shown.out + shown.err
        shared.store.ping(timeout_seconds=SECONDS)

    def test_a_killed_server_is_unavailable_and_reached_again_by_the_same_store(
        self, server: MilvusServer, shared: Shared
    ) -> None:
        user = fresh("user")
        written = [row(user, f"第 {number} 条", seed=number) for number in range(50)]
        shared.put(*written)
        server.kill()
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            shared.store.ping(timeout_seconds=1.0)
        with pytest.raises(StoreUnavailable):
            shared.store.load_user(shared.tenant, user, timeout_seconds=1.0)
        assert time.monotonic() - began < 4.0
        server.start()
        assert _reached(shared, within_seconds=60.0) < 60.0
        assert set(shared.load(user)) == {r.memory.memory_id for r in written}
        shared.put(row(user))
        assert len(shared.load(user)) == len(written) + 1

    def test_a_server_that_is_away_at_start_is_unavailable(self) -> None:
        store = MilvusStore(
            "http://127.0.0.1:9", dimension=DIMENSION, embedder_model=EMBEDDER, open_timeout_seconds=1.0
        )
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            store.open([])
        assert time.monotonic() - began < 5.0


def _reached(shared: Shared, *, within_seconds: float) -> float:
    """Seconds until a ping is answered again."""
    began = time.monotonic()
    while True:
        try:
            shared.store.ping(timeout_seconds=2.0)
        except StoreUnavailable:
            if time.monotonic() - began > within_seconds:
                raise
        else:
            return time.monotonic() - began
