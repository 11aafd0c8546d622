"""Rows and opened stores for the vector store contract."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memlane_core.adapters.milvus import MilvusStore
from memlane_core.domain.memory import Memory, MemoryType
from memlane_core.ports.vector_store import StoredRow

DIMENSION = 16
EMBEDDER = "embedder-1"
SECONDS = 30.0
"""Time limit of single calls: generous, a slow machine is no failure."""

_numbers = itertools.count(1)

OpenStore = Callable[..., MilvusStore]
"""Opens another store on the same engine and prefix; keyword arguments replace the constructor's."""


def fresh(what: str) -> str:
    """An id that no other test uses: collections are shared, since a server takes seconds to make one."""
    return f"{what}-{next(_numbers)}"


def unit(seed: int) -> NDArray[np.float32]:
    values = np.random.default_rng(seed).standard_normal(DIMENSION)
    return (values / np.linalg.norm(values)).astype(np.float32)


def row(
    user_id: str,
    content: str = "我对花生过敏",
    *,
    memory_id: str | None = None,
    seed: int = 0,
    is_deleted: bool = False,
    **fields: Any,
) -> StoredRow:
    memory = Memory(memory_id or fresh("m"), user_id, content, **fields)
    return StoredRow(memory, unit(seed), is_deleted)


def knowledge(content: str, vector: NDArray[np.float32], **fields: Any) -> StoredRow:
    return StoredRow(Memory(fresh("k"), "global", content, memory_type=MemoryType.SEMANTIC, **fields), vector)


@dataclass(frozen=True, slots=True)
class Shared:
    """One opened store that the tests of a module share, and two tenants that have collections in it."""

    store: MilvusStore
    tenant: str
    other_tenant: str

    def load(self, user_id: str) -> dict[str, StoredRow]:
        rows = self.store.load_user(self.tenant, user_id, timeout_seconds=SECONDS)
        by_id = {found.memory.memory_id: found for found in rows}
        assert len(by_id) == len(rows), "a row came twice"
        return by_id

    def put(self, *rows: StoredRow, knowledge: bool = False) -> None:
        self.store.upsert(self.tenant, rows, knowledge=knowledge, timeout_seconds=SECONDS)

    def get(self, *memory_ids: str) -> dict[str, StoredRow]:
        rows = self.store.get(self.tenant, memory_ids, timeout_seconds=SECONDS)
        return {found.memory.memory_id: found for found in rows}

    def count(self, user_id: str) -> int:
        return self.store.count(self.tenant, user_id=user_id, timeout_seconds=SECONDS)

    def purge(self, *memory_ids: str) -> None:
        self.store.purge(self.tenant, memory_ids, timeout_seconds=SECONDS)


def same(found: StoredRow, written: StoredRow) -> bool:
    """Equal in every column."""
    return (
        found.memory == written.memory
        and found.is_deleted == written.is_deleted
        and found.embedding.dtype == np.float32
        and bool(np.array_equal(found.embedding, written.embedding))
    )
