"""Stored rows for the index tests."""

import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from memlane_core.domain.memory import Memory
from memlane_core.index import JsonRecords
from memlane_core.ports.vector_store import StoredRow

DIMENSION = 16


def unit(seed: int, dimension: int = DIMENSION) -> NDArray[np.float32]:
    raw = np.random.default_rng(seed).standard_normal(dimension)
    return np.ascontiguousarray(raw / np.linalg.norm(raw), dtype=np.float32)


def row(
    memory_id: str,
    content: str = "",
    *,
    user_id: str = "u",
    seed: int | None = None,
    created_at: int = 0,
    expires_at: int | None = None,
    position: int = 1,
    metadata: Mapping[str, str] | None = None,
) -> StoredRow:
    memory = Memory(
        memory_id,
        user_id,
        content or f"memory {memory_id}",
        created_at=created_at,
        expires_at=expires_at,
        position=position,
        metadata=metadata or {},
    )
    return StoredRow(memory, unit(zlib.crc32(memory_id.encode()) if seed is None else seed))


RECORDS = JsonRecords()


class FailingRecords(JsonRecords):
    """Cannot encode a memory that says "bad"."""

    def encode(self, memory: Memory) -> bytes:
        if memory.content == "bad":
            raise ValueError("no record")
        return super().encode(memory)
