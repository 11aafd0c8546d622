"""The cache of query embeddings: what is kept, shared, forgotten and given up."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from memlane_core.domain.errors import DeadlineExceeded, ModelUnavailable
from memlane_core.ports.embedder import Vectors
from memlane_core.services.embedding_cache import CachingEmbedder

DIMENSION = 4


class GatedEmbedder:
    """Answers when its gate opens; every text has a vector of its own."""

    model = "gated-1"
    dimension = DIMENSION
    nomination_threshold = 0.5

    def __init__(self, *, open_gate: bool = True) -> None:
        self.gate = asyncio.Event()
        self.began = asyncio.Event()
        self.calls: list[tuple[str, ...]] = []
        self.timeouts: list[float | None] = []
        self.cancelled = asyncio.Event()
        self.failure: Exception | None = None
        if open_gate:
            self.gate.set()

    async def embed(self, texts: Sequence[str], *, timeout_seconds: float | None = None) -> Vectors:
        self.calls.append(tuple(texts))
        self.timeouts.append(timeout_seconds)
        self.began.set()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self.gate.wait()
        except TimeoutError:
            raise DeadlineExceeded("late") from None
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.failure is not None:
            raise self.failure
        return np.stack([vector_of(text) for text in texts])


def vector_of(text: str) -> np.ndarray:
    vector = np.random.default_rng(list(text.encode())).standard_normal(DIMENSION).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


async def test_a_query_is_embedded_once() -> None:
    inner = GatedEmbedder()
    cache = CachingEmbedder(inner, max_entries=10)
    first, first_cached, _ = await cache.embed_query("我的还款日是哪天")
    second, second_cached, _ = await cache.embed_query("我的还款日是哪天")
    assert (first_cached, second_cached) == (False, True)
    assert np.array_equal(first, vector_of("我的还款日是哪天")) and second is first
    assert inner.calls == [("我的还款日是哪天",)]
    assert (cache.hits, cache.misses, len(cache)) == (1, 1, 1)


async def test_the_vector_is_ready_for_the_kernel_and_cannot_be_spoilt() -> None:
    vector, _, _ = await CachingEmbedder(GatedEmbedder(), max_entries=1).embed_query("q")
    assert vector.dtype == np.float32 and vector.shape == (DIMENSION,) and vector.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 0.0


async def test_the_least_recently_used_query_goes_first() -> None:
    inner = GatedEmbedder()
    cache = CachingEmbedder(inner, max_entries=2)
    for text in ("a", "b", "a", "c"):
        await cache.embed_query(text)
    assert [(await cache.embed_query(text))[1] for text in ("a", "c", "b")] == [True, True, False]


async def test_without_entries_nothing_is_kept() -> None:
    cache = CachingEmbedder(GatedEmbedder(), max_entries=0)
    await cache.embed_query("a")
    assert len(cache) == 0 and not (await cache.embed_query("a"))[1]
    with pytest.raises(ValueError, match="max_entries"):
        CachingEmbedder(GatedEmbedder(), max_entries=-1)


async def test_equal_concurrent_queries_share_one_flight() -> None:
    inner = GatedEmbedder(open_gate=False)
    cache = CachingEmbedder(inner, max_entries=10)
    tasks = [asyncio.create_task(cache.embed_query("same")) for _ in range(20)]
    other = asyncio.create_task(cache.embed_query("other"))
    await inner.began.wait()
    inner.gate.set()
    answers = await asyncio.gather(*tasks)
    assert sorted(inner.calls) == [("other",), ("same",)]
    assert all(vector is answers[0][0] and not cached for vector, cached, _ in answers)
    assert np.array_equal((await other)[0], vector_of("other"))


async def test_a_failure_reaches_all_who_wait_and_is_not_kept() -> None:
    inner = GatedEmbedder(open_gate=False)
    inner.failure = ModelUnavailable("down")
    cache = CachingEmbedder(inner, max_entries=10)
    tasks = [asyncio.create_task(cache.embed_query("q")) for _ in range(3)]
    await inner.began.wait()
    inner.gate.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(answer) for answer in answers] == [ModelUnavailable] * 3 and len(inner.calls) == 1
    inner.failure = None
    assert not (await cache.embed_query("q"))[1] and len(inner.calls) == 2


async def test_a_caller_that_leaves_does_not_take_the_vector_from_the_others() -> None:
    inner = GatedEmbedder(open_gate=False)
    cache = CachingEmbedder(inner, max_entries=10)
    leader, follower = (asyncio.create_task(cache.embed_query("q")) for _ in range(2))
    await inner.began.wait()
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    inner.gate.set()
    assert np.array_equal((await follower)[0], vector_of("q"))
    assert not inner.cancelled.is_set() and len(inner.calls) == 1


async def test_b46_the_work_ends_when_nobody_waits_any_more() -> None:
    inner = GatedEmbedder(open_gate=False)
    cache = CachingEmbedder(inner, max_entries=10)
    tasks = [asyncio.create_task(cache.embed_query("q")) for _ in range(2)]
    await inner.began.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.wait_for(inner.cancelled.wait(), 5)
    # Who comes next starts anew and does not meet the cancelled flight.
    inner.gate.set()
    assert not (await cache.embed_query("q"))[1]


async def test_each_caller_waits_for_its_own_time() -> None:
    inner = GatedEmbedder(open_gate=False)
    cache = CachingEmbedder(inner, max_entries=10)
    patient = asyncio.create_task(cache.embed_query("q", timeout_seconds=30))
    await inner.began.wait()
    with pytest.raises(DeadlineExceeded):
        await cache.embed_query("q", timeout_seconds=0.01)
    inner.gate.set()
    assert np.array_equal((await patient)[0], vector_of("q")) and len(inner.calls) == 1


async def test_a_patient_caller_outlives_a_hasty_leader() -> None:
    inner = GatedEmbedder(open_gate=False)
    cache = CachingEmbedder(inner, max_entries=10)
    hasty = asyncio.create_task(cache.embed_query("q", timeout_seconds=0.05))
    await inner.began.wait()
    patient = asyncio.create_task(cache.embed_query("q", timeout_seconds=30))
    with pytest.raises(DeadlineExceeded):
        await hasty
    inner.gate.set()
    assert np.array_equal((await patient)[0], vector_of("q"))


@pytest.mark.parametrize("seconds", [0.0, -1.0])
async def test_no_work_begins_once_the_time_is_over(seconds: float) -> None:
    inner = GatedEmbedder()
    cache = CachingEmbedder(inner, max_entries=10)
    with pytest.raises(DeadlineExceeded):
        await cache.embed_query("q", timeout_seconds=seconds)
    assert inner.calls == []


async def test_b29_clear_forgets_also_what_is_being_embedded() -> None:
    inner = GatedEmbedder()
    cache = CachingEmbedder(inner, max_entries=10)
    await cache.embed_query("kept")
    inner.gate.clear()
    inner.began.clear()
    flying = asyncio.create_task(cache.embed_query("flying"))
    await inner.began.wait()
    cache.clear()
    inner.gate.set()
    assert np.array_equal((await flying)[0], vector_of("flying"))
    assert len(cache) == 0


async def test_texts_pass_through_in_batches_and_are_not_kept() -> None:
    inner = GatedEmbedder()
    cache = CachingEmbedder(inner, max_entries=1000)
    texts = [f"记忆 {number}" for number in range(150)]
    vectors = await cache.embed(texts, timeout_seconds=30)
    assert np.array_equal(vectors, np.stack([vector_of(text) for text in texts]))
    assert [len(call) for call in inner.calls] == [64, 64, 22] and len(cache) == 0
    assert all(seconds is not None and seconds <= 30 for seconds in inner.timeouts)
    assert (await cache.embed(texts[:3])).shape == (3, DIMENSION)
    assert (cache.model, cache.dimension, cache.nomination_threshold) == ("gated-1", DIMENSION, 0.5)
