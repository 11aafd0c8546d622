"""What every peer is given and asked: users with memories, some deleted, and the right answers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..seed import text

TOP_K = 5
_TOPICS = 64
_TOPICS_OF_A_USER = 12
_SPREAD = 0.9
"""Length of a memory's own part beside its topic's unit vector: the cosine of two memories of a topic is about 0.55."""
_QUERY_SPREAD = 0.7
DELETED_SHARE = 0.1

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Query:
    """One search. `user` is a user's number."""

    user: int
    user_id: str
    vector: Vectors
    """Unit vector, shape (dimension,)."""
    expected: frozenset[int]
    """Numbers of the rows that an exact search finds."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Row `n` belongs to user `n // rows_each`."""

    users: int
    rows_each: int
    vectors: Vectors
    """Unit vectors, shape (users * rows_each, dimension)."""
    deleted: NDArray[np.bool_]
    """Shape (users * rows_each,)."""
    queries: tuple[Query, ...]
    seed: int

    @property
    def dimension(self) -> int:
        dimension: int = self.vectors.shape[1]
        return dimension

    def __len__(self) -> int:
        return len(self.vectors)

    def user_id(self, user: int) -> str:
        return f"user-{user:05}"

    def user_of(self, row: int) -> str:
        return self.user_id(row // self.rows_each)

    def rows_of(self, user: int) -> range:
        return range(user * self.rows_each, (user + 1) * self.rows_each)

    def text(self, row: int) -> str:
        return text(row)


def make(*, users: int, rows_each: int, dimension: int, queries: int, seed: int) -> Corpus:
    """Memories in topics: each user has a few of them, and asks near a memory that is still there.

    Equal arguments give equal bytes. Raises ValueError for a user without five memories left.
    """
    generator = np.random.default_rng(seed)
    topics = _unit(generator.standard_normal((_TOPICS, dimension), dtype=np.float32))
    rows = users * rows_each
    own = np.stack([generator.permutation(_TOPICS)[:_TOPICS_OF_A_USER] for _ in range(users)])
    topic_of = own[np.repeat(np.arange(users), rows_each), generator.integers(0, _TOPICS_OF_A_USER, rows)]
    noise = _unit(generator.standard_normal((rows, dimension), dtype=np.float32))
    vectors = _unit(topics[topic_of] + np.float32(_SPREAD) * noise)
    deleted = generator.random(rows) < DELETED_SHARE
    asked = []
    for _ in range(queries):
        user = int(generator.integers(0, users))
        first = user * rows_each
        live = np.flatnonzero(~deleted[first : first + rows_each]) + first
        if len(live) < TOP_K:
            raise ValueError(
                f"user {user} has {len(live)} memories left; give each at least {2 * TOP_K} rows"
            )
        near = vectors[int(generator.choice(live))]
        away = _unit(generator.standard_normal((1, dimension), dtype=np.float32))[0]
        vector = _unit((near + np.float32(_QUERY_SPREAD) * away)[None])[0]
        best = live[np.argsort(-(vectors[live].astype(np.float64) @ vector.astype(np.float64)))[:TOP_K]]
        asked.append(Query(user, f"user-{user:05}", vector, frozenset(best.tolist())))
    return Corpus(users, rows_each, vectors, deleted, tuple(asked), seed)


def recall(found: list[int], expected: frozenset[int]) -> float:
    """Share of the expected rows that were found; what was found besides counts for nothing."""
    return len(expected.intersection(found)) / len(expected)


def _unit(vectors: NDArray[np.float32]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.ascontiguousarray(vectors / lengths, np.float32)
    return unit
