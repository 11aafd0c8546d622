"""Random blocks for the kernel tests."""

import numpy as np
from numpy.typing import NDArray

from memlane_core import kernels
from memlane_core.index.postings import EMPTY, invert

NOW = 1_000.0


def dyadic(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Multiples of 1/16: their float32 dot products are exact in any order, so ties are ties."""
    return (rng.integers(-4, 5, shape) / 16).astype(np.float32)


def units(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    raw = rng.standard_normal(shape)
    return np.ascontiguousarray(raw / np.linalg.norm(raw, axis=-1, keepdims=True), dtype=np.float32)


def random_times(
    rng: np.random.Generator, n: int, *, deleted: float = 0.1, expired: float = 0.2
) -> NDArray[np.int64]:
    """Few distinct creation times, so that ties are decided by position too; the positions differ."""
    times = np.zeros((n, 4), np.int64)
    times[:, 0] = rng.choice([kernels.NEVER, int(NOW) + 1, int(NOW)], n, p=[0.6, 0.4 - expired, expired])
    times[rng.random(n) < deleted, 0] = kernels.TOMBSTONE
    times[:, 1] = rng.integers(0, 4, n) * 100
    times[:, 2] = rng.permutation(n) + 1
    return times


def random_words(rng: np.random.Generator, vocabulary: int) -> list[int]:
    """Sorted ids of up to 11 words, every fifth of them a concept."""
    known = rng.integers(0, vocabulary, rng.integers(0, 12)).tolist()
    ids = [word * 97 for word in sorted(set(known))]
    return sorted(word | kernels.CONCEPT_BIT if at % 5 == 0 else word for at, word in enumerate(ids))


def make_columns(
    rng: np.random.Generator,
    vectors: NDArray[np.float32],
    times: NDArray[np.int64] | None = None,
    *,
    vocabulary: int = 30,
    indexed: int | None = None,
) -> kernels.Columns:
    """Columns over these vectors, with random words; the first `indexed` rows are in the postings (all when None)."""
    n = len(vectors)
    if times is None:
        times = random_times(rng, n)
    words = [random_words(rng, vocabulary) for _ in range(n)]
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    tokens = np.array([word for ids in words for word in ids], np.uint32)
    frequencies = rng.integers(1, 4, len(tokens)).astype(np.float32)
    codes, rows = np.empty(vectors.shape, np.int8), np.empty((4, n), np.float32)
    kernels.code_rows(vectors, 0, n, codes, rows)
    rows[3] = [frequencies[offsets[r] : offsets[r + 1]].sum() for r in range(n)]
    live = times[:, 0] != kernels.TOMBSTONE
    indexed = n if indexed is None else indexed
    # Some were deleted after they had been indexed.
    before = times.copy()
    before[rng.random(n) < 0.5, 0] = kernels.NEVER
    postings = invert(offsets, tokens, frequencies, before, indexed) if indexed else EMPTY
    neighbours = rng.integers(-1, max(n, 1), (n, 2)).astype(np.int32)
    recency = rng.random(n).astype(np.float32)
    average = float(rows[3][live].mean()) if live.any() else 1.0
    return kernels.Columns(
        vectors, codes, rows, times, neighbours, recency, offsets, tokens, frequencies, postings.words, postings.starts,
        postings.entry_rows, postings.entry_frequencies, n, indexed, True, int(live.sum()), max(average, 1.0),
    )  # fmt: skip


def random_query_tokens(rng: np.random.Generator, columns: kernels.Columns) -> NDArray[np.uint32]:
    """Words of the block and words it does not have."""
    known = rng.choice(columns.tokens, min(6, len(columns.tokens))) if len(columns.tokens) else []
    return np.unique(np.concatenate([known, rng.integers(0, 3_000, 3)])).astype(np.uint32)


def assert_best_within_rounding(
    rows: NDArray[np.int64],
    scores: NDArray[np.float32],
    everything: tuple[NDArray[np.int64], NDArray[np.float32]],
    top_k: int,
    case: object = None,
) -> None:
    """The answer is the best `top_k` of the reference's whole answer. Float sums in another order may swap rows that
    are equal within rounding, and nothing else."""
    score_of = dict(zip(everything[0].tolist(), everything[1].tolist(), strict=True))
    assert len(rows) == min(top_k, len(score_of)), case
    assert len(set(rows.tolist())) == len(rows), case
    wanted = np.array([score_of[row] for row in rows.tolist()]).reshape(-1, 3)
    np.testing.assert_allclose(scores, wanted, rtol=0, atol=2e-5, err_msg=str(case))
    left_out = [values[0] for row, values in score_of.items() if row not in set(rows.tolist())]
    if left_out and len(rows):
        assert max(left_out) <= scores[-1, 0] + 2e-5, case
