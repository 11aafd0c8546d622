"""Searches by a vector that stands somewhere in a message give what searches by an array give."""

import numpy as np
import pytest
from numpy.typing import NDArray

from memlane_core import kernels
from memlane_core.kernels.fused import CODED_MIN_ELEMENTS

from .blocks import NOW, make_columns, units

SIZES = [(0, 8), (1, 1), (5, 3), (9, 17), (64, 130), (CODED_MIN_ELEMENTS // 512 + 3, 512)]


def message(*vectors: NDArray[np.float32], before: bytes = b"") -> bytes:
    return before + b"".join(v.astype("<f4").tobytes() for v in vectors)


def expected(columns: kernels.Columns, query: NDArray[np.float32], top_k: int) -> kernels.Best:
    rows, scores = kernels.search(columns, query, None, top_k=top_k, now=NOW)
    return tuple(rows.tolist()), tuple(scores[:, 0].tolist())


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("misaligned", range(4))
def test_a_unit_vector_at_any_place(n: int, d: int, misaligned: int) -> None:
    rng = np.random.default_rng(n + d)
    columns = make_columns(rng, units(rng, (n, d)))
    for top_k in (1, 5, 100):
        query = units(rng, (d,))
        raw = message(query, before=b"\xff" * misaligned)
        assert kernels.search_raw(columns, raw, misaligned, top_k=top_k, now=NOW) == expected(
            columns, query, top_k
        )


@pytest.mark.parametrize("length", [1e-9, 0.5, 3.0, 1e12])
def test_a_vector_of_another_length_is_brought_to_one(length: float) -> None:
    rng = np.random.default_rng(1)
    columns = make_columns(rng, units(rng, (40, 16)))
    query = units(rng, (16,)) * np.float32(length)
    norm = np.float32(1 / np.sqrt(kernels.squared_norm(query)))
    assert kernels.search_raw(columns, message(query), 0, top_k=5, now=NOW) == expected(
        columns, query * norm, 5
    )


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, -np.inf, 3e38, 1e-30])
def test_what_float32_cannot_scale_is_left_to_others(value: float) -> None:
    rng = np.random.default_rng(2)
    columns = make_columns(rng, units(rng, (4, 8)))
    raw = message(np.full(8, value, np.float32))
    assert kernels.search_raw(columns, raw, 0, top_k=2, now=NOW) is None
    good = message(units(rng, (8,)), np.full(8, value, np.float32))
    both = [kernels.RawRequest(columns, 0, 2), kernels.RawRequest(columns, 32, 2)]
    assert kernels.search_raw_many(both, good, now=NOW) is None
    assert kernels.search_raw_many(both[:1], good, now=NOW) is not None


def test_many_are_each_of_them() -> None:
    rng = np.random.default_rng(3)
    blocks = [make_columns(rng, units(rng, (n, 33))) for n in (0, 1, 7, 300)]
    queries = units(rng, (20, 33))
    raw = message(*queries, before=b"head")
    requests = [
        kernels.RawRequest(blocks[i % len(blocks)], 4 + i * 33 * 4, 1 + i % 9) for i in range(len(queries))
    ]
    singles = [kernels.search_raw(r.columns, raw, r.offset, top_k=r.top_k, now=NOW) for r in requests]
    assert kernels.search_raw_many(requests, raw, now=NOW) == singles
    assert any(single is not None and single[0] for single in singles)
    assert kernels.search_raw_many([], raw, now=NOW) == []


@pytest.mark.parametrize("count", range(1, 11))
def test_many_of_one_block_that_is_read_as_codes(count: int) -> None:
    rng = np.random.default_rng(5)
    n = CODED_MIN_ELEMENTS // 512 + 3
    block, small = make_columns(rng, units(rng, (n, 512))), make_columns(rng, units(rng, (3, 512)))
    assert block.worth_coding
    assert not small.worth_coding
    queries = units(rng, (count + 1, 512)) * np.float32(3.0)
    raw = message(*queries, before=b"x")
    requests = [kernels.RawRequest(block, 1 + i * 2048, 1 + i) for i in range(count)]
    requests.append(kernels.RawRequest(small, 1 + count * 2048, 2))
    singles = [kernels.search_raw(r.columns, raw, r.offset, top_k=r.top_k, now=NOW) for r in requests]
    assert kernels.search_raw_many(requests, raw, now=NOW) == singles


@pytest.mark.parametrize("offset", [-1, 1, 32])
def test_a_vector_that_does_not_fit_its_message(offset: int) -> None:
    rng = np.random.default_rng(4)
    columns = make_columns(rng, units(rng, (4, 8)))
    raw = message(units(rng, (8,)))
    with pytest.raises(ValueError, match="32 bytes"):
        kernels.search_raw(columns, raw, offset, top_k=1, now=NOW)
    with pytest.raises(ValueError, match="32 bytes"):
        kernels.search_raw_many([kernels.RawRequest(columns, offset, 1)], raw, now=NOW)
    with pytest.raises(ValueError, match="top_k"):
        kernels.search_raw(columns, raw, 0, top_k=0, now=NOW)
