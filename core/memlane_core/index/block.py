"""One user's memories at one version.

Rows are only ever appended to the buffers; what a version adds to them is how many rows count and its own copy of the
times (expiry, creation, position), in which a superseded row is a tombstone. So a version never changes once it was
published, a reader never sees half a write, and neither waits for the other.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..domain.memory import Memory
from ..lexical import row_tokens
from ..ports.vector_store import StoredRow
from .query import Hit, SearchQuery

LEXICAL_WEIGHT = 0.5
"""Weight of the normalised BM25 beside the cosine; chosen on the retrieval set (docs/adr/0004)."""

RecordFactory = Callable[[Memory], object]

_FIRST_ROWS = 8
_COMPACT_TOMBSTONES = 32
_ROW_OVERHEAD_BYTES = 700
"""Python objects of one row: memory, record, their strings and dict entries, measured with tracemalloc."""


class _Buffers:
    """Growing arrays shared by the versions of one block; only the newest version is ever extended."""

    __slots__ = (
        "by_id",
        "frequencies",
        "lengths",
        "memories",
        "offsets",
        "records",
        "text_bytes",
        "tokens",
        "vectors",
    )

    def __init__(self, dimension: int, rows: int, tokens: int) -> None:
        self.vectors = np.empty((rows, dimension), np.float32)
        self.offsets = np.zeros(rows + 1, np.int64)
        self.lengths = np.empty(rows, np.float32)
        self.tokens = np.empty(tokens, np.uint32)
        self.frequencies = np.empty(tokens, np.float32)
        self.memories: list[Memory] = []
        self.records: list[object] = []
        self.by_id: dict[str, int] = {}
        self.text_bytes = 0

    def nbytes(self) -> int:
        arrays = (self.vectors, self.offsets, self.lengths, self.tokens, self.frequencies)
        return sum(a.nbytes for a in arrays) + self.text_bytes + len(self.memories) * _ROW_OVERHEAD_BYTES


class Block:
    """An immutable version of a user's memories."""

    __slots__ = ("_buffers", "_lexicon", "_rows", "_times", "_tombstones", "nbytes", "position")

    def __init__(
        self, buffers: _Buffers, rows: int, times: NDArray[np.int64], tombstones: int, position: int
    ) -> None:
        self._buffers = buffers
        self._rows = rows
        self._times = times
        self._tombstones = tombstones
        self.position = position
        """Journal position up to which it is complete."""
        mean_length = float(buffers.lengths[:rows].mean()) if rows else 1.0
        self._lexicon = kernels.Lexicon(
            buffers.offsets, buffers.tokens, buffers.frequencies, buffers.lengths, max(mean_length, 1.0)
        )
        self.nbytes = buffers.nbytes() + times.nbytes

    @classmethod
    def build(
        cls, dimension: int, rows: Sequence[StoredRow], position: int, record_factory: RecordFactory
    ) -> "Block":
        """A block of these rows; of equal memory_ids the last one counts."""
        latest = list({row.memory.memory_id: row for row in rows}.values())
        capacity = _capacity(len(latest))
        empty = cls(_Buffers(dimension, capacity, 16 * capacity), 0, np.empty((capacity, 3), np.int64), 0, 0)
        return empty.changed(latest, (), position, record_factory)

    def __len__(self) -> int:
        """Memories that are not deleted, expired ones included."""
        return self._rows - self._tombstones

    def changed(
        self,
        upserts: Sequence[StoredRow],
        deletes: Sequence[str],
        position: int,
        record_factory: RecordFactory,
    ) -> "Block":
        """The next version. Call only on the newest one, and from one thread at a time."""
        buffers = self._buffers
        rows = self._rows
        if rows + len(upserts) > buffers.vectors.shape[0]:
            buffers = _grown(buffers, rows, rows + len(upserts))
        times = np.empty((buffers.vectors.shape[0], 3), np.int64)
        times[:rows] = self._times[:rows]
        tombstones = self._tombstones
        for memory_id in (*deletes, *(r.memory.memory_id for r in upserts)):
            row = buffers.by_id.get(memory_id)
            if row is not None and row < rows and times[row, 0] != kernels.TOMBSTONE:
                times[row, 0] = kernels.TOMBSTONE
                tombstones += 1
        for memory_id in deletes:
            buffers.by_id.pop(memory_id, None)
        for upsert in upserts:
            _append(buffers, rows, times, upsert, record_factory)
            rows += 1
        block = Block(buffers, rows, times, tombstones, max(position, self.position))
        if tombstones > _COMPACT_TOMBSTONES and tombstones * 4 > rows:
            return block._compacted()
        return block

    def _compacted(self) -> "Block":
        buffers = self._buffers
        kept = [r for r in range(self._rows) if self._times[r, 0] != kernels.TOMBSTONE]
        fresh = _Buffers(buffers.vectors.shape[1], _capacity(len(kept)), 16 * _capacity(len(kept)))
        times = np.empty((fresh.vectors.shape[0], 3), np.int64)
        for place, row in enumerate(kept):
            start, end = int(buffers.offsets[row]), int(buffers.offsets[row + 1])
            _put(
                fresh,
                place,
                buffers.vectors[row],
                buffers.tokens[start:end],
                buffers.frequencies[start:end],
                float(buffers.lengths[row]),
                buffers.memories[row],
                buffers.records[row],
            )
            times[place] = self._times[row]
        return Block(fresh, len(kept), times, 0, self.position)

    def search(self, query: SearchQuery) -> list[Hit]:
        """Best first; equal scores newest first."""
        if self._rows == 0:
            return []
        rows, scores = kernels.search(
            self._buffers.vectors,
            self._rows,
            self._times,
            self._lexicon,
            query.embedding,
            query.tokens.ids if query.tokens is not None else None,
            top_k=query.top_k,
            now=query.now,
            weight=LEXICAL_WEIGHT,
            min_score=query.min_score,
            created_after=query.created_after,
            created_before=query.created_before,
            mask=self._mask(query.metadata) if query.metadata else None,
        )
        memories, records = self._buffers.memories, self._buffers.records
        return [
            Hit(memories[row], records[row], score, cosine, lexical)
            for row, (score, cosine, lexical) in zip(rows.tolist(), scores.tolist(), strict=True)
        ]

    def nearest(self, embedding: NDArray[np.float32], k: int, now: float) -> list[tuple[Memory, float]]:
        """The `k` visible memories of highest cosine."""
        return [(h.memory, h.cosine) for h in self.search(SearchQuery(embedding, None, k, now))]

    def live(self, now: float) -> list[Memory]:
        """All visible memories, newest first."""
        rows = np.nonzero(self._times[: self._rows, 0] > now)[0]
        order = np.lexsort((self._times[rows, 2], self._times[rows, 1]))[::-1]
        return [self._buffers.memories[r] for r in rows[order].tolist()]

    def find(self, memory_id: str, now: float) -> Memory | None:
        """The visible memory of this id."""
        row = self._row(memory_id)
        return self._buffers.memories[row] if row is not None and self._times[row, 0] > now else None

    def vector(self, memory_id: str) -> NDArray[np.float32]:
        """Unit vector of a memory, expired or not. Raises KeyError when it is not in this block."""
        row = self._row(memory_id)
        if row is None:
            raise KeyError(memory_id)
        vector: NDArray[np.float32] = self._buffers.vectors[row].copy()
        return vector

    def _row(self, memory_id: str) -> int | None:
        row = self._buffers.by_id.get(memory_id)
        if row is None or row >= self._rows or self._times[row, 0] == kernels.TOMBSTONE:
            return None
        return row

    def _mask(self, wanted: Mapping[str, str]) -> NDArray[np.uint8]:
        memories = self._buffers.memories
        return np.fromiter(
            (all(memories[r].metadata.get(k) == v for k, v in wanted.items()) for r in range(self._rows)),
            np.uint8,
            self._rows,
        )


def search_many(pairs: Sequence[tuple[Block, SearchQuery]]) -> list[list[Hit]]:
    """Hits of many searches, in order; searches of one block run one after the other while it is in cache."""
    results: list[list[Hit]] = [[] for _ in pairs]
    order = sorted(range(len(pairs)), key=lambda i: id(pairs[i][0]))
    for _, group in groupby(order, key=lambda i: id(pairs[i][0])):
        for i in group:
            block, query = pairs[i]
            results[i] = block.search(query)
    return results


def _capacity(rows: int) -> int:
    return max(_FIRST_ROWS, 1 << (rows - 1).bit_length()) if rows else _FIRST_ROWS


def _grown(old: _Buffers, rows: int, needed: int) -> _Buffers:
    """Buffers with room for `needed` rows; the old ones stay as they are for older versions."""
    capacity = _capacity(needed)
    used = int(old.offsets[rows])
    fresh = _Buffers(old.vectors.shape[1], capacity, max(16 * capacity, used))
    fresh.vectors[:rows] = old.vectors[:rows]
    fresh.offsets[: rows + 1] = old.offsets[: rows + 1]
    fresh.lengths[:rows] = old.lengths[:rows]
    fresh.tokens[:used] = old.tokens[:used]
    fresh.frequencies[:used] = old.frequencies[:used]
    fresh.memories = old.memories[:rows]
    fresh.records = old.records[:rows]
    fresh.by_id = dict(old.by_id)
    fresh.text_bytes = old.text_bytes
    return fresh


def _append(
    buffers: _Buffers, row: int, times: NDArray[np.int64], stored: StoredRow, record_factory: RecordFactory
) -> None:
    memory = stored.memory
    tokens = row_tokens(memory.content)
    _put(
        buffers,
        row,
        stored.embedding,
        tokens.ids,
        tokens.frequencies,
        tokens.length,
        memory,
        record_factory(memory),
    )
    times[row, 0] = kernels.NEVER if memory.expires_at is None else memory.expires_at
    times[row, 1] = memory.created_at
    times[row, 2] = memory.position


def _put(
    buffers: _Buffers,
    row: int,
    vector: NDArray[np.float32],
    ids: NDArray[np.uint32],
    frequencies: NDArray[np.float32],
    length: float,
    memory: Memory,
    record: object,
) -> None:
    start = int(buffers.offsets[row])
    end = start + len(ids)
    if end > len(buffers.tokens):
        # Replaced, not resized in place: an older version may be reading the old arrays.
        size = max(end, 2 * len(buffers.tokens))
        buffers.tokens = np.concatenate([buffers.tokens[:start], np.empty(size - start, np.uint32)])
        buffers.frequencies = np.concatenate(
            [buffers.frequencies[:start], np.empty(size - start, np.float32)]
        )
    buffers.vectors[row] = vector
    buffers.tokens[start:end] = ids
    buffers.frequencies[start:end] = frequencies
    buffers.offsets[row + 1] = end
    buffers.lengths[row] = length
    del buffers.memories[row:], buffers.records[row:]
    buffers.memories.append(memory)
    buffers.records.append(record)
    buffers.by_id[memory.memory_id] = row
    buffers.text_bytes += len(memory.content.encode("utf-8", "surrogatepass"))
