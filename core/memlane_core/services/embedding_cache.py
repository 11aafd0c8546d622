"""An embedder that remembers queries: their vectors and their words."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domain.errors import DeadlineExceeded
from ..lexical import QueryTokens, query_tokens
from ..ports.embedder import Embedder, Vectors

_BATCH_TEXTS = 64
"""Texts handed to the embedder at once: a query waits behind one batch of a long list, not behind all of it."""

_LATE = "the time of the call ran out before the text was embedded"


class EmbeddedQuery(NamedTuple):
    """A query as the index wants it."""

    embedding: NDArray[np.float32]
    """Unit vector, float32, C-contiguous, read-only where it came from a text, shape (dimension,)."""
    cached: bool = False
    tokens: QueryTokens | None = None
    """None where only a vector was given."""


class CachingEmbedder:
    """Implements `ports.embedder.Embedder` by another one, and adds `embed_query`. For one event loop.

    Only queries are kept: they come again (a dialogue opens with the same few questions), while a memory's text
    is embedded once in its life. What is kept are user texts, so `clear` belongs to every erasure.
    """

    def __init__(self, inner: Embedder, *, max_entries: int) -> None:
        """`max_entries`: queries to keep, the least recently used one goes first; 0 keeps none."""
        if max_entries < 0:
            raise ValueError("max_entries must not be negative")
        self._inner = inner
        self._max_entries = max_entries
        self._entries: OrderedDict[str, EmbeddedQuery] = OrderedDict()
        self._flights: dict[str, _Flight] = {}
        self.hits = 0
        """Queries answered from the cache, since the start."""
        self.misses = 0
        """All others, those included that shared the work of an equal one."""

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def nomination_threshold(self) -> float:
        return self._inner.nomination_threshold

    def __len__(self) -> int:
        return len(self._entries)

    async def embed(self, texts: Sequence[str], *, timeout_seconds: float | None = None) -> Vectors:
        """As the inner one: nothing is looked up or kept. A cancelled call begins no further batch."""
        if len(texts) <= _BATCH_TEXTS:
            return await self._inner.embed(texts, timeout_seconds=timeout_seconds)
        ends_at = _end(timeout_seconds)
        parts = [
            await self._inner.embed(texts[at : at + _BATCH_TEXTS], timeout_seconds=_remaining(ends_at))
            for at in range(0, len(texts), _BATCH_TEXTS)
        ]
        return np.concatenate(parts)

    def known(self, text: str) -> EmbeddedQuery | None:
        """A query that is remembered."""
        query = self._entries.get(text)
        if query is not None:
            self._entries.move_to_end(text)
            self.hits += 1
        return query

    async def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> EmbeddedQuery:
        """Vector and words of `text`. Raises what the embedder raises; a failure is not kept.

        Equal texts asked for at the same time are embedded once; each caller waits for its own time only.
        """
        query = self.known(text)
        if query is not None:
            return query
        self.misses += 1
        ends_at = _end(timeout_seconds)
        while True:
            flight = self._flights.get(text)
            leads = flight is None
            if flight is None:
                flight = self._take_off(text, timeout_seconds=_remaining(ends_at))
            try:
                return await self._await(text, flight, ends_at)
            except DeadlineExceeded:
                # The time of the call that led may have been shorter than ours.
                if leads or not flight.task.done():
                    raise

    def clear(self) -> None:
        """Forget all queries; what is being embedded now is not kept either."""
        self._entries.clear()
        self._flights.clear()

    def _take_off(self, text: str, *, timeout_seconds: float | None) -> "_Flight":
        async def embed() -> EmbeddedQuery:
            try:
                vectors = await self._inner.embed([text], timeout_seconds=timeout_seconds)
                vector = np.ascontiguousarray(vectors[0], dtype=np.float32)
                vector.flags.writeable = False
                query = EmbeddedQuery(vector, False, query_tokens(text))
                self._keep(text, query, flight)
                return query
            finally:
                self._land(text, flight)

        flight = _Flight(asyncio.create_task(embed()))
        self._flights[text] = flight
        return flight

    async def _await(self, text: str, flight: "_Flight", ends_at: float | None) -> EmbeddedQuery:
        flight.waiting += 1
        try:
            async with asyncio.timeout(_remaining(ends_at)) as time_left:
                # One caller that goes away must not take the vector from the others.
                return await asyncio.shield(flight.task)
        except TimeoutError:
            if not time_left.expired():
                raise
            raise DeadlineExceeded(_LATE) from None
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._land(text, flight)
                flight.task.cancel()

    def _keep(self, text: str, query: EmbeddedQuery, flight: "_Flight") -> None:
        # A flight that `clear` struck off the list is older than an erasure.
        if self._flights.get(text) is not flight or not self._max_entries:
            return
        self._entries[text] = query._replace(cached=True)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def _land(self, text: str, flight: "_Flight") -> None:
        if self._flights.get(text) is flight:
            del self._flights[text]


@dataclass(slots=True, eq=False)
class _Flight:
    """One text being embedded."""

    task: asyncio.Task[EmbeddedQuery]
    waiting: int = 0
    """Callers that want it; without any it is cancelled."""


def _end(timeout_seconds: float | None) -> float | None:
    return None if timeout_seconds is None else time.monotonic() + timeout_seconds


def _remaining(ends_at: float | None) -> float | None:
    """Raises DeadlineExceeded when nothing is left: no work begins that nobody waits for."""
    if ends_at is None:
        return None
    remaining = ends_at - time.monotonic()
    if remaining <= 0:
        raise DeadlineExceeded(_LATE)
    return remaining
