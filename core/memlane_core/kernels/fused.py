"""Filter, cosine, lexical score and top-k in one pass over a user's block.

Rows are unit vectors, so a dot product is the cosine. Sums may be reassociated (that is what lets the compiler use
vector registers); NaN rules are kept, and a row whose score is NaN is never returned. Ties go to the newer row:
larger created_at, then larger journal position.
"""

import threading
from dataclasses import dataclass

import numpy as np
from numba import float32, float64, int64, njit, types, uint8, uint32
from numpy.typing import NDArray

NEVER = np.iinfo(np.int64).max
"""expires_at of a row that never expires."""
TOMBSTONE = np.iinfo(np.int64).min
"""expires_at of a row that was deleted or superseded: never visible."""

K1 = 1.2
B = 0.75
"""BM25 parameters (Robertson and Zaragoza, 2009: customary values)."""

_FAST = {"reassoc", "contract", "arcp", "nsz"}
_MAX_QUERY_TOKENS = 512
_TILE = 64
"""Rows whose dot products are taken together."""


@njit(inline="always")
def _newer(times, a, b):  # type: ignore[no-untyped-def]
    """Whether row a goes before row b among equals."""
    if times[a, 1] != times[b, 1]:
        return times[a, 1] > times[b, 1]
    return times[a, 2] > times[b, 2]


@njit(inline="always")
def _offer(score, cosine, lexical, row, times, count, top_k, rows, scores):  # type: ignore[no-untyped-def]
    """Put a row whose score is a number into the sorted best `top_k`; returns the new count."""
    if count == top_k:
        last = top_k - 1
        if not (score > scores[last, 0] or (score == scores[last, 0] and _newer(times, row, rows[last]))):
            return count
        place = last
    else:
        place = count
        count += 1
    while place > 0 and (
        score > scores[place - 1, 0]
        or (score == scores[place - 1, 0] and _newer(times, row, rows[place - 1]))
    ):
        rows[place] = rows[place - 1]
        scores[place, 0] = scores[place - 1, 0]
        scores[place, 1] = scores[place - 1, 1]
        scores[place, 2] = scores[place - 1, 2]
        place -= 1
    rows[place] = row
    scores[place, 0] = score
    scores[place, 1] = cosine
    scores[place, 2] = lexical
    return count


@njit(inline="always")
def _find(ids, count, wanted):  # type: ignore[no-untyped-def]
    """Index of `wanted` in the sorted ids, or -1."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if ids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < count and ids[low] == wanted:
        return low
    return -1


@njit(inline="always")
def _weigh(times, n, offsets, tokens, query, idf):  # type: ignore[no-untyped-def]
    """Fill `idf` for the query's tokens over the rows that are not tombstones; returns the largest possible BM25."""
    m = query.shape[0]
    for i in range(m):
        idf[i] = 0.0
    alive = 0
    for row in range(n):
        if times[row, 0] == TOMBSTONE:
            continue
        alive += 1
        for t in range(offsets[row], offsets[row + 1]):
            i = _find(query, m, tokens[t])
            if i >= 0:
                idf[i] += 1.0
    most = 0.0
    for i in range(m):
        if idf[i] == 0.0:
            # A word that no memory has cannot tell memories apart, nor should it shrink the others' share.
            continue
        idf[i] = np.log(1.0 + (alive - idf[i] + 0.5) / (idf[i] + 0.5))
        most += idf[i] * (K1 + 1.0)
    return most


@njit(inline="always")
def _bm25(row, offsets, tokens, frequencies, lengths, average, query, idf, most):  # type: ignore[no-untyped-def]
    """BM25 of one row over the largest possible: 0..1."""
    total = 0.0
    m = query.shape[0]
    norm = K1 * (1.0 - B + B * lengths[row] / average)
    for t in range(offsets[row], offsets[row + 1]):
        i = _find(query, m, tokens[t])
        if i >= 0:
            tf = frequencies[t]
            total += idf[i] * tf * (K1 + 1.0) / (tf + norm)
    return total / most


@njit(nogil=True, fastmath=_FAST, error_model="numpy", boundscheck=False)
def _dots(vectors, query, out):  # type: ignore[no-untyped-def]
    for row in range(vectors.shape[0]):
        total = float32(0.0)
        for j in range(query.shape[0]):
            total += vectors[row, j] * query[j]
        out[row] = total


def _signature(readonly: bool):  # type: ignore[no-untyped-def]
    vectors = types.Array(float32, 2, "C", readonly=readonly)
    query = types.Array(float32, 1, "C", readonly=readonly)
    return int64(
        vectors, query, int64, types.Array(int64, 2, "C", readonly=readonly), float64, int64, int64, float64,
        types.Array(uint8, 1, "C"), float64, types.Array(int64, 1, "C"), types.Array(uint32, 1, "C"),
        types.Array(float32, 1, "C"), types.Array(float32, 1, "C"), float64, types.Array(uint32, 1, "C"),
        float64[::1], float32[::1], int64, int64[::1], float32[:, ::1],
    )  # fmt: skip


@njit(
    [_signature(False), _signature(True)],
    cache=True, nogil=True, fastmath=_FAST, error_model="numpy", boundscheck=False,
)  # fmt: skip
def _scan(  # type: ignore[no-untyped-def]
    vectors, query, n, times, now, after, before, min_score, mask, weight, offsets, tokens, frequencies, lengths,
    average, query_tokens, idf, dots, top_k, rows, scores,
):  # fmt: skip
    """Best `top_k` rows into `rows` and `scores` (score, cosine, lexical); returns how many."""
    most = 0.0
    if query_tokens.shape[0] > 0:
        most = _weigh(times, n, offsets, tokens, query_tokens, idf)
    masked = mask.shape[0] > 0
    bar = float32(min_score)
    count = 0
    for first in range(0, n, _TILE):
        # Bare dot products first: only a loop with nothing else in it fills the vector registers.
        last = min(first + _TILE, n)
        _dots(vectors[first:last], query, dots)
        for row in range(first, last):
            # Cheapest test first; helper functions that take arrays cost more than the arithmetic, so the common
            # case (not among the best) is decided here.
            cosine = dots[row - first]
            lexical = 0.0
            if most > 0.0:
                lexical = _bm25(row, offsets, tokens, frequencies, lengths, average, query_tokens, idf, most)
            score = float32(cosine + weight * lexical)
            if not score >= bar:
                continue
            if not float64(times[row, 0]) > now or times[row, 1] < after or times[row, 1] >= before:
                continue
            if masked and mask[row] == 0:
                continue
            count = _offer(score, cosine, float32(lexical), row, times, count, top_k, rows, scores)
            if count == top_k:
                bar = scores[top_k - 1, 0]
    return count


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Tokens of a block's rows in CSR form: row r has tokens[offsets[r]:offsets[r + 1]], sorted."""

    offsets: NDArray[np.int64]
    tokens: NDArray[np.uint32]
    frequencies: NDArray[np.float32]
    lengths: NDArray[np.float32]
    average_length: float


class _Scratch(threading.local):
    """Buffers of one thread, reused by every call in it."""

    def __init__(self) -> None:
        self.rows = np.empty(128, np.int64)
        self.scores = np.empty((128, 3), np.float32)
        self.idf = np.empty(_MAX_QUERY_TOKENS, np.float64)
        self.dots = np.empty(_TILE, np.float32)


_scratch = _Scratch()
_NO_MASK = np.empty(0, np.uint8)
_NO_TOKENS = np.empty(0, np.uint32)


def search(
    vectors: NDArray[np.float32],
    n: int,
    times: NDArray[np.int64],
    lexicon: Lexicon,
    query: NDArray[np.float32],
    query_tokens: NDArray[np.uint32] | None,
    *,
    top_k: int,
    now: float,
    weight: float,
    min_score: float | None = None,
    created_after: int | None = None,
    created_before: int | None = None,
    mask: NDArray[np.uint8] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Best rows and their (score, cosine, lexical), shapes (k,) and (k, 3): views valid until the thread's next call.

    `vectors` (capacity, d) and `times` (capacity, 3: expires_at, created_at, position) are C-contiguous; the first
    `n` rows count. `query_tokens` sorted and distinct. Raises ValueError on shapes that do not fit.
    """
    if query.ndim != 1 or vectors.ndim != 2 or query.shape[0] != vectors.shape[1]:
        raise ValueError(f"query of shape {query.shape} does not fit vectors of shape {vectors.shape}")
    if not 0 <= n <= vectors.shape[0] or n > times.shape[0] or top_k < 1:
        raise ValueError(f"n={n}, top_k={top_k} do not fit {vectors.shape[0]} rows")
    scratch = _scratch
    if top_k > scratch.rows.shape[0]:
        scratch.rows = np.empty(top_k, np.int64)
        scratch.scores = np.empty((top_k, 3), np.float32)
    count = _scan(
        vectors,
        query,
        n,
        times,
        now,
        TOMBSTONE if created_after is None else created_after,
        NEVER if created_before is None else created_before,
        -np.inf if min_score is None else min_score,
        _NO_MASK if mask is None else mask,
        weight,
        lexicon.offsets,
        lexicon.tokens,
        lexicon.frequencies,
        lexicon.lengths,
        lexicon.average_length,
        _NO_TOKENS if query_tokens is None else query_tokens,
        scratch.idf,
        scratch.dots,
        top_k,
        scratch.rows,
        scratch.scores,
    )
    return scratch.rows[:count], scratch.scores[:count]


def warm_up() -> None:
    """Compile or load every kernel; after this no call compiles."""
    vectors = np.eye(5, 8, dtype=np.float32)
    times = np.zeros((5, 3), np.int64)
    times[:, 0] = NEVER
    lexicon = Lexicon(
        np.zeros(6, np.int64), np.empty(0, np.uint32), np.empty(0, np.float32), np.ones(5, np.float32), 1.0
    )
    search(vectors, 5, times, lexicon, vectors[0].copy(), None, top_k=2, now=0.0, weight=0.0)
