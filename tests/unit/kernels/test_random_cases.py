"""Ten thousand random cases of all kernels against the reference: sizes around every unrolled loop and around the
threshold of the coded pass, expired and deleted rows, ties, rows that are no numbers, and every filter at once.

Blocks are costly to make and searches are not, so each block is asked many questions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memlane_core import kernels
from memlane_core.domain.memory import Memory
from memlane_core.index import JsonRecords, SearchQuery, UserIndex, search_many
from memlane_core.kernels import reference
from memlane_core.kernels.fused import CODED_MIN_ELEMENTS
from memlane_core.ports.vector_store import StoredRow

from .blocks import (
    NOW,
    assert_best_within_rounding,
    dyadic,
    make_columns,
    random_query_tokens,
    random_times,
    units,
)

SEEDS = range(10)
PLAIN, WORDED, FILTERED = 700, 200, 100
"""Cases a seed, which makes ten thousand in all."""
QUESTIONS = 10
"""To a block."""
DIMENSIONS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 130, 191, 192, 200)
ROWS = (*range(10), 11, 15, 16, 17, 31, 33, 64, 65)
_EDGE = tuple((CODED_MIN_ELEMENTS // d + more, d) for d in (384, 512) for more in (-1, 0, 1, 3))
"""(rows, dimension) around the threshold from which the coded pass is taken."""


@dataclass(frozen=True, slots=True)
class Question:
    columns: kernels.Columns
    query: NDArray[np.float32]
    tokens: NDArray[np.uint32] | None
    options: dict[str, Any]
    recent: bool

    def single(self, coded: bool | None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        rows, scores = kernels.search(
            self.columns, self.query, self.tokens, coded=coded, recent=self.recent, **self.options
        )
        return rows.copy(), scores.copy()

    def wanted(self, **changed: Any) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return reference.search(
            self.columns, self.query, self.tokens, recent=self.recent, **{**self.options, **changed}
        )

    def request(self) -> kernels.Request:
        return kernels.Request(
            columns=self.columns,
            query=self.query,
            query_tokens=self.tokens,
            recent=self.recent,
            **self.options,
        )


def with_strange_rows(rng: np.random.Generator, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Some are no numbers, some infinite, some equal to each other."""
    n, d = vectors.shape
    if n and rng.random() < 0.5:
        vectors[rng.integers(0, n, 1 + n // 8), rng.integers(0, d)] = rng.choice([np.nan, np.inf, -np.inf])
    if n > 1 and rng.random() < 0.5:
        vectors[rng.integers(0, n, 1 + n // 4)] = vectors[rng.integers(0, n)]
    return vectors


def random_options(rng: np.random.Generator, n: int) -> dict[str, Any]:
    def sometimes(value: Any) -> Any:
        return value if rng.random() < 0.3 else None

    return {
        "top_k": int(rng.integers(1, 14)),
        "now": NOW,
        "min_score": sometimes(float(rng.choice([-1.0, 0.0, 0.05]))),
        "created_after": sometimes(100),
        "created_before": sometimes(300),
        "mask": sometimes((rng.random(n) < 0.7).astype(np.uint8)),
    }


def plain_questions(rng: np.random.Generator) -> Iterator[Question]:
    """Without words; exact arithmetic, so the answers must be the same to the bit, ties included."""
    for block in range(PLAIN // QUESTIONS):
        n, d = int(rng.choice(ROWS)), int(rng.choice(DIMENSIONS))
        if block % 10 == 0:
            n, d = _EDGE[rng.integers(0, len(_EDGE))]
        columns = make_columns(rng, with_strange_rows(rng, dyadic(rng, (n, d))))
        for _ in range(QUESTIONS):
            yield Question(columns, dyadic(rng, (d,)), None, random_options(rng, n), False)


def worded_questions(rng: np.random.Generator) -> Iterator[Question]:
    for _ in range(WORDED // QUESTIONS):
        n, d = int(rng.choice(ROWS)), int(rng.choice(DIMENSIONS))
        columns = make_columns(rng, units(rng, (n, d)), indexed=int(rng.integers(0, n + 1)))
        for _ in range(QUESTIONS):
            tokens = random_query_tokens(rng, columns)
            # A bound on the score would cut between rows that are equal within rounding.
            options = {**random_options(rng, n), "min_score": None}
            yield Question(columns, units(rng, (d,)), tokens, options, bool(rng.random() < 0.5))


@pytest.mark.parametrize("seed", SEEDS)
def test_plain_searches_are_those_of_the_reference(seed: int) -> None:
    questions = list(plain_questions(np.random.default_rng(seed)))
    assert len(questions) == PLAIN
    assert any(q.columns.vectors.size >= CODED_MIN_ELEMENTS for q in questions)
    for number, question in enumerate(questions):
        rows, scores = question.wanted()
        case = (seed, number, question.columns.vectors.shape, question.options["top_k"])
        for coded in (None, False, True):
            found = question.single(coded)
            assert found[0].tolist() == rows.tolist(), (case, coded)
            assert found[1].tolist() == scores.tolist(), (case, coded)


@pytest.mark.parametrize("seed", SEEDS)
def test_searches_with_words_are_those_of_the_reference(seed: int) -> None:
    for number, question in enumerate(worded_questions(np.random.default_rng(1_000 + seed))):
        everything = question.wanted(top_k=question.columns.n + 1)
        for coded in (False, True):
            rows, scores = question.single(coded)
            case = (seed, number, question.columns.vectors.shape, coded)
            assert_best_within_rounding(rows, scores, everything, question.options["top_k"], case)


@pytest.mark.parametrize("seed", SEEDS)
def test_many_searches_in_one_call_are_the_same_ones(seed: int) -> None:
    """Pairs of all kinds of blocks and questions, of one dimension, in any order."""
    rng = np.random.default_rng(2_000 + seed)
    by_dimension: dict[int, list[Question]] = {}
    for question in [*plain_questions(rng), *worded_questions(rng)]:
        by_dimension.setdefault(question.columns.vectors.shape[1], []).append(question)
    for questions in by_dimension.values():
        shuffled = [questions[place] for place in rng.permutation(len(questions)).tolist()]
        answers = kernels.search_many([q.request() for q in shuffled])
        assert len(answers) == len(shuffled)
        for question, (rows, scores) in zip(shuffled, answers, strict=True):
            single = question.single(None)
            assert rows.tolist() == single[0].tolist()
            assert scores.tobytes() == single[1].tobytes()


@pytest.mark.parametrize("seed", SEEDS)
def test_filters_by_user_and_metadata_are_those_of_one_table_of_all_users(seed: int) -> None:
    """What many users' blocks answer is what NumPy finds in one table of all rows, filtered by user, metadata, expiry
    and time of creation before anything is scored."""
    rng = np.random.default_rng(3_000 + seed)
    d, users = int(rng.choice(DIMENSIONS)), 8
    sizes = [0, 1, *rng.choice(ROWS, users - 2).tolist()]
    owners = np.repeat(np.arange(users), sizes)
    n = len(owners)
    vectors, times = with_strange_rows(rng, dyadic(rng, (n, d))), random_times(rng, n, deleted=0.0)
    branches, channels = rng.choice(["north", "北京"], n).tolist(), rng.choice(["app", "柜台"], n).tolist()
    index = UserIndex(d, 1 << 30, JsonRecords())
    for user in range(users):
        rows = [
            StoredRow(
                Memory(
                    str(row),
                    f"user-{user}",
                    f"事实 fact {row}",
                    metadata={"branch": branches[row], "channel": channels[row]},
                    created_at=int(times[row, 1]),
                    expires_at=None if times[row, 0] == kernels.NEVER else int(times[row, 0]),
                    position=int(times[row, 2]),
                ),
                vectors[row],
            )
            for row in np.flatnonzero(owners == user).tolist()
        ]
        index.put_user("tenant", f"user-{user}", rows, n)
    pairs, wanted = [], []
    for _ in range(FILTERED):
        user = int(rng.integers(0, users))
        metadata = {
            key: str(rng.choice(values))
            for key, values in (("branch", ["north", "北京"]), ("channel", ["app", "柜台", "电话"]))
            if rng.random() < 0.4
        }
        query = dyadic(rng, (d,))
        top_k = int(rng.integers(1, 9))
        after = 100 if rng.random() < 0.3 else None
        allowed = (owners == user) & (times[:, 0] > NOW)
        if "branch" in metadata:
            allowed &= np.array(branches, str) == metadata["branch"]
        if "channel" in metadata:
            allowed &= np.array(channels, str) == metadata["channel"]
        if after is not None:
            allowed &= times[:, 1] >= after
        with np.errstate(invalid="ignore"):
            cosines = vectors @ query
        found, scores = reference.best(cosines, np.zeros(n, np.float32), times, allowed, top_k)
        wanted.append(([str(row) for row in found.tolist()], scores[:, 0].tolist()))
        block = index.get("tenant", f"user-{user}")
        assert block is not None
        pairs.append((block, SearchQuery(query, None, top_k, NOW, metadata=metadata, created_after=after)))
    singly = [block.search(query) for block, query in pairs]
    for hits, together, (ids, scores) in zip(singly, search_many(pairs), wanted, strict=True):
        assert [h.memory.memory_id for h in hits] == ids
        assert [h.score for h in hits] == scores
        assert hits == together
