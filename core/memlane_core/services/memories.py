"""Memories one by one: create, get, update, delete, list, history."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..domain.errors import NotFound, RevisionMismatch
from ..domain.ids import new_memory_id
from ..domain.memory import Action, DeciderKind, Memory, Revision
from ..ports.clock import Clock
from ..ports.embedder import Embedder
from ..ports.journal import (
    Change,
    Commit,
    History,
    Journal,
    LostRace,
    MemoryPage,
    Quota,
    RequestStamp,
    RevisionQuery,
)
from .blocks import UserBlocks
from .call import Call
from .codec import dumps, memory_from_json, memory_to_json
from .consistency import Consistency
from .offload import Offload
from .writer import MemoryWriter

_EMBED_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class CreateMemory:
    user_id: str
    content: str
    metadata: Mapping[str, str]
    ttl_seconds: int | None
    reason: str
    request: RequestStamp | None


@dataclass(frozen=True, slots=True)
class UpdateMemory:
    """None leaves a part as it is; `clear_ttl` makes the memory lasting."""

    user_id: str
    memory_id: str
    content: str | None
    metadata: Mapping[str, str] | None
    ttl_seconds: int | None
    clear_ttl: bool
    revision: int | None
    reason: str
    request: RequestStamp | None


@dataclass(frozen=True, slots=True)
class DeleteMemory:
    user_id: str
    memory_id: str
    revision: int | None
    reason: str
    request: RequestStamp | None


@dataclass(frozen=True, slots=True)
class MemoryList:
    """A page of live memories. Keys are (created_at or updated_at, position) of the row before the page."""

    user_id: str
    limit: int
    after_key: tuple[int, int] | None
    by_update_time: bool = False
    descending: bool = True
    metadata: Mapping[str, str] | None = None
    created_after: int | None = None
    created_before: int | None = None
    as_of_us: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    memory: Memory
    position: int


class MemoryService:
    """CreateMemory stores as told: no extraction, no comparison. Decider of all of these is EXPLICIT."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        blocks: UserBlocks,
        journal: Journal,
        history: History,
        writer: MemoryWriter,
        offload: Offload,
        clock: Clock,
        quota: Callable[[str], Quota] = lambda tenant: Quota(),
    ) -> None:
        self._quota = quota
        self._embedder = embedder
        self._blocks = blocks
        self._journal = journal
        self._history = history
        self._writer = writer
        self._offload = offload
        self._clock = clock

    async def create(self, call: Call, command: CreateMemory) -> Written:
        if stored := await self._replay(call, command.user_id, command.request):
            return stored
        vector = await self._embed(call, command.content)
        now = int(self._clock.now())
        memory = Memory(
            memory_id=new_memory_id(),
            user_id=command.user_id,
            content=command.content,
            metadata=dict(command.metadata),
            created_at=now,
            updated_at=now,
            expires_at=None if command.ttl_seconds is None else now + command.ttl_seconds,
        )
        change = Change(Action.ADD, memory, None, vector, command.reason, "STATED", DeciderKind.EXPLICIT)
        async with self._writer.hold(call.tenant, command.user_id):
            return await self._commit(call, command.user_id, "CreateMemory", change, command.request)

    async def update(self, call: Call, command: UpdateMemory) -> Written:
        """Raises NotFound, RevisionMismatch. The vector is made anew when the text changes."""
        if stored := await self._replay(call, command.user_id, command.request):
            return stored
        vector = None if command.content is None else await self._embed(call, command.content)
        async with self._writer.hold(call.tenant, command.user_id):
            block = await self._blocks.get_locked(call, command.user_id)
            old = self._live(
                block.find(command.memory_id, self._clock.now()), command.memory_id, command.revision
            )
            now = int(self._clock.now())
            expires_at = old.expires_at
            if command.clear_ttl:
                expires_at = None
            elif command.ttl_seconds is not None:
                expires_at = now + command.ttl_seconds
            memory = replace(
                old,
                content=old.content if command.content is None else command.content,
                metadata=old.metadata if command.metadata is None else dict(command.metadata),
                updated_at=now,
                expires_at=expires_at,
            )
            if memory == replace(old, updated_at=now):
                return Written(old, old.position)
            memory = replace(memory, revision=old.revision + 1)
            if vector is None:
                vector = block.vector(command.memory_id)
            change = Change(
                Action.UPDATE, memory, old.content, vector, command.reason, "STATED", DeciderKind.EXPLICIT
            )
            return await self._commit(call, command.user_id, "UpdateMemory", change, command.request)

    async def delete(self, call: Call, command: DeleteMemory) -> Written:
        """Soft delete. Raises NotFound, RevisionMismatch."""
        if stored := await self._replay(call, command.user_id, command.request):
            return stored
        async with self._writer.hold(call.tenant, command.user_id):
            block = await self._blocks.get_locked(call, command.user_id)
            old = self._live(
                block.find(command.memory_id, self._clock.now()), command.memory_id, command.revision
            )
            memory = replace(old, updated_at=int(self._clock.now()), revision=old.revision + 1)
            change = Change(
                Action.DELETE,
                memory,
                old.content,
                block.vector(command.memory_id),
                command.reason,
                "STATED",
                DeciderKind.EXPLICIT,
                is_deleted=True,
            )
            return await self._commit(call, command.user_id, "DeleteMemory", change, command.request)

    async def get(self, call: Call, user_id: str, memory_id: str, consistency: Consistency) -> Memory:
        """Raises NotFound for an unknown, deleted or expired memory and for another user's."""
        block = await self._blocks.get(call, user_id, consistency)
        memory = block.find(memory_id, self._clock.now())
        if memory is None:
            raise NotFound("memory", memory_id)
        return memory

    async def list_memories(self, call: Call, query: MemoryList, consistency: Consistency) -> list[Memory]:
        """At most `limit` memories visible now (or then), in the asked order."""
        if query.as_of_us is not None:
            past = await self.as_of(call, query.user_id, query.as_of_us)
            chosen = (m for m in _in_order(past, query) if _matches(m, query))
            return list(islice(chosen, query.limit))
        block = await self._blocks.get(call, query.user_id, consistency)
        listed = block.listed(
            self._clock.now(),
            by_update_time=query.by_update_time,
            descending=query.descending,
            after=query.after_key,
        )
        return list(islice((m for m in listed if _matches(m, query)), query.limit))

    async def as_of(self, call: Call, user_id: str, as_of_us: int) -> list[Memory]:
        """What was known and visible at a past moment, newest first."""
        memories: list[Memory] = []
        after_key: tuple[int, int] | None = None
        while True:
            page = await self._offload(
                self._history.memories,
                MemoryPage(call.tenant, user_id, as_of_us, after_key=after_key, limit=1000),
            )
            memories += [m for m in page if m.visible(as_of_us / 1_000_000)]
            if len(page) < 1000:
                return memories
            after_key = (page[-1].created_at, page[-1].position)

    async def revisions(
        self, call: Call, user_id: str, memory_id: str, *, after_position: int, limit: int
    ) -> list[Revision]:
        """Oldest first. Raises NotFound for a memory that this user never had."""
        found = await self._offload(
            self._history.revisions,
            RevisionQuery(call.tenant, user_id, memory_id, after_position=after_position, limit=limit),
        )
        if not found and after_position == 0:
            raise NotFound("memory", memory_id)
        return found

    def _live(self, memory: Memory | None, memory_id: str, revision: int | None) -> Memory:
        if memory is None:
            raise NotFound("memory", memory_id)
        if revision is not None and memory.revision != revision:
            raise RevisionMismatch(
                "the memory was changed meanwhile: read it again",
                metadata={"expected": str(revision), "current": str(memory.revision)},
            )
        return memory

    async def _embed(self, call: Call, content: str) -> NDArray[np.float32]:
        vectors = await self._embedder.embed(
            [content], timeout_seconds=call.deadline.timeout_seconds(_EMBED_SECONDS)
        )
        vector: NDArray[np.float32] = vectors[0]
        return vector

    async def _replay(self, call: Call, user_id: str, request: RequestStamp | None) -> Written | None:
        if request is None:
            return None
        stored = await self._offload(self._journal.find_replay, call.tenant, user_id, request)
        return _written(stored.response) if stored else None

    async def _commit(
        self, call: Call, user_id: str, operation: str, change: Change, request: RequestStamp | None
    ) -> Written:
        def respond(positions: tuple[int, ...]) -> str:
            return dumps(memory_to_json(replace(change.memory, position=positions[0])))

        try:
            committed = await self._writer.commit_locked(
                Commit(
                    tenant=call.tenant,
                    user_id=user_id,
                    actor=call.actor,
                    operation=operation,
                    time_us=int(self._clock.now() * 1_000_000),
                    changes=(change,),
                    request=request,
                    respond=respond,
                    quota=self._quota(call.tenant),
                )
            )
        except LostRace:
            raise RevisionMismatch("the memory was changed meanwhile: read it again") from None
        if committed.replay is not None:
            return _written(committed.replay)
        return Written(replace(change.memory, position=committed.positions[0]), committed.positions[0])


def _written(response: str) -> Written:
    memory = memory_from_json(json.loads(response))
    return Written(memory, memory.position)


def _create_key(memory: Memory) -> tuple[int, int]:
    return memory.created_at, memory.position


def _update_key(memory: Memory) -> tuple[int, int]:
    return memory.stated_at, memory.position


def _in_order(memories: list[Memory], query: MemoryList) -> list[Memory]:
    """What comes behind the key of the query, in its order."""
    key = _update_key if query.by_update_time else _create_key
    ordered = sorted(memories, key=key, reverse=query.descending)
    if query.after_key is None:
        return ordered
    after = query.after_key
    return [m for m in ordered if (key(m) < after if query.descending else key(m) > after)]


def _matches(memory: Memory, query: MemoryList) -> bool:
    if query.created_after is not None and memory.created_at < query.created_after:
        return False
    if query.created_before is not None and memory.created_at >= query.created_before:
        return False
    return not query.metadata or all(memory.metadata.get(k) == v for k, v in query.metadata.items())
