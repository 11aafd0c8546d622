"""The read path: query to the user's best memories."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..domain.errors import MemlaneError
from ..index import Block, Hit, SearchQuery, UserIndex, search_many, search_raw_many
from ..ports.clock import Clock
from ..ports.vector_store import StoredRow
from .blocks import UserBlocks
from .call import Call
from .consistency import MINIMIZE_LATENCY, Consistency
from .embedding_cache import CachingEmbedder, EmbeddedQuery
from .memories import MemoryService

_EMBED_SECONDS = 10.0


class SearchCommand(NamedTuple):
    """Exactly one of `query` and `embedding` is given."""

    user_id: str
    query: str | None = None
    embedding: NDArray[np.float32] | None = None
    """Unit vector, float32, C-contiguous, shape (dimension,)."""
    top_k: int = 5
    min_score: float | None = None
    metadata: Mapping[str, str] | None = None
    created_after: int | None = None
    created_before: int | None = None
    consistency: Consistency = MINIMIZE_LATENCY
    as_of_us: int | None = None


class SearchTiming(NamedTuple):
    """Microseconds."""

    embed_us: int
    search_us: int
    total_us: int
    embed_cached: bool


class SearchResult(NamedTuple):
    hits: Sequence[Hit]
    timing: SearchTiming


class RawSearch(Protocol):
    """A search by a vector that stands in a message, without filters, of what is there now."""

    message: bytes
    user_id: str
    offset: int
    """Where the vector begins in the message: float32 values, little-endian."""
    top_k: int


class RawResult(NamedTuple):
    records: Sequence[bytes]
    """As they were encoded when they were written, best first."""
    scores: Sequence[float]
    search_us: int


OnScored = Callable[[int], None]
"""Told of each scoring: its microseconds."""


class _Resolved(NamedTuple):
    """One search of many, ready to be scored."""

    block: Block
    query: SearchQuery
    embed_us: int
    resolve_us: int
    cached: bool


class SearchService:
    """A warm user's search touches no disk, no network and no lock that a writer holds for long."""

    def __init__(
        self,
        *,
        embedder: CachingEmbedder,
        blocks: UserBlocks,
        index: UserIndex,
        memories: MemoryService,
        clock: Clock,
        on_scored: OnScored = lambda search_us: None,
    ) -> None:
        self._embedder = embedder
        self._blocks = blocks
        self._index = index
        self._memories = memories
        self._clock = clock
        self._on_scored = on_scored

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def search(self, call: Call, command: SearchCommand) -> SearchResult:
        """Raises InvalidArgument (token), NotReady, StoreUnavailable, and what the embedder raises."""
        started = time.perf_counter_ns()
        return await self.search_embedded(call, command, await self.embed(call, command), started)

    async def search_embedded(
        self, call: Call, command: SearchCommand, embedded: EmbeddedQuery, started: int | None = None
    ) -> SearchResult:
        """The same with the query embedded already; `started` (perf_counter_ns) is where the call began."""
        embed_done = time.perf_counter_ns()
        started = embed_done if started is None else started
        block = self._warm_block(call, command)
        if block is None:
            block = await self._block(call, command)
        searched_from = time.perf_counter_ns()
        hits = block.search(self._query(command, embedded))
        done = time.perf_counter_ns()
        search_us = (done - searched_from) // 1000
        self._on_scored(search_us)
        return SearchResult(
            hits,
            SearchTiming(
                0 if command.embedding is not None else (embed_done - started) // 1000,
                search_us,
                (done - started) // 1000,
                embedded.cached,
            ),
        )

    def search_raw(self, tenant: str, search: RawSearch) -> RawResult | None:
        """A search without filters by a vector as it came, if that needs no waiting and no closer look; None = take the
        long way, which finds the same, or what is wrong."""
        started = time.perf_counter_ns()
        block = self._index.get(tenant, search.user_id, asked_again=True)
        if block is None:
            return None
        found = block.search_raw(search.message, search.offset, search.top_k, self._clock.now())
        if found is None:
            return None
        records, scores = found
        search_us = (time.perf_counter_ns() - started) // 1000
        self._on_scored(search_us)
        return RawResult(records, scores, search_us)

    def search_raw_all(self, tenant: str, searches: Sequence[RawSearch]) -> list[RawResult] | None:
        """`search_raw` for many searches of one message, in order, scored by one call; None where one of them has to
        take the long way. A result's time is an equal share."""
        started = time.perf_counter_ns()
        found = []
        for search in searches:
            block = self._index.get(tenant, search.user_id, asked_again=True)
            if block is None:
                return None
            found.append((block, search.offset, search.top_k))
        answers = search_raw_many(found, searches[0].message, self._clock.now())
        if answers is None:
            return None
        share_us = (time.perf_counter_ns() - started) // 1000 // len(searches)
        for _ in answers:
            self._on_scored(share_us)
        return [RawResult(records, scores, share_us) for records, scores in answers]

    async def embed(self, call: Call, command: SearchCommand) -> EmbeddedQuery:
        known = self._known(command)
        if known is not None:
            return known
        assert command.query is not None
        return await self._embedder.embed_query(
            command.query, timeout_seconds=call.deadline.timeout_seconds(_EMBED_SECONDS)
        )

    def _known(self, command: SearchCommand) -> EmbeddedQuery | None:
        """The embedded query where it has not to be waited for."""
        if command.embedding is not None:
            return EmbeddedQuery(command.embedding)
        return None if command.query is None else self._embedder.known(command.query)

    def _warm_block(self, call: Call, command: SearchCommand) -> Block | None:
        """The block to search where it has not to be waited for."""
        if command.as_of_us is not None or command.consistency is not MINIMIZE_LATENCY:
            return None
        return self._index.get(call.tenant, command.user_id)

    async def search_all(
        self, call: Call, commands: Sequence[SearchCommand | MemlaneError]
    ) -> list[SearchResult | MemlaneError]:
        """Many searches, in order. One that fails has its error as its outcome; so has one that came as an error.

        What has to wait (for an embedder, a cold user) waits together; the scoring is one call. A result's times are
        its own for the embedding and an equal share of the scoring.
        """
        outcomes: list[SearchResult | MemlaneError | _Resolved | None] = [
            self._warm(call, c) for c in commands
        ]
        waiting = [i for i, outcome in enumerate(outcomes) if outcome is None]
        for i, outcome in zip(
            waiting, await asyncio.gather(*(self._resolve(call, commands[i]) for i in waiting)), strict=True
        ):
            outcomes[i] = outcome
        resolved = [(i, o) for i, o in enumerate(outcomes) if isinstance(o, _Resolved)]
        started = time.perf_counter_ns()
        found = search_many([(r.block, r.query) for _, r in resolved])
        share_us = (time.perf_counter_ns() - started) // 1000 // max(len(resolved), 1)
        for (i, r), hits in zip(resolved, found, strict=True):
            self._on_scored(share_us)
            outcomes[i] = SearchResult(
                hits, SearchTiming(r.embed_us, share_us, r.resolve_us + share_us, r.cached)
            )
        return [o for o in outcomes if isinstance(o, SearchResult | MemlaneError)]

    def _warm(self, call: Call, command: SearchCommand | MemlaneError) -> "_Resolved | None":
        """A search that has to wait for nothing, without a task of its own; None for every other."""
        if isinstance(command, MemlaneError):
            return None
        embedded = self._known(command)
        block = None if embedded is None else self._warm_block(call, command)
        if embedded is None or block is None:
            return None
        return _Resolved(block, self._query(command, embedded), 0, 0, embedded.cached)

    async def _resolve(self, call: Call, command: SearchCommand | MemlaneError) -> "_Resolved | MemlaneError":
        if isinstance(command, MemlaneError):
            return command
        started = time.perf_counter_ns()
        try:
            embedded = await self.embed(call, command)
            embed_us = 0 if command.embedding is not None else (time.perf_counter_ns() - started) // 1000
            block = await self._block(call, command)
        except MemlaneError as error:
            return error
        resolve_us = (time.perf_counter_ns() - started) // 1000
        return _Resolved(block, self._query(command, embedded), embed_us, resolve_us, embedded.cached)

    def _query(self, command: SearchCommand, embedded: EmbeddedQuery) -> SearchQuery:
        return SearchQuery(
            embedded.embedding,
            embedded.tokens,
            command.top_k,
            self._clock.now() if command.as_of_us is None else command.as_of_us / 1_000_000,
            command.min_score,
            command.metadata,
            command.created_after,
            command.created_before,
        )

    async def _block(self, call: Call, command: SearchCommand) -> Block:
        if command.as_of_us is None:
            return await self._blocks.get(call, command.user_id, command.consistency)
        return await self._past_block(call, command.user_id, command.as_of_us)

    async def _past_block(self, call: Call, user_id: str, as_of_us: int) -> Block:
        """A block of what was known at a past moment; built for this one call, its texts embedded anew."""
        memories = await self._memories.as_of(call, user_id, as_of_us)
        vectors = await self._embedder.embed(
            [m.content for m in memories], timeout_seconds=call.deadline.timeout_seconds(60.0)
        )
        rows = [StoredRow(m, vectors[i]) for i, m in enumerate(memories)]
        return self._index.transient_block(rows)
