"""One user's memories at one version.

Rows are only ever appended to the buffers; what a version adds to them is how many rows count and its own copy of the
times (expiry, creation, position), in which a superseded row is a tombstone. So a version never changes once it was
published, a reader never sees half a write, and neither waits for the other.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..domain.memory import Memory
from ..lexical import row_tokens
from ..ports.vector_store import StoredRow
from .buffers import Buffers, capacity_for
from .postings import EMPTY, Postings, invert
from .query import Hit, SearchQuery
from .records import Records

_COMPACT_TOMBSTONES = 32
_SMALL_ROWS = 32
"""Up to here the words are scanned token by token: postings would take more room than the tokens themselves."""
_UNINDEXED_ROWS = 4
"""So many rows, and a 64th of the block, may be behind the postings; they are scanned token by token."""

_OBJECTS_BYTES = 900
"""Of the Python objects of one block that hold the arrays together (benchmarks/memory_profile.py)."""

_FEW = 3
"""Up to here one search after the other is faster than what makes them one call."""

_ONE_GO_SECONDS = 900
"""Memories recorded with no longer gaps than this come from one conversation."""


ScoredRecords = tuple[Sequence[bytes], Sequence[float]]
"""Memories as they were encoded when they were written, and their scores, best first."""


class Block:
    """An immutable version of a user's memories."""

    __slots__ = (
        "_buffers",
        "_columns",
        "_postings",
        "_records",
        "_rows",
        "_stale",
        "_times",
        "_total_length",
        "nbytes",
        "position",
    )

    def __init__(
        self,
        records: Records,
        buffers: Buffers,
        rows: int,
        times: NDArray[np.int64],
        live: int,
        total_length: float,
        postings: Postings,
        stale: bool,
        position: int,
    ) -> None:
        self._records = records
        self._buffers = buffers
        self._rows = rows
        self._times = times
        self._total_length = total_length
        if rows - postings.rows > (_UNINDEXED_ROWS + rows // 64 if postings.rows else _SMALL_ROWS):
            postings = invert(buffers.offsets, buffers.tokens, buffers.frequencies, times, rows)
            stale = False
        self._postings = postings
        self._stale = stale
        self.position = position
        """Journal position up to which it is complete."""
        neighbours, recency = _in_time(times, rows)
        self._columns = kernels.Columns(
            buffers.vectors,
            buffers.codes,
            buffers.rows,
            times,
            neighbours,
            recency,
            buffers.offsets,
            buffers.tokens,
            buffers.frequencies,
            postings.words,
            postings.starts,
            postings.entry_rows,
            postings.entry_frequencies,
            rows,
            postings.rows,
            stale,
            live,
            max(total_length / live, 1.0) if live else 1.0,
        )
        own = (times, neighbours, recency, self._columns.table)
        self.nbytes = buffers.nbytes() + sum(map(sys.getsizeof, own)) + postings.nbytes + _OBJECTS_BYTES
        """What it costs to keep, shared buffers included."""

    @classmethod
    def build(cls, dimension: int, rows: Sequence[StoredRow], position: int, records: Records) -> "Block":
        """A block of these rows, with no room to spare: most users are read far more often than they are written to.
        Of equal memory_ids the last row counts."""
        latest = list({row.memory.memory_id: row for row in rows}.values())
        prepared = [_Prepared(row, records) for row in latest]
        buffers = Buffers(dimension, len(latest), sum(len(p.tokens.ids) for p in prepared))
        empty = cls(records, buffers, 0, np.empty((0, 4), np.int64), 0, 0.0, EMPTY, False, 0)
        return empty._appended(prepared, buffers, (), position)

    def __len__(self) -> int:
        """Memories that are not deleted, expired ones included."""
        return self._columns.live

    def changed(
        self,
        upserts: Sequence[StoredRow],
        deletes: Sequence[str],
        position: int,
    ) -> "Block":
        """The next version. Call only on the newest one, and from one thread at a time."""
        upserts = list({row.memory.memory_id: row for row in upserts}.values())
        prepared = [_Prepared(upsert, self._records) for upsert in upserts]
        rows, buffers = self._rows, self._buffers
        if rows + len(upserts) > buffers.capacity:
            buffers = buffers.copied(np.arange(rows), capacity_for(rows + len(upserts)))
        return self._appended(prepared, buffers, deletes, position)

    def _appended(
        self, upserts: Sequence["_Prepared"], buffers: Buffers, deletes: Sequence[str], position: int
    ) -> "Block":
        dimension = buffers.vectors.shape[1]
        for upsert in upserts:
            if upsert.embedding.shape != (dimension,):
                raise ValueError(f"embedding of shape {upsert.embedding.shape} in a block of {dimension}")
        first = rows = self._rows
        times = np.empty((buffers.capacity, 4), np.int64)
        times[:rows] = self._times[:rows]
        live, total_length, stale = len(self), self._total_length, self._stale
        for memory_id in {*deletes, *(u.memory.memory_id for u in upserts)}:
            row = self._row(memory_id)
            if row is not None:
                times[row, 0] = kernels.TOMBSTONE
                live -= 1
                stale = stale or row < self._postings.rows
                total_length -= float(buffers.rows[3, row])
        for upsert in upserts:
            memory, tokens = upsert.memory, upsert.tokens
            buffers.append(rows, memory, upsert.record, upsert.embedding, tokens)
            times[rows] = (
                kernels.NEVER if memory.expires_at is None else memory.expires_at,
                memory.created_at,
                memory.position,
                memory.stated_at,
            )
            total_length += tokens.length
            rows += 1
            live += 1
        buffers.code(first, rows)
        block = Block(
            self._records,
            buffers,
            rows,
            times,
            live,
            total_length,
            self._postings,
            stale,
            max(position, self.position),
        )
        tombstones = rows - live
        return block._compacted() if tombstones > _COMPACT_TOMBSTONES and tombstones * 4 > rows else block

    def _compacted(self) -> "Block":
        kept = np.flatnonzero(self._times[: self._rows, 0] != kernels.TOMBSTONE)
        buffers = self._buffers.copied(kept, capacity_for(len(kept)))
        times = np.empty((buffers.capacity, 4), np.int64)
        times[: len(kept)] = self._times[kept]
        return Block(
            self._records,
            buffers,
            len(kept),
            times,
            len(kept),
            self._total_length,
            EMPTY,
            False,
            self.position,
        )

    def search(self, query: SearchQuery) -> list[Hit]:
        """Best first; equal scores newest first."""
        if self._rows == 0:
            return []
        mask = self._mask(query.metadata) if query.metadata else None
        tokens = query.tokens
        rows, scores = kernels.search(
            self._columns,
            query.embedding,
            None if tokens is None else tokens.ids,
            top_k=query.top_k,
            now=query.now,
            min_score=query.min_score,
            created_after=query.created_after,
            created_before=query.created_before,
            mask=mask,
            recent=tokens is not None and tokens.recent,
        )
        return self._hits(rows, scores)

    def search_raw(self, message: bytes, offset: int, top_k: int, now: float) -> ScoredRecords | None:
        """Records and cosines, best first, for a vector as it stands in a message; see kernels.search_raw."""
        if self._rows == 0:
            # Whether the vector is one is still to be said.
            return None
        best = kernels.search_raw(self._columns, message, offset, top_k=top_k, now=now)
        return None if best is None else self._scored(best)

    def _scored(self, best: kernels.Best) -> ScoredRecords:
        rows, scores = best
        records = self._buffers.records
        return [records[row] for row in rows], scores

    def _hits(self, rows: NDArray[np.int64], scores: NDArray[np.float32]) -> list[Hit]:
        records = self._buffers.records
        # tuple.__new__ leaves out the named tuple's own constructor, which is half of the time here.
        return [
            tuple.__new__(Hit, (records[row], *values, row, self))
            for row, values in zip(rows.tolist(), scores.tolist(), strict=True)
        ]

    def _request(self, query: SearchQuery) -> kernels.Request:
        tokens = query.tokens
        return kernels.Request(
            self._columns,
            query.embedding,
            None if tokens is None else tokens.ids,
            query.top_k,
            query.now,
            query.min_score,
            query.created_after,
            query.created_before,
            self._mask(query.metadata) if query.metadata else None,
            tokens is not None and tokens.recent,
        )

    def nearest(self, embedding: NDArray[np.float32], k: int, now: float) -> list[tuple[Memory, float]]:
        """The `k` visible memories of highest cosine."""
        return [(h.memory, h.cosine) for h in self.search(SearchQuery(embedding, None, k, now))]

    def live(self, now: float) -> list[Memory]:
        """All visible memories, newest first."""
        rows = np.flatnonzero(self._times[: self._rows, 0] > now)
        order = np.lexsort((self._times[rows, 2], self._times[rows, 1]))[::-1]
        return [self.memory(row) for row in rows[order].tolist()]

    def listed(
        self, now: float, *, by_update_time: bool, descending: bool, after: tuple[int, int] | None
    ) -> Iterator[Memory]:
        """Visible memories in the order of (created_at or time of the last change, position), decoded one by one as
        they are asked for. `after`: only what comes behind this key, in the asked order."""
        column = 3 if by_update_time else 1
        times = self._times
        rows = np.flatnonzero(times[: self._rows, 0] > now)
        seconds, positions = times[rows, column], times[rows, 2]
        if after is not None:
            second, position = after
            if descending:
                behind = (seconds < second) | ((seconds == second) & (positions < position))
            else:
                behind = (seconds > second) | ((seconds == second) & (positions > position))
            rows, seconds, positions = rows[behind], seconds[behind], positions[behind]
        order = np.lexsort((positions, seconds))
        return map(self.memory, rows[order[::-1] if descending else order].tolist())

    def find(self, memory_id: str, now: float) -> Memory | None:
        """The visible memory of this id."""
        row = self._row(memory_id)
        return self.memory(row) if row is not None and self._times[row, 0] > now else None

    def memory(self, row: int) -> Memory:
        return self._records.decode(self._buffers.records[row], int(self._times[row, 2]))

    def vector(self, memory_id: str) -> NDArray[np.float32]:
        """Unit vector of a memory, expired or not. Raises KeyError when it is not in this block."""
        row = self._row(memory_id)
        if row is None:
            raise KeyError(memory_id)
        vector: NDArray[np.float32] = self._buffers.vectors[row].copy()
        return vector

    def _row(self, memory_id: str) -> int | None:
        """Row of a memory that is not deleted in this version."""
        for row in np.flatnonzero(self._buffers.ids[: self._rows] == hash(memory_id))[::-1].tolist():
            if self.memory(row).memory_id == memory_id:
                return None if self._times[row, 0] == kernels.TOMBSTONE else row
        return None

    def _mask(self, wanted: Mapping[str, str]) -> NDArray[np.uint8]:
        """1 for each row whose metadata holds all these entries."""
        buffers = self._buffers
        numbers = [buffers.entry_numbers[entry] for entry in wanted.items() if entry in buffers.entry_numbers]
        mask = np.zeros(self._rows, np.uint8)
        if len(numbers) < len(wanted):
            return mask
        found = np.isin(buffers.entries[: buffers.entry_offsets[self._rows]], numbers)
        counts = np.diff(np.concatenate([[0], np.cumsum(found)])[buffers.entry_offsets[: self._rows + 1]])
        mask[counts == len(numbers)] = 1
        return mask


class _Prepared:
    """A row with all made ready that can fail: a version is made whole or not at all."""

    __slots__ = ("embedding", "memory", "record", "tokens")

    def __init__(self, row: StoredRow, records: Records) -> None:
        self.memory = row.memory
        self.embedding = row.embedding
        self.record = records.encode(row.memory)
        self.tokens = row_tokens(row.memory.content)


def _in_time(times: NDArray[np.int64], rows: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """`neighbours` and `recency` of kernels.Columns, over the rows that are not deleted."""
    neighbours = np.full((len(times), 2), -1, np.int32)
    recency = np.zeros(len(times), np.float32)
    live = np.flatnonzero(times[:rows, 0] != kernels.TOMBSTONE)
    order = live[np.lexsort((times[live, 2], times[live, 1]))]
    near = np.diff(times[order, 1]) <= _ONE_GO_SECONDS
    neighbours[order[1:][near], 0] = order[:-1][near]
    neighbours[order[:-1][near], 1] = order[1:][near]
    recency[live[np.lexsort((times[live, 2], times[live, 3]))]] = np.linspace(0, 1, len(live))
    return neighbours, recency


def search_raw_many(
    searches: Sequence[tuple[Block, int, int]], message: bytes, now: float
) -> list[ScoredRecords] | None:
    """`Block.search_raw` for many searches (block, offset, top_k) of one message, in order, by one kernel call; None
    where one of them would be None."""
    if len(searches) <= _FEW:
        each = [block.search_raw(message, offset, top_k, now) for block, offset, top_k in searches]
        found = [records for records in each if records is not None]
        return found if len(found) == len(each) else None
    if not all(block._rows for block, _, _ in searches):
        return None
    # Searches of one block follow each other: they are made together.
    order = sorted(range(len(searches)), key=lambda i: id(searches[i][0]))
    requests = [kernels.RawRequest(searches[i][0]._columns, *searches[i][1:]) for i in order]
    answers = kernels.search_raw_many(requests, message, now=now)
    if answers is None:
        return None
    results = {i: searches[i][0]._scored(best) for i, best in zip(order, answers, strict=True)}
    return [results[i] for i in range(len(searches))]


def search_many(pairs: Sequence[tuple[Block, SearchQuery]]) -> list[list[Hit]]:
    """Hits of many searches, in order, by one kernel call; searches of one block are made together."""
    if len(pairs) <= _FEW:
        return [block.search(query) for block, query in pairs]
    results: list[list[Hit]] = [[] for _ in pairs]
    order = sorted(range(len(pairs)), key=lambda i: id(pairs[i][0]))
    order = [i for i in order if len(pairs[i][0])]
    answers = kernels.search_many([pairs[i][0]._request(pairs[i][1]) for i in order])
    for i, (rows, scores) in zip(order, answers, strict=True):
        results[i] = pairs[i][0]._hits(rows, scores)
    return results
