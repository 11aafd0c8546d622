"""memlane: the whole service over gRPC, and its user index inside the process."""

import time
from importlib.metadata import version as package_version
from pathlib import Path

import memlane
from memlane_core import kernels
from memlane_core.domain.memory import Memory
from memlane_core.index import SearchQuery, UserIndex
from memlane_core.ports.vector_store import StoredRow
from memlane_server.translate import MemoryRecords
from tests.support.memlane_server import ServerProcess

from ..loadgen import UNLIMITED
from ..seed import TENANT, put
from .corpus import TOP_K, Corpus, Query
from .peer import Found, folder_bytes

_ROW_BYTES = 4_000
"""More than a row has been seen to take in the index."""


def stored_rows(corpus: Corpus, user: int, now: int) -> list[StoredRow]:
    """A user's memories, the deleted ones marked."""
    user_id = corpus.user_id(user)
    return [
        StoredRow(
            Memory(
                memory_id=str(row),
                user_id=user_id,
                content=corpus.text(row),
                created_at=now - len(corpus) + row,
                updated_at=now - len(corpus) + row,
                position=row + 1,
            ),
            corpus.vectors[row],
            is_deleted=bool(corpus.deleted[row]),
        )
        for row in corpus.rows_of(user)
    ]


class MemlaneService:
    title = "memlane"
    kind = "service"
    settings = (
        "`memlane serve` with its defaults (Milvus Lite, SQLite) and without rate limits, TCP on loopback, "
        "memlane's Python client, embedding given"
    )

    def __init__(self) -> None:
        self._server: ServerProcess | None = None
        self._client: memlane.Client | None = None

    def load(self, corpus: Corpus, folder: Path) -> None:
        now = int(time.time())
        self._data = folder / "data"
        put(self._data, [row for user in range(corpus.users) for row in stored_rows(corpus, user, now)])
        budget = 512 + len(corpus) * _ROW_BYTES // 2**20
        settings = {**UNLIMITED, "MEMLANE_INDEX__BUDGET_MIB": str(budget)}
        self._server = ServerProcess(self._data, settings, start_seconds=300.0)
        self._server.start()
        self._client = memlane.Client(self._server.address)
        self._search = self._client.search_memories

    def search(self, query: Query) -> list[Found]:
        found = self._search(query.user_id, embedding=query.vector, top_k=TOP_K)
        return [(int(hit.memory.memory_id), hit.score, hit.memory.content) for hit in found]

    def version(self) -> str:
        return package_version("memlane")

    def nbytes(self) -> int:
        return folder_bytes(self._data)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._server is not None:
            self._server.kill()


class MemlaneIndex:
    title = "memlane, user index"
    kind = "engine"
    settings = (
        "`memlane_core.index.UserIndex` with the server's records; deleted rows stand in the blocks as tombstones; the "
        "time includes parsing the five memories' messages"
    )

    def load(self, corpus: Corpus, folder: Path) -> None:
        kernels.warm_up()
        now = int(time.time())
        self._index = UserIndex(corpus.dimension, 2**20 * 512 + len(corpus) * _ROW_BYTES, MemoryRecords())
        for user in range(corpus.users):
            rows, user_id = stored_rows(corpus, user, now), corpus.user_id(user)
            gone = [row.memory.memory_id for row in rows if row.is_deleted]
            self._index.put_user(TENANT, user_id, rows, len(corpus))
            self._index.apply(TENANT, user_id, (), gone, len(corpus) + 1)

    def search(self, query: Query) -> list[Found]:
        block = self._index.get(TENANT, query.user_id)
        if block is None:
            raise LookupError(f"{query.user_id} is not in the index")
        hits = block.search(SearchQuery(query.vector, None, TOP_K, time.time()))
        scored = [(MemoryRecords.message(hit.record), hit.score) for hit in hits]
        return [(int(memory.memory_id), score, memory.content) for memory, score in scored]

    def version(self) -> str:
        return package_version("memlane")

    def nbytes(self) -> int:
        return self._index.stats().bytes

    def close(self) -> None:
        pass
