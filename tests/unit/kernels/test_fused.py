"""The fused kernel against its NumPy reference: awkward sizes, ties, expired rows, NaN, and the coded pass."""

import threading

import numpy as np
import pytest

from memlane_core import kernels
from memlane_core.kernels import fused, reference

from .blocks import (
    NOW,
    assert_best_within_rounding,
    dyadic,
    make_columns,
    random_query_tokens,
    random_times,
    units,
)

DIMENSIONS = [1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 100, 129, 192]


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_equal_to_the_reference_without_words(seed: int, coded: bool) -> None:
    rng = np.random.default_rng(seed)
    for n in [*range(10), 13, 31, 32, 33, 63, 64, 65, 130]:
        d = int(rng.choice(DIMENSIONS))
        columns = make_columns(rng, dyadic(rng, (n, d)))
        query = dyadic(rng, (d,))
        options = {
            "top_k": int(rng.integers(1, 12)),
            "now": NOW,
            "min_score": float(rng.choice([-1.0, 0.0, 0.05])) if rng.random() < 0.3 else None,
            "created_after": 100 if rng.random() < 0.3 else None,
            "created_before": 300 if rng.random() < 0.3 else None,
            "mask": (rng.random(n) < 0.7).astype(np.uint8) if rng.random() < 0.3 else None,
        }
        rows, scores = kernels.search(columns, query, None, coded=coded, **options)
        wanted_rows, wanted_scores = reference.search(columns, query, None, **options)
        assert rows.tolist() == wanted_rows.tolist()
        assert scores.tolist() == wanted_scores.tolist()


@pytest.mark.parametrize("d", [1, 15, 63, 64, 65, 100, 127, 128, 130, 512])
def test_the_coded_pass_is_the_sum_of_products(d: int) -> None:
    """The largest codes too, of which sums must not overflow."""
    rng = np.random.default_rng(d)
    for n in [*range(1, 10), 65, 1003]:
        codes = rng.integers(-127, 128, (n, d), np.int8)
        queries = rng.integers(-2047, 2048, (fused.GROUP, d), np.int16)
        codes[0], queries[0] = 127, 2047
        wanted = queries.astype(np.int32) @ codes.T.astype(np.int32)
        one, many = np.full(n + 2, 7, np.int32), np.full((fused.GROUP, n + 2), 7, np.int32)
        fused._coded_dots(codes, queries[0], one)
        fused._coded_dots_of_many(codes, queries, many)
        assert np.array_equal(many[:, :n], wanted)
        assert np.array_equal(one[:n], wanted[0])
        assert (one[n:] == 7).all() and (many[:, n:] == 7).all(), "nothing is written past the last row"


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_equal_to_the_reference_with_words(seed: int, coded: bool) -> None:
    rng = np.random.default_rng(1_000 + seed)
    for n in [*range(10), 31, 64, 97]:
        d = int(rng.choice(DIMENSIONS))
        columns = make_columns(rng, units(rng, (n, d)), indexed=int(rng.integers(0, n + 1)))
        query, tokens = units(rng, (d,)), random_query_tokens(rng, columns)
        top_k = int(rng.integers(1, 9))
        recent = bool(rng.random() < 0.5)
        rows, scores = kernels.search(
            columns, query, tokens, top_k=top_k, now=NOW, recent=recent, coded=coded
        )
        everything = reference.search(columns, query, tokens, top_k=n + 1, now=NOW, recent=recent)
        assert_best_within_rounding(rows, scores, everything, top_k)


@pytest.mark.parametrize("spread", [1.0, 0.05, 0.001, 0.0])
@pytest.mark.parametrize("d", [3, 64, 384])
def test_coded_pass_gives_the_float_answer_to_the_bit(spread: float, d: int) -> None:
    """Also where the rows lie so close together that the codes cannot tell them apart."""
    rng = np.random.default_rng(d)
    for n in (1, 7, 200, 1_500):
        centre = units(rng, (d,))
        vectors = centre + spread * units(rng, (n, d))
        vectors = np.ascontiguousarray(
            vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32
        )
        columns = make_columns(rng, vectors, vocabulary=300)
        for query in (centre, units(rng, (d,))):
            for tokens in (None, random_query_tokens(rng, columns)):
                plain = [
                    x.copy() for x in kernels.search(columns, query, tokens, top_k=8, now=NOW, coded=False)
                ]
                coded = kernels.search(columns, query, tokens, top_k=8, now=NOW, coded=True)
                assert plain[0].tobytes() == coded[0].tobytes()
                assert plain[1].tobytes() == coded[1].tobytes()


def test_bounds_of_the_codes_hold() -> None:
    rng = np.random.default_rng(7)
    for scale in (1.0, 1e-3, 1e-20, 0.0):
        vectors = (units(rng, (50, 48)) * scale).astype(np.float32)
        columns = make_columns(rng, vectors)
        exact = vectors.astype(np.float64)
        coded = columns.codes * columns.rows[0].astype(np.float64)[:, None]
        assert (np.linalg.norm(exact - coded, axis=1) <= columns.rows[1]).all()
        assert (np.linalg.norm(coded, axis=1) <= columns.rows[2] + 1e-45).all()


def test_newest_first_among_equals() -> None:
    rng = np.random.default_rng(0)
    vectors = np.tile(np.float32([1, 0, 0]), (9, 1))
    times = np.array(
        [[kernels.NEVER, created, position, 0] for created in (3, 1, 2) for position in (20, 30, 10)]
    )
    times[:, 2] += np.arange(9) // 3
    columns = make_columns(rng, vectors, times)
    for coded in (False, True):
        rows, _ = kernels.search(columns, vectors[0].copy(), None, top_k=9, now=NOW, coded=coded)
        assert rows.tolist() == [1, 0, 2, 7, 6, 8, 4, 3, 5]


@pytest.mark.parametrize("coded", [False, True])
def test_a_row_with_nan_is_never_returned_and_hides_nothing(coded: bool) -> None:
    rng = np.random.default_rng(3)
    vectors = units(rng, (40, 24))
    vectors[::7, 5] = np.nan
    vectors[3, 0] = np.inf
    columns = make_columns(rng, vectors, random_times(rng, 40, deleted=0, expired=0))
    query = units(rng, (24,))
    query[0] = 0.0
    rows, scores = kernels.search(columns, query, None, top_k=40, now=NOW, coded=coded)
    assert set(rows.tolist()) == set(range(40)) - set(range(0, 40, 7)) - {3}
    assert not np.isnan(scores).any()


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_query_that_is_not_finite_does_no_harm(bad: float, coded: bool) -> None:
    rng = np.random.default_rng(4)
    columns = make_columns(rng, units(rng, (12, 8)))
    query = np.full(8, bad, np.float32)
    _, scores = kernels.search(
        columns, query, random_query_tokens(rng, columns), top_k=5, now=NOW, coded=coded
    )
    assert not np.isnan(scores).any()


def test_a_zero_query_scores_zero() -> None:
    rng = np.random.default_rng(5)
    columns = make_columns(rng, units(rng, (6, 8)), random_times(rng, 6, deleted=0, expired=0))
    for coded in (False, True):
        rows, scores = kernels.search(columns, np.zeros(8, np.float32), None, top_k=9, now=NOW, coded=coded)
        assert len(rows) == 6
        assert not scores.any()


def test_expiry_is_exclusive_at_the_second() -> None:
    rng = np.random.default_rng(6)
    times = np.array([[1_000, 0, 1, 0]])
    columns = make_columns(rng, units(rng, (1, 4)), times)
    query = units(rng, (4,))
    seen = [
        len(kernels.search(columns, query, None, top_k=1, now=now)[0]) for now in (999.0, 999.999, 1_000.0)
    ]
    assert seen == [1, 1, 0]


def test_read_only_and_writable_arrays_do_alike() -> None:
    rng = np.random.default_rng(8)
    columns = make_columns(rng, units(rng, (20, 16)))
    query, tokens = units(rng, (16,)), random_query_tokens(rng, columns)
    wanted = [x.copy() for x in kernels.search(columns, query, tokens, top_k=5, now=NOW)]
    for array in (query, tokens, columns.vectors):
        array.flags.writeable = False
        rows, scores = kernels.search(columns, query, tokens, top_k=5, now=NOW)
        assert rows.tolist() == wanted[0].tolist()
        assert scores.tobytes() == wanted[1].tobytes()


def test_threads_do_not_share_buffers() -> None:
    rng = np.random.default_rng(9)
    columns = make_columns(rng, units(rng, (3_000, 32)), random_times(rng, 3_000))
    queries = units(rng, (4, 32))
    wanted = [kernels.search(columns, q, None, top_k=7, now=NOW)[0].tolist() for q in queries]
    wrong: list[int] = []

    def run(i: int) -> None:
        for _ in range(200):
            if kernels.search(columns, queries[i], None, top_k=7, now=NOW)[0].tolist() != wanted[i]:
                wrong.append(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("seed", range(10))
def test_many_searches_in_one_call_are_those_of_single_calls(seed: int) -> None:
    """Over blocks of all sizes, several requests to one block among them, each with options of its own."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([8, 48]))
    blocks = [
        make_columns(rng, units(rng, (n, d)), indexed=n // 2)
        for n in [*range(6), 33, 64, 200, 131_072 // d + 70]
    ]
    requests = []
    for _ in range(40):
        i = int(rng.integers(0, len(blocks)))
        n = blocks[i].n
        requests.append(
            kernels.Request(
                blocks[i],
                units(rng, (d,)),
                random_query_tokens(rng, blocks[i]) if rng.random() < 0.6 else None,
                int(rng.integers(1, 12)),
                NOW,
                0.0 if rng.random() < 0.3 else None,
                100 if rng.random() < 0.3 else None,
                300 if rng.random() < 0.3 else None,
                (rng.random(n) < 0.7).astype(np.uint8) if rng.random() < 0.3 else None,
                bool(rng.random() < 0.3),
            )
        )
    answers = kernels.search_many(requests)
    assert len(answers) == len(requests)
    for request, (rows, scores) in zip(requests, answers, strict=True):
        columns, query, tokens, top_k, now, min_score, after, before, mask, recent = request
        wanted = kernels.search(
            columns,
            query,
            tokens,
            top_k=top_k,
            now=now,
            min_score=min_score,
            created_after=after,
            created_before=before,
            mask=mask,
            recent=recent,
        )
        assert rows.tolist() == wanted[0].tolist()
        assert scores.tobytes() == wanted[1].tobytes()
    assert kernels.search_many([]) == []


def test_a_batch_is_refused_as_a_whole() -> None:
    rng = np.random.default_rng(12)
    columns = make_columns(rng, units(rng, (5, 8)))
    good = kernels.Request(columns, units(rng, (8,)), None, 3, NOW, None, None, None, None, False)
    for bad, message in (
        (good._replace(query=units(rng, (9,))), "dimension"),
        (good._replace(top_k=0), "top_k=0"),
        (good._replace(mask=np.ones(4, np.uint8)), "mask"),
        (good._replace(query_tokens=np.arange(600, dtype=np.uint32)), "query tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            kernels.search_many([good, bad])
    with pytest.raises(TypeError):
        kernels.search_many([good, good._replace(query=good.query.astype(np.float64))])


def test_the_facade_refuses_what_does_not_fit() -> None:
    rng = np.random.default_rng(10)
    columns = make_columns(rng, units(rng, (5, 8)))
    query = units(rng, (8,))
    with pytest.raises(ValueError, match="dimension 8"):
        kernels.search(columns, units(rng, (9,)), None, top_k=5, now=NOW)
    with pytest.raises(ValueError, match="dimension 8"):
        kernels.search(columns, units(rng, (1, 8)), None, top_k=5, now=NOW)
    with pytest.raises(ValueError, match="top_k=0"):
        kernels.search(columns, query, None, top_k=0, now=NOW)
    with pytest.raises(ValueError, match="mask"):
        kernels.search(columns, query, None, top_k=5, now=NOW, mask=np.ones(4, np.uint8))
    with pytest.raises(ValueError, match="query tokens"):
        kernels.search(columns, query, np.arange(600, dtype=np.uint32), top_k=5, now=NOW)
    with pytest.raises(TypeError):
        kernels.search(columns, query.astype(np.float64), None, top_k=5, now=NOW)
    with pytest.raises(TypeError):
        kernels.search(columns, np.repeat(query, 2)[::2], None, top_k=5, now=NOW)
    with pytest.raises(ValueError, match=r"rows 3\.\.9"):
        kernels.code_rows(columns.vectors, 3, 9, columns.codes, columns.rows)


def test_more_than_a_scratch_full() -> None:
    rng = np.random.default_rng(11)
    columns = make_columns(rng, dyadic(rng, (5_000, 8)))
    query = dyadic(rng, (8,))
    rows, _ = kernels.search(columns, query, None, top_k=4_000, now=NOW)
    assert rows.tolist() == reference.search(columns, query, None, top_k=4_000, now=NOW)[0].tolist()
