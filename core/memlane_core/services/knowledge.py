"""Semantic knowledge: shared by all users of a tenant, found by approximate search in the vector store."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..domain.errors import NotFound, RevisionMismatch
from ..domain.ids import new_knowledge_id
from ..domain.limits import GLOBAL_USER_ID
from ..domain.memory import Action, DeciderKind, Memory, MemoryType
from ..ports.clock import Clock
from ..ports.journal import Change, Commit, History, Journal, LostRace, MemoryPage, RequestStamp
from ..ports.vector_store import KnowledgeHit, KnowledgeQuery, VectorStore
from .call import Call
from .codec import dumps, memory_from_json, memory_to_json
from .consistency import Consistency, Positions
from .embedding_cache import CachingEmbedder
from .offload import Offload
from .search import SearchTiming
from .writer import MemoryWriter

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class UpsertKnowledge:
    knowledge_id: str
    """"" = a new one is given an id."""
    content: str
    metadata: Mapping[str, str]
    ttl_seconds: int | None
    revision: int | None
    request: RequestStamp | None


@dataclass(frozen=True, slots=True)
class KnowledgeWritten:
    memory: Memory
    created: bool
    position: int


class KnowledgeService:
    """Knowledge passes through the same journal as memories, under the reserved owner `global`."""

    def __init__(
        self,
        *,
        embedder: CachingEmbedder,
        store: VectorStore,
        journal: Journal,
        history: History,
        writer: MemoryWriter,
        positions: Positions,
        offload: Offload,
        clock: Clock,
    ) -> None:
        self._embedder = embedder
        self._store = store
        self._journal = journal
        self._history = history
        self._writer = writer
        self._positions = positions
        self._offload = offload
        self._clock = clock
        self._empty: dict[str, bool] = {}

    async def upsert(self, call: Call, command: UpsertKnowledge) -> KnowledgeWritten:
        """Raises RevisionMismatch, RequestIdReused and what embedder, journal and store raise."""
        if command.request and (stored := await self._replay(call, command.request)):
            return stored
        [vector] = await self._embedder.embed(
            [command.content], timeout_seconds=call.deadline.timeout_seconds(_SECONDS)
        )
        async with self._writer.hold(call.tenant, GLOBAL_USER_ID):
            old = await self._find(call, command.knowledge_id) if command.knowledge_id else None
            self._check(old, command.revision)
            now = int(self._clock.now())
            memory = Memory(
                memory_id=command.knowledge_id or new_knowledge_id(),
                user_id=GLOBAL_USER_ID,
                content=command.content,
                memory_type=MemoryType.SEMANTIC,
                metadata=dict(command.metadata),
                created_at=old.created_at if old else now,
                updated_at=now,
                expires_at=None if command.ttl_seconds is None else now + command.ttl_seconds,
                revision=await self._next_revision(call, command.knowledge_id, old),
            )
            change = Change(
                Action.UPDATE if old else Action.ADD,
                memory,
                old.content if old else None,
                vector,
                "",
                "STATED",
                DeciderKind.EXPLICIT,
            )
            written = await self._commit(call, "UpsertKnowledge", change, command.request)
            self._empty.pop(call.tenant, None)
            return written

    async def delete(
        self, call: Call, knowledge_id: str, revision: int | None, request: RequestStamp | None
    ) -> KnowledgeWritten:
        """Soft delete. Raises NotFound, RevisionMismatch."""
        if request and (stored := await self._replay(call, request)):
            return stored
        async with self._writer.hold(call.tenant, GLOBAL_USER_ID):
            old = await self._find(call, knowledge_id)
            if old is None:
                raise NotFound("knowledge", knowledge_id)
            self._check(old, revision)
            rows = await self._offload(
                self._store.get, call.tenant, [knowledge_id], knowledge=True, timeout_seconds=_SECONDS
            )
            change = Change(
                Action.DELETE,
                replace(old, updated_at=int(self._clock.now()), revision=old.revision + 1),
                old.content,
                rows[0].embedding if rows else self._placeholder(),
                "",
                "STATED",
                DeciderKind.EXPLICIT,
                is_deleted=True,
            )
            return await self._commit(call, "DeleteKnowledge", change, request)

    async def get(self, call: Call, knowledge_id: str, consistency: Consistency) -> Memory:
        """Raises NotFound for an unknown, deleted or expired one."""
        await self._positions.ensure(call, GLOBAL_USER_ID, consistency)
        memory = await self._find(call, knowledge_id)
        if memory is None:
            raise NotFound("knowledge", knowledge_id)
        return memory

    async def list_knowledge(
        self, call: Call, *, after_key: tuple[int, int] | None, limit: int, consistency: Consistency
    ) -> list[Memory]:
        """Newest first; at most `limit`."""
        await self._positions.ensure(call, GLOBAL_USER_ID, consistency)
        now = self._clock.now()
        visible: list[Memory] = []
        while len(visible) < limit:
            page = await self._offload(
                self._history.memories,
                MemoryPage(call.tenant, GLOBAL_USER_ID, after_key=after_key, limit=limit),
            )
            visible += [m for m in page if m.visible(now)]
            if len(page) < limit:
                break
            after_key = (page[-1].created_at, page[-1].position)
        return visible[:limit]

    async def search(
        self,
        call: Call,
        *,
        query: str | None,
        embedding: NDArray[np.float32] | None,
        top_k: int,
        min_score: float | None,
        consistency: Consistency,
    ) -> tuple[list[KnowledgeHit], SearchTiming]:
        """Best first, by cosine."""
        started = embed_done = time.perf_counter_ns()
        cached = False
        if embedding is None:
            assert query is not None
            embedded = await self._embedder.embed_query(
                query, timeout_seconds=call.deadline.timeout_seconds(_SECONDS)
            )
            embedding, cached = embedded.embedding, embedded.cached
            embed_done = time.perf_counter_ns()
        await self._positions.ensure(call, GLOBAL_USER_ID, consistency)
        hits = await self.nearest(call, embedding, top_k)
        if min_score is not None:
            hits = [h for h in hits if h.score >= min_score]
        done = time.perf_counter_ns()
        return hits, SearchTiming(
            (embed_done - started) // 1000, (done - embed_done) // 1000, (done - started) // 1000, cached
        )

    async def nearest(self, call: Call, embedding: NDArray[np.float32], top_k: int) -> list[KnowledgeHit]:
        """The store is not asked for a tenant that has no knowledge."""
        if await self.is_empty(call):
            return []
        return await self._offload(
            self._store.search_knowledge,
            KnowledgeQuery(
                tenant=call.tenant,
                embedding=embedding,
                top_k=top_k,
                now=int(self._clock.now()),
                timeout_seconds=call.deadline.timeout_seconds(_SECONDS),
            ),
        )

    def known_empty(self, tenant: str) -> bool:
        """Whether this process knows that the tenant has no knowledge; False when it does not know."""
        return self._empty.get(tenant, False)

    async def is_empty(self, call: Call) -> bool:
        known = self._empty.get(call.tenant)
        if known is None:
            page = await self._offload(
                self._history.memories, MemoryPage(call.tenant, GLOBAL_USER_ID, limit=1)
            )
            known = self._empty[call.tenant] = not page
        return known

    async def _find(self, call: Call, knowledge_id: str) -> Memory | None:
        found = await self._offload(
            self._history.memories,
            MemoryPage(call.tenant, GLOBAL_USER_ID, memory_ids=(knowledge_id,), limit=1),
        )
        return found[0] if found and found[0].visible(self._clock.now()) else None

    async def _next_revision(self, call: Call, knowledge_id: str, old: Memory | None) -> int:
        """Ids of knowledge are the caller's: one that was deleted before goes on counting."""
        if old is not None:
            return old.revision + 1
        if not knowledge_id:
            return 1
        return await self._offload(self._history.last_revision, call.tenant, GLOBAL_USER_ID, knowledge_id) + 1

    def _check(self, old: Memory | None, revision: int | None) -> None:
        if revision is not None and (old.revision if old else 0) != revision:
            raise RevisionMismatch(
                "the knowledge was changed meanwhile: read it again",
                metadata={"expected": str(revision), "current": str(old.revision if old else 0)},
            )

    def _placeholder(self) -> NDArray[np.float32]:
        vector = np.zeros(self._embedder.dimension, np.float32)
        vector[0] = 1.0
        return vector

    async def _replay(self, call: Call, request: RequestStamp) -> KnowledgeWritten | None:
        stored = await self._offload(self._journal.find_replay, call.tenant, GLOBAL_USER_ID, request)
        return _written(stored.response) if stored else None

    async def _commit(
        self, call: Call, operation: str, change: Change, request: RequestStamp | None
    ) -> KnowledgeWritten:
        created = change.action is Action.ADD

        def respond(positions: tuple[int, ...]) -> str:
            memory = replace(change.memory, position=positions[0])
            return dumps({"memory": memory_to_json(memory), "created": created})

        try:
            committed = await self._writer.commit_locked(
                Commit(
                    tenant=call.tenant,
                    user_id=GLOBAL_USER_ID,
                    actor=call.actor,
                    operation=operation,
                    time_us=int(self._clock.now() * 1_000_000),
                    changes=(change,),
                    knowledge=True,
                    request=request,
                    respond=respond,
                )
            )
        except LostRace:
            raise RevisionMismatch("the knowledge was changed meanwhile: read it again") from None
        if committed.replay is not None:
            return _written(committed.replay)
        position = committed.positions[0]
        return KnowledgeWritten(replace(change.memory, position=position), created, position)


def _written(response: str) -> KnowledgeWritten:
    data = json.loads(response)
    memory = memory_from_json(data["memory"])
    return KnowledgeWritten(memory, data["created"], memory.position)
