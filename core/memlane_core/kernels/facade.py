"""The validating façade in front of the compiled kernels: what a block looks like to them, and how they are asked."""

import math
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import config
from numpy.typing import NDArray

from . import coding, fused
from .fused import CODED_MIN_ELEMENTS, FEEDBACK_ROWS, MAX_CODED_DIMENSION, MAX_TOKENS, NEVER, TOMBSTONE


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """A block as the kernels read it; `n` rows count of `capacity`. All arrays C-contiguous.

    Tokens stand twice: by row (`offsets`, `tokens`, `frequencies`: row r has offsets[r] up to offsets[r + 1], sorted),
    and, for the first `indexed` rows, by token (`words`, sorted, and for word w the entries starts[w] up to
    starts[w + 1] of `entry_rows` and `entry_frequencies`). A write costs no new index as long as few rows are behind.
    """

    vectors: NDArray[np.float32]
    """(capacity, d)"""
    codes: NDArray[np.int8]
    """(capacity, d): vectors / scale, rounded; or (0, d) for a block that is not to be coded"""
    rows: NDArray[np.float32]
    """(4, capacity): scale of the code, length of what the code leaves over, length of the coded vector, words"""
    times: NDArray[np.int64]
    """(capacity, 4): expires_at, created_at, position, time of the last statement"""
    neighbours: NDArray[np.int32]
    """(capacity, 2): the rows recorded before and after it in one go, -1 = none"""
    recency: NDArray[np.float32]
    """(capacity,): place among the live rows by when they were stated, 0 = first, 1 = last"""
    offsets: NDArray[np.int64]
    tokens: NDArray[np.uint32]
    frequencies: NDArray[np.float32]
    words: NDArray[np.uint32]
    starts: NDArray[np.int64]
    entry_rows: NDArray[np.int32]
    entry_frequencies: NDArray[np.float32]
    n: int
    indexed: int
    stale: bool
    """Some of the indexed rows have become tombstones since they were indexed."""
    live: int
    """Rows that are no tombstones."""
    average_length: float
    """Of the live rows; positive."""
    table: NDArray[np.int64] = field(init=False)
    """Sizes and addresses of all this, in one array: unboxing a dozen of them costs more than a short scan."""
    address: int = field(init=False)
    """Of the table."""
    worth_coding: bool = field(init=False)
    """Whether the coded pass is the faster one."""
    dimension: int = field(init=False)

    def __post_init__(self) -> None:
        arrays = self.arrays()
        vectors, codes, _, _, _, _, _, tokens, frequencies, words, _, entry_rows, entry_frequencies = arrays
        if (
            codes.shape not in (vectors.shape, (0, vectors.shape[1]))
            or tokens.shape != frequencies.shape
            or entry_rows.shape != entry_frequencies.shape
            or not all(array.flags.c_contiguous for array in arrays)
        ):
            raise ValueError("codes, tokens or entries do not fit, or an array is not C-contiguous")
        worth_coding = (
            self.n * vectors.shape[1] >= CODED_MIN_ELEMENTS
            and len(codes) > 0
            and vectors.shape[1] <= MAX_CODED_DIMENSION
        )
        table = np.array(
            (
                *vectors.shape, self.n, self.indexed, self.stale, self.live, len(tokens), len(words), len(entry_rows),
                *map(_address, arrays), 0, worth_coding,
            ),
            np.int64,
        )  # fmt: skip
        assert len(table) == fused.TABLE_SIZE
        table.view(np.float64)[fused.AVERAGE] = self.average_length
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "address", _address(table))
        object.__setattr__(self, "worth_coding", worth_coding)
        object.__setattr__(self, "dimension", vectors.shape[1])

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """In the order of the table and of the kernel's parameters."""
        return (
            self.vectors, self.codes, self.rows, self.times, self.neighbours, self.recency, self.offsets, self.tokens,
            self.frequencies, self.words, self.starts, self.entry_rows, self.entry_frequencies,
        )  # fmt: skip


_CACHE_LINE = 64


def _aligned(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """`np.empty` at the start of a cache line: a vector register's worth that lies across two costs two reads."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + _CACHE_LINE, np.uint8)
    start = -_address(room) % _CACHE_LINE
    return room[start : start + size].view(dtype).reshape(shape)


class _Buffers:
    """What the kernels of one thread write into: room for so many rows, dimensions and results."""

    __slots__ = ("address", "arrays", "best", "dimension", "results", "rows", "table")

    def __init__(self, rows: int, dimension: int, results: int) -> None:
        self.rows = rows
        self.dimension = dimension
        self.results = results
        self.arrays = (
            _aligned((dimension,), np.int16),
            _aligned((5, rows), np.float32),
            _aligned((MAX_TOKENS,), np.float64),
            _aligned((MAX_TOKENS, 2), np.int64),
            _aligned((results,), np.int64),
            _aligned((results, 3), np.float32),
            _aligned((fused.GROUP, dimension), np.float32),
            _aligned((fused.GROUP, dimension), np.int16),
            _aligned((fused.GROUP, rows), np.int32),
            _aligned((fused.GROUP, 3), np.float64),
            _aligned((2 * results,), np.int64),
        )
        self.best = self.arrays[-1].data
        """What `scan_raw` leaves: see `_best_of`."""
        self.table = np.array([rows, dimension, results, *map(_address, self.arrays)], np.int64)
        assert len(self.table) == fused.SCRATCH_SIZE
        self.address = _address(self.table)


class _Scratch(threading.local):
    """The buffers of each thread, reused by every call in it; they grow to the largest block seen."""

    def __init__(self) -> None:
        self.buffers = _Buffers(1024, 1536, 64)

    def fitting(self, rows: int, dimension: int, results: int) -> _Buffers:
        own = self.buffers
        if rows > own.rows or dimension > own.dimension or results > own.results:
            own = _Buffers(max(rows, own.rows), max(dimension, own.dimension), max(results, own.results))
            self.buffers = own
        return own


_scratch = _Scratch()
_NO_MASK = np.empty(0, np.uint8)
_NO_TOKENS = np.empty(0, np.uint32)
_NO_SUMS = np.empty(0, np.int32)
_NOT_READY = np.empty(0, np.float64)


def search(
    columns: Columns,
    query: NDArray[np.float32],
    query_tokens: NDArray[np.uint32] | None,
    *,
    top_k: int,
    now: float,
    min_score: float | None = None,
    created_after: int | None = None,
    created_before: int | None = None,
    mask: NDArray[np.uint8] | None = None,
    recent: bool = False,
    coded: bool | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Best rows and their (score, cosine, lexical), shapes (k,) and (k, 3): views valid until the thread's next call.

    `query` is C-contiguous, shape (d,); `query_tokens` sorted and distinct, at most MAX_TOKENS. `mask` has a byte per
    row, 0 = leave out. `recent` prefers what was stated late, where there are query tokens. `coded` forces the coded
    pass on or off; the answer is the same. Raises ValueError on shapes that do not fit, TypeError on other element
    types.
    """
    n = columns.n
    capacity, dimension = columns.vectors.shape
    if query.shape != (dimension,):
        raise ValueError(f"query of shape {query.shape} does not fit vectors of dimension {dimension}")
    if top_k < 1 or n > capacity or (mask is not None and mask.shape[0] < n):
        raise ValueError(f"n={n}, top_k={top_k} or the mask do not fit {capacity} rows")
    if query_tokens is None:
        query_tokens = _NO_TOKENS
    elif query_tokens.shape[0] > MAX_TOKENS:
        raise ValueError(f"{query_tokens.shape[0]} query tokens, at most {MAX_TOKENS}")
    if coded is None:
        coded = columns.worth_coding
    elif coded and len(columns.codes) < n:
        raise ValueError("these columns have no codes")
    scratch = _scratch.fitting(n, dimension, top_k)
    after = TOMBSTONE if created_after is None else created_after
    before = NEVER if created_before is None else created_before
    bar = -np.inf if min_score is None else min_score
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        # Addresses mean nothing to plain Python.
        c = columns
        count = fused.scan(  # type: ignore[call-arg]  # numba's stubs count the starred ones wrongly
            *c.arrays(), n, c.indexed, c.stale, c.live, c.average_length, query, query_tokens, recent, coded, now,
            after, before, bar, _NO_MASK if mask is None else mask, top_k, *scratch.arrays[:6],
            _NO_SUMS, _NOT_READY,
        )  # fmt: skip
    else:
        count = fused.scan_one(
            columns.address, scratch.address, query, query_tokens, recent, coded, now, after, before, bar,
            0 if mask is None else mask.ctypes.data, 0 if mask is None else n, top_k,
        )  # fmt: skip
    arrays = scratch.arrays
    return arrays[4][:count], arrays[5][:count]


class Request(NamedTuple):
    """One search of a batch; the fields are those of `search`."""

    columns: Columns
    query: NDArray[np.float32]
    query_tokens: NDArray[np.uint32] | None
    top_k: int
    now: float
    min_score: float | None
    created_after: int | None
    created_before: int | None
    mask: NDArray[np.uint8] | None
    recent: bool


def search_many(requests: list[Request]) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """The answers of `search` to many requests over blocks of one dimension, in order, by one call.

    Raises what `search` raises; then none was answered.
    """
    if not requests:
        return []
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        answers = [
            search(r.columns, r.query, r.query_tokens, top_k=r.top_k, now=r.now, min_score=r.min_score,
                   created_after=r.created_after, created_before=r.created_before, mask=r.mask, recent=r.recent)
            for r in requests
        ]  # fmt: skip
        return [(rows.copy(), scores.copy()) for rows, scores in answers]
    dimension = requests[0].columns.vectors.shape[1]
    options, limits, tokens, ends = [], [], [], [0]
    for r in requests:
        n = r.columns.n
        if r.query.shape != (dimension,) or r.columns.vectors.shape[1] != dimension:
            raise ValueError(f"query of shape {r.query.shape} does not fit vectors of dimension {dimension}")
        if r.top_k < 1 or (r.mask is not None and r.mask.shape[0] < n):
            raise ValueError(f"n={n}, top_k={r.top_k} or the mask do not fit")
        ids = _NO_TOKENS if r.query_tokens is None else r.query_tokens
        if ids.shape[0] > MAX_TOKENS:
            raise ValueError(f"{ids.shape[0]} query tokens, at most {MAX_TOKENS}")
        tokens.append(ids)
        ends.append(ends[-1] + ids.shape[0])
        options.append((
            r.top_k,
            TOMBSTONE if r.created_after is None else r.created_after,
            NEVER if r.created_before is None else r.created_before,
            r.recent,
            r.columns.address,
            0 if r.mask is None else r.mask.ctypes.data,
            0 if r.mask is None else n,
            0,
        ))  # fmt: skip
        limits.append((r.now, -np.inf if r.min_score is None else r.min_score))
    scratch = _scratch.fitting(max(r.columns.n for r in requests), dimension, 0)
    most = max(FEEDBACK_ROWS, *(r.top_k for r in requests))
    rows = np.empty((len(requests), most), np.int64)
    scores = np.empty((len(requests), most, 3), np.float32)
    table = np.array(options, np.int64)
    fused.scan_many(
        scratch.address,
        np.stack([r.query for r in requests], dtype=np.float32, casting="no"),
        np.array(ends, np.int64),
        np.concatenate(tokens),
        table,
        np.array(limits, np.float64),
        rows,
        scores,
    )
    return [(rows[i, :count], scores[i, :count]) for i, count in enumerate(table[:, 7].tolist())]


Best = tuple[Sequence[int], Sequence[float]]
"""Rows and their scores, best first."""


@lru_cache(maxsize=256)
def _best_of(count: int) -> Callable[[memoryview], tuple[Any, ...]]:
    """Reads so many rows and scores, in one go: cheaper than slices of arrays."""
    return struct.Struct(f"={count}q{count}d").unpack_from


def search_raw(columns: Columns, message: bytes, offset: int, *, top_k: int, now: float) -> Best | None:
    """`search` by cosine alone and without filters, for a vector as it came: little-endian float32 values from
    `offset` of a message on, of any length but zero.

    None for a vector that needs a closer look: zero, not finite, or too large or small for float32 to scale. Raises
    ValueError where the message ends before the vector does.
    """
    dimension = columns.dimension
    if not 0 <= offset <= len(message) - 4 * dimension or top_k < 1:
        raise ValueError(f"offset={offset}, top_k={top_k} do not fit {len(message)} bytes")
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        query = np.empty(dimension, np.float32)
        if not fused.read_unit(message, offset, query):
            return None
        rows, scores = search(columns, query, None, top_k=top_k, now=now)
        return tuple(rows.tolist()), tuple(scores[:, 0].tolist())
    scratch = _scratch.fitting(columns.n, dimension, top_k)
    count = fused.scan_raw(message, offset, columns.address, scratch.address, now, top_k)
    if count < 0:
        return None
    best = _best_of(count)(scratch.best)
    return best[:count], best[count:]


class RawRequest(NamedTuple):
    """One search of a message with many; the fields are those of `search_raw`."""

    columns: Columns
    offset: int
    top_k: int


def search_raw_many(requests: Sequence[RawRequest], message: bytes, *, now: float) -> list[Best] | None:
    """The answers of `search_raw` to many requests of one message, in order, by one call; None where one of them
    would be None. Raises what `search_raw` raises."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        each = [search_raw(r.columns, message, r.offset, top_k=r.top_k, now=now) for r in requests]
        answers = [best for best in each if best is not None]
        return answers if len(answers) == len(each) else None
    if not requests:
        return []
    most = dimension = rows_of_largest = 0
    lines = []
    for columns, offset, top_k in requests:
        d = columns.dimension
        if not 0 <= offset <= len(message) - 4 * d or top_k < 1:
            raise ValueError(f"offset={offset}, top_k={top_k} do not fit {len(message)} bytes")
        most, dimension = max(most, top_k), max(dimension, d)
        rows_of_largest = max(rows_of_largest, columns.n)
        lines.append((columns.address, offset, top_k, 0))
    scratch = _scratch.fitting(rows_of_largest, dimension, 0)
    # FEEDBACK_ROWS: the kernel's own first choice, for queries with words, needs as many.
    rows = np.empty((len(lines), max(most, FEEDBACK_ROWS)), np.int64)
    scores = np.empty((*rows.shape, 3), np.float32)
    table = np.array(lines, np.int64)
    fused.scan_raw_many(message, table, scratch.address, now, rows, scores)
    counts = table[:, 3].tolist()
    if min(counts) < 0:
        return None
    return [
        (tuple(r[:count]), tuple(s[:count]))
        for count, r, s in zip(counts, rows.tolist(), scores[:, :, 0].tolist(), strict=True)
    ]


def code_rows(
    vectors: NDArray[np.float32], first: int, last: int, codes: NDArray[np.int8], rows: NDArray[np.float32]
) -> None:
    """Fill `codes` and the first three lines of `rows` (see Columns) for the rows first..last - 1.

    Raises ValueError outside the arrays.
    """
    capacity = vectors.shape[0]
    if not 0 <= first <= last <= capacity or codes.shape != vectors.shape or rows.shape != (4, capacity):
        raise ValueError(f"rows {first}..{last} do not fit {vectors.shape}, {codes.shape}, {rows.shape}")
    coding.code_rows(vectors, first, last, codes, rows)


def squared_norm(vector: NDArray[np.float32]) -> float:
    """Of a float32, C-contiguous vector, shape (d,); summed in float64. NaN where it holds one. Raises TypeError."""
    total: float = fused.squared_norm(vector)
    return total


def warm_up() -> None:
    """Run every kernel once in each of its forms; after this no call compiles or loads code."""
    vectors = np.eye(5, 8, dtype=np.float32)
    codes, rows = np.empty((5, 8), np.int8), np.ones((4, 5), np.float32)
    code_rows(vectors, 0, 5, codes, rows)
    none, numbers = np.empty(0, np.uint32), np.empty(0, np.float32)
    columns = Columns(
        vectors, codes, rows, np.full((5, 4), NEVER), np.full((5, 2), -1, np.int32), np.zeros(5, np.float32),
        np.zeros(6, np.int64), none,
        numbers, none, np.zeros(1, np.int64), np.empty(0, np.int32), numbers, 5, 5, False, 5, 1.0,
    )  # fmt: skip
    query = vectors[0].copy()
    for writeable in (True, False):
        query.flags.writeable = writeable
        squared_norm(query)
        for coded in (True, False):
            search(columns, query, np.zeros(1, np.uint32), top_k=2, now=0.0, coded=coded)
    search_many([Request(columns, query, None, 2, 0.0, None, None, None, None, False)])
    message = query.tobytes()
    search_raw(columns, message, 0, top_k=2, now=0.0)
    search_raw_many([RawRequest(columns, 0, 2)], message, now=0.0)
