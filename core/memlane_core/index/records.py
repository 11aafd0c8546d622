"""How a memory stands in the index: one piece of bytes, ready to be sent."""

import json
from typing import Protocol

from ..domain.memory import Memory, MemoryType


class Records(Protocol):
    """Encodes a memory once, when it is written, into what an answer sends of it.

    Of each memory only its record is kept: as Python objects its fields would take twice the room.
    """

    def encode(self, memory: Memory) -> bytes: ...

    def decode(self, record: bytes, position: int) -> Memory:
        """The memory again; its journal position is kept beside the record."""
        ...


class JsonRecords:
    """Records for an index that answers nobody over a wire: evaluation, benchmarks, tests."""

    def encode(self, memory: Memory) -> bytes:
        m = memory
        fields = (
            m.memory_id, m.user_id, m.content, m.memory_type, dict(m.metadata), m.created_at, m.updated_at,
            m.expires_at, m.revision,
        )  # fmt: skip
        return json.dumps(fields).encode()

    def decode(self, record: bytes, position: int) -> Memory:
        memory_id, user_id, content, kind, metadata, created_at, updated_at, expires_at, revision = (
            json.loads(record)
        )
        return Memory(
            memory_id, user_id, content, MemoryType(kind), metadata, created_at, updated_at, expires_at, revision,
            position,
        )  # fmt: skip
