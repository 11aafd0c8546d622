"""Embeddings from a server that may answer in any order, break, throttle or refuse, over real HTTP (B37, B39)."""

import asyncio
import base64
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from memlane_core.adapters.openai.calls import RetryPolicy
from memlane_core.adapters.openai_embedder import OpenAIEmbedder, prepare
from memlane_core.domain.errors import (
    DeadlineExceeded,
    MemlaneError,
    ModelThrottled,
    ModelUnavailable,
    NotConfigured,
)

from .model_server import Answer, Asked, Drips, Fails, Hangs, ModelServer, Resets, model_server

DIMENSION = 8
QUICK = RetryPolicy(max_attempts=3, first_delay_seconds=0.01, max_delay_seconds=0.02)
SECRET_ECHO = "我的密码是 abc12345"


def raw_vector(text: str) -> list[float]:
    """What the scripted model makes of a text: not of length 1."""
    values = np.random.default_rng(list(text.encode())).standard_normal(DIMENSION) * 3
    return [float(np.float32(value)) for value in values]


def unit(text: str) -> np.ndarray:
    vector = np.asarray(raw_vector(text), dtype=np.float32)
    return vector / np.linalg.norm(vector)


def item(index: object, values: Sequence[float], asked: Asked) -> dict[str, Any]:
    embedding: object = list(values)
    if asked.body.get("encoding_format") == "base64":
        embedding = base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()
    return {"object": "embedding", "index": index, "embedding": embedding}


def replies(*items: object) -> Fails:
    return Fails(200, {"object": "list", "model": "m", "data": list(items), "usage": {}})


def embeds(asked: Asked) -> Fails:
    return replies(*(item(at, raw_vector(text), asked) for at, text in enumerate(asked.body["input"])))


def refuses(message: str, status: int = 400) -> Fails:
    return Fails(status, {"error": {"message": message, "type": "invalid_request_error"}})


@asynccontextmanager
async def embedding_server(
    respond: Callable[[Asked], Answer] = embeds, **settings: Any
) -> AsyncIterator[tuple[ModelServer, OpenAIEmbedder]]:
    async with model_server() as server:
        server.respond = respond
        options = {"api_key": "sk-test", "model": "m", "dimension": DIMENSION, "timeout_seconds": 10.0}
        embedder = OpenAIEmbedder(base_url=server.base_url, retry=QUICK, **{**options, **settings})
        try:
            yield server, embedder
        finally:
            await embedder.close()


async def failure_of(embedder: OpenAIEmbedder, *texts: str, seconds: float | None = None) -> MemlaneError:
    with pytest.raises(MemlaneError) as raised:
        await embedder.embed(texts or ("我住在上海",), timeout_seconds=seconds)
    return raised.value


async def test_texts_become_unit_vectors_in_their_order() -> None:
    texts = ["我住在上海", "I live in Shanghai", "余额提醒 🙂"]
    async with embedding_server() as (server, embedder):
        vectors = await embedder.embed(texts)
    assert vectors.dtype == np.float32 and vectors.flags.c_contiguous
    assert np.allclose(vectors, np.stack([unit(text) for text in texts]), atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    [asked] = server.asked
    assert asked.body == {
        "input": texts, "model": "m", "dimensions": DIMENSION, "encoding_format": "base64"
    }  # fmt: skip
    assert asked.headers["authorization"] == "Bearer sk-test"


async def test_nothing_to_embed_asks_nobody() -> None:
    async with embedding_server() as (server, embedder):
        assert (await embedder.embed([])).shape == (0, DIMENSION)
        blank = await embedder.embed(["", "  \n", "\ud800"])
    assert server.asked == []
    assert np.array_equal(blank, np.eye(1, DIMENSION, dtype=np.float32).repeat(3, axis=0))


async def test_blank_texts_keep_their_place_among_others() -> None:
    async with embedding_server() as (server, embedder):
        vectors = await embedder.embed(["a", " ", "b\udfff"])
    assert server.asked[0].body["input"] == ["a", "b"]
    assert np.allclose(vectors[0], unit("a"), atol=1e-6) and np.allclose(vectors[2], unit("b"), atol=1e-6)
    assert vectors[1, 0] == 1.0


async def test_b37a_an_error_in_the_second_request_leaves_no_half_answer() -> None:
    def second_fails(asked: Asked) -> Answer:
        return refuses("no such thing", 500) if "second" in asked.body["input"] else embeds(asked)

    async with embedding_server(second_fails) as (server, embedder):
        long = "x" * 8000
        error = await failure_of(embedder, *[long] * 40, "second")
    assert isinstance(error, ModelUnavailable) and error.metadata["status"] == "500"
    assert len(server.asked) == 1 + QUICK.max_attempts


@pytest.mark.parametrize("shown", [0, 2, 4])
async def test_b37b_a_wrong_number_of_vectors_is_refused(shown: int) -> None:
    def some(asked: Asked) -> Answer:
        return replies(*(item(at, raw_vector(str(at)), asked) for at in range(shown)))

    async with embedding_server(some) as (_, embedder):
        error = await failure_of(embedder, "a", "b", "c")
    assert isinstance(error, ModelUnavailable) and f"{shown} vectors for 3 texts" in error.message


async def test_b37c_vectors_are_matched_by_index() -> None:
    def shuffled(asked: Asked) -> Answer:
        items = [item(at, raw_vector(text), asked) for at, text in enumerate(asked.body["input"])]
        return replies(*items[1:], items[0])

    texts = ["一", "二", "三", "four"]
    async with embedding_server(shuffled) as (_, embedder):
        vectors = await embedder.embed(texts)
    assert np.allclose(vectors, np.stack([unit(text) for text in texts]), atol=1e-6)


@pytest.mark.parametrize("places", [(0, 0), (1, 2), (None, None), ("0", "1"), (True, False)])
async def test_vectors_without_a_place_of_their_own_are_refused(places: tuple[object, object]) -> None:
    def respond(asked: Asked) -> Answer:
        return replies(*(item(place, raw_vector("x"), asked) for place in places))

    async with embedding_server(respond) as (_, embedder):
        assert "which text" in (await failure_of(embedder, "a", "b")).message


@pytest.mark.parametrize(
    ("embedding", "complaint"),
    [
        ([1.0] * 7, "7 dimensions, 8 are configured"),
        (base64.b64encode(b"\0" * 36).decode(), "9 dimensions"),
        ([1.0] * 7 + [1e39], "not finite"),
        (base64.b64encode(np.full(8, np.nan, "<f4").tobytes()).decode(), "not finite"),
        ([1.0] * 7 + [None], "not finite"),
        ("not base64!", "cannot be read"),
        (base64.b64encode(b"abc").decode(), "cannot be read"),
        ([[1.0] * 8], "cannot be read"),
        (None, "cannot be read"),
        ({"a": 1}, "cannot be read"),
    ],
)  # fmt: skip
async def test_a_vector_that_does_not_fit_is_refused(embedding: object, complaint: str) -> None:
    def respond(asked: Asked) -> Answer:
        return replies({"index": 0, "embedding": embedding})

    async with embedding_server(respond) as (_, embedder):
        error = await failure_of(embedder)
    assert isinstance(error, ModelUnavailable) and complaint in error.message


@pytest.mark.parametrize(
    "answer",
    [
        Fails(200, "<html>"),
        Fails(200, {"error": "x"}),
        Fails(200, "null"),
        Fails(200, {"data": 7}),
        Fails(200, {"data": ["x"]}),
        Fails(200, [1]),
    ],
)
async def test_an_answer_of_another_kind_is_refused(answer: Answer) -> None:
    async with embedding_server(lambda asked: answer) as (_, embedder):
        assert isinstance(await failure_of(embedder), ModelUnavailable)


async def test_a_vector_without_direction_and_a_huge_one_are_made_safe() -> None:
    def respond(asked: Asked) -> Answer:
        return replies(item(0, [0.0] * 8, asked), item(1, [3e38] * 8, asked))

    async with embedding_server(respond) as (_, embedder):
        vectors = await embedder.embed(["a", "b"])
    assert vectors[0].tolist() == [1.0, *[0.0] * 7]
    assert np.allclose(vectors[1], 8**-0.5)


async def test_a_server_without_the_optional_parts_is_asked_without_them() -> None:
    def plain(asked: Asked) -> Answer:
        if asked.body["encoding_format"] == "base64":
            return refuses("encoding_format base64 is not supported", 422)
        if "dimensions" in asked.body:
            return refuses("Model does not support matryoshka representation")
        return embeds(asked)

    async with embedding_server(plain) as (server, embedder):
        assert np.allclose((await embedder.embed(["a"]))[0], unit("a"), atol=1e-6)
        assert len(server.asked) == 3
        await embedder.embed(["b"])
        assert len(server.asked) == 4, "what was refused once is not tried again"


async def test_a_server_of_small_batches_is_learnt() -> None:
    def ten_at_most(asked: Asked) -> Answer:
        return embeds(asked) if len(asked.body["input"]) <= 10 else refuses("batch size is larger than 10")

    texts = [f"事实 {number}" for number in range(40)]
    async with embedding_server(ten_at_most) as (server, embedder):
        vectors = await embedder.embed(texts)
        assert np.allclose(vectors, np.stack([unit(text) for text in texts]), atol=1e-6)
        server.asked.clear()
        await embedder.embed(texts)
    assert [len(asked.body["input"]) for asked in server.asked] == [10] * 4


@pytest.mark.parametrize("refusal", [400, 413, 422])
async def test_one_over_long_text_does_not_fail_the_others(refusal: int) -> None:
    def short_only(asked: Asked) -> Answer:
        if any(len(text) > 300 for text in asked.body["input"]):
            return refuses(f"inputs must have less than 300 tokens: {SECRET_ECHO}", refusal)
        return embeds(asked)

    long = "长" * 1000
    async with embedding_server(short_only) as (server, embedder):
        vectors = await embedder.embed(["a", long, "b", "c"])
        assert np.allclose(vectors, np.stack([unit(t) for t in ("a", "长" * 250, "b", "c")]), atol=1e-6)
        server.asked.clear()
        await embedder.embed(["a", "b", "c", "d"])
    assert len(server.asked) == 1, "one long text does not make later batches smaller"


async def test_a_server_that_finds_everything_too_long_is_given_up() -> None:
    async with embedding_server(lambda asked: refuses("input is too long")) as (server, embedder):
        error = await failure_of(embedder, "长" * 1000)
    assert isinstance(error, ModelUnavailable) and len(server.asked) == 4


def test_texts_are_cut_on_a_character_border_within_what_models_read() -> None:
    assert len(prepare("长" * 5000)) == 8191 // 3
    assert prepare(" a\ud800b ") == "ab"
    assert len(prepare("🙂" * 3000).encode()) == 8188


async def test_long_lists_are_asked_for_in_requests_of_bounded_size() -> None:
    async with embedding_server() as (server, embedder):
        assert (await embedder.embed(["短"] * 600)).shape == (600, DIMENSION)
        assert [len(asked.body["input"]) for asked in server.asked] == [256, 256, 88]
        server.asked.clear()
        await embedder.embed(["x" * 8000] * 40)
        sizes = [sum(len(text) for text in asked.body["input"]) for asked in server.asked]
    assert sum(sizes) == 320_000 and max(sizes) <= 256 * 1024


@pytest.mark.parametrize("fault", [Hangs(), Drips()], ids=["a-hangs", "b-drips"])
async def test_b39_the_callers_time_and_the_own_one_bound_the_call(fault: Answer) -> None:
    async with embedding_server(lambda asked: fault, timeout_seconds=0.6) as (server, embedder):
        for seconds, expected in ((0.3, DeadlineExceeded), (5.0, ModelUnavailable)):
            started = time.monotonic()
            assert isinstance(await failure_of(embedder, seconds=seconds), expected)
            assert time.monotonic() - started < min(seconds, 0.6) + 1
        # Given up at the server too.
        await asyncio.wait_for(server.asked[0].gone.wait(), 5)


async def test_b39c_retry_after_is_waited_for() -> None:
    throttled = [Fails(429, {"error": {"message": "slow"}}, {"Retry-After": "1"})] * 2

    def respond(asked: Asked) -> Answer:
        return throttled.pop() if throttled else embeds(asked)

    async with embedding_server(respond) as (server, embedder):
        started = time.monotonic()
        assert np.allclose((await embedder.embed(["a"], timeout_seconds=5))[0], unit("a"), atol=1e-6)
        assert 1.9 < time.monotonic() - started < 4
    assert len(server.asked) == 3


async def test_b39d_a_server_that_throttles_for_ever_is_given_up() -> None:
    async with embedding_server(lambda asked: refuses("slow down", 429)) as (server, embedder):
        assert isinstance(await failure_of(embedder), ModelThrottled)
    assert len(server.asked) == QUICK.max_attempts


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_b39e_what_cannot_pass_is_not_tried_again(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with embedding_server(lambda asked: refuses(SECRET_ECHO, status)) as (server, embedder):
        error = await failure_of(embedder, SECRET_ECHO)
    assert isinstance(error, ModelUnavailable) and len(server.asked) == 1
    assert error.metadata["status"] == str(status)
    assert error.__context__ is None and "abc12345" not in str(error) + caplog.text


async def test_b39f_a_broken_connection_is_tried_again() -> None:
    broken: list[Answer] = [Resets()]

    def respond(asked: Asked) -> Answer:
        return broken.pop() if broken else embeds(asked)

    async with embedding_server(respond) as (_, embedder):
        assert np.allclose((await embedder.embed(["a"]))[0], unit("a"), atol=1e-6)


async def test_b46_no_request_begins_once_the_time_is_over() -> None:
    async with embedding_server() as (server, embedder):
        assert isinstance(await failure_of(embedder, seconds=0.0), DeadlineExceeded)
    assert server.asked == []


@pytest.mark.parametrize("missing", ["base_url", "model"])
def test_a_missing_setting_is_named(missing: str) -> None:
    settings = {"base_url": "http://127.0.0.1:1/v1", "model": "m", missing: ""}
    with pytest.raises(NotConfigured, match=missing):
        OpenAIEmbedder(api_key="", dimension=8, timeout_seconds=1, **settings)
