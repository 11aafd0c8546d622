"""The vector store on Milvus Lite: the contract of its port, and what is Lite's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memlane_core.adapters.milvus import MilvusStore
from tests.contracts.vector_store import (
    IsolationContract,
    KnowledgeContract,
    LimitContract,
    OpeningContract,
    RowContract,
)
from tests.contracts.vector_store_builders import DIMENSION, EMBEDDER, OpenStore, Shared


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    path = tmp_path_factory.mktemp("lite") / "data" / "shared.db"
    store = MilvusStore(str(path), dimension=DIMENSION, embedder_model=EMBEDDER)
    store.open(["bank-a", "银行 B"])
    yield Shared(store, "bank-a", "银行 B")
    store.close()


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    opened: list[MilvusStore] = []

    def open_one(**options: Any) -> MilvusStore:
        settings: dict[str, Any] = {"dimension": DIMENSION, "embedder_model": EMBEDDER} | options
        opened.append(MilvusStore(str(tmp_path / "own.db"), **settings))
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
