"""What the kernels compute, in plain NumPy: slow, and short enough to be checked by reading."""

import math

import numpy as np
from numpy.typing import NDArray

from .facade import Columns
from .fused import (
    CONCEPT_BIT,
    CONCEPT_WEIGHT,
    FEEDBACK_MOST_ROWS,
    FEEDBACK_ROWS,
    FEEDBACK_WEIGHT,
    K1,
    LEXICAL_WEIGHT,
    NEIGHBOUR_SHARE,
    RECENCY_WEIGHT,
    TOMBSTONE,
    B,
)


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
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """As `kernels.search`; the postings are not looked at, only the tokens by row."""
    n = columns.n
    times = columns.times[:n]
    allowed = times[:, 0] > now
    if created_after is not None:
        allowed &= times[:, 1] >= created_after
    if created_before is not None:
        allowed &= times[:, 1] < created_before
    if mask is not None:
        allowed &= mask[:n] != 0
    with np.errstate(invalid="ignore", over="ignore"):
        cosines = columns.vectors[:n].astype(np.float32) @ query
    lexical = np.zeros(n, np.float32)
    if query_tokens is not None and len(query_tokens):
        own = words(columns, query_tokens.tolist(), n)
        lexical += own
        for row in range(n):
            for other in columns.neighbours[row].tolist():
                if other >= 0 and times[other, 0] > now:
                    lexical[row] += NEIGHBOUR_SHARE * own[other]
        first, scores = best(cosines, lexical, times, allowed, FEEDBACK_ROWS)
        for row, score in zip(first, scores[:, 0], strict=True):
            if score > 0:
                linked = sorted(set(_tokens(columns, row)) - set(query_tokens.tolist()))
                share = FEEDBACK_WEIGHT / LEXICAL_WEIGHT * float(score)
                lexical += share * words(columns, linked, FEEDBACK_MOST_ROWS * columns.live + 1)
        if recent:
            lexical += np.float32(RECENCY_WEIGHT / LEXICAL_WEIGHT) * columns.recency[:n]
    rows, scores = best(cosines, lexical, times, allowed, top_k)
    if min_score is not None:
        high_enough = scores[:, 0] >= min_score
        rows, scores = rows[high_enough], scores[high_enough]
    return rows, scores


def best(
    cosines: NDArray[np.float32],
    lexical: NDArray[np.float32],
    times: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    top_k: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Best rows and (score, cosine, lexical): by score, then created_at, then position, larger first; no NaN."""
    scores = (cosines + np.float32(LEXICAL_WEIGHT) * lexical).astype(np.float32)
    rows = np.flatnonzero(allowed & ~np.isnan(scores))
    order = np.lexsort((-times[rows, 2], -times[rows, 1], -scores[rows]))[:top_k]
    rows = rows[order]
    return rows, np.stack([scores[rows], cosines[rows], lexical[rows]], axis=1)


def words(columns: Columns, ids: list[int], most_rows: float) -> NDArray[np.float32]:
    """BM25 over the largest possible, shape (n,), over the rows that are no tombstones."""
    out = np.zeros(columns.n, np.float64)
    holders = {i: [] for i in ids}  # type: dict[int, list[tuple[int, float]]]
    for row in range(columns.n):
        for token, frequency in _tokens(columns, row).items():
            if token in holders:
                holders[token].append((row, frequency))
    most = 0.0
    for token, found in holders.items():
        count = sum(columns.times[row, 0] != TOMBSTONE for row, _ in found)
        if not 0 < count <= most_rows:
            continue
        idf = math.log(1 + (columns.live - count + 0.5) / (count + 0.5))
        idf *= CONCEPT_WEIGHT if token & CONCEPT_BIT else 1.0
        most += idf
        for row, tf in found:
            out[row] += idf * tf / (tf + K1 * (1 - B + B * columns.rows[3, row] / columns.average_length))
    return (out / most if most > 0 else out).astype(np.float32)


def _tokens(columns: Columns, row: int) -> dict[int, float]:
    span = slice(columns.offsets[row], columns.offsets[row + 1])
    return dict(zip(columns.tokens[span].tolist(), columns.frequencies[span].tolist(), strict=True))
