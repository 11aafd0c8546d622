"""The scripted model server does what its replies say, over real HTTP."""

import http.client
import json
import time
from typing import Any

import numpy as np
import openai
import pytest

from tests.support.openai_stub import (
    After,
    Chat,
    Drip,
    Embeddings,
    Hang,
    OpenAIStub,
    Raw,
    Request,
    Reset,
    Status,
    Throttled,
    vector_of,
)
from tests.support.openai_stub.fixtures import openai_stub

__all__ = ["openai_stub"]

TEXTS = ["我住在上海", "I live in Shanghai", "👍"]


def _client(stub: OpenAIStub, timeout_seconds: float = 5.0) -> openai.OpenAI:
    return openai.OpenAI(base_url=stub.base_url, api_key="key", max_retries=0, timeout=timeout_seconds)


def _ask(client: openai.OpenAI, **options: Any) -> Any:
    messages: Any = [{"role": "user", "content": "我对花生过敏"}]
    return client.chat.completions.create(model="m", messages=messages, **options)


def test_chat_answers_in_the_order_of_the_script_and_records_requests(openai_stub: OpenAIStub) -> None:
    openai_stub.chat.will(Chat("第一"), Chat("second", finish_reason="length"))
    with _client(openai_stub) as client:
        first, second = _ask(client), _ask(client)
    assert first.choices[0].message.content == "第一"
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == ("second", "length")
    request = openai_stub.chat.requests[0]
    assert request.json["messages"][0]["content"] == "我对花生过敏"
    assert request.headers["authorization"] == "Bearer key"
    assert openai_stub.chat.left == 0


def test_a_stream_comes_in_pieces_and_can_break_off(openai_stub: OpenAIStub) -> None:
    text = "您住在上海，likes tea"
    openai_stub.chat.will(Chat(text), Chat(text, end_stream=False))
    with _client(openai_stub) as client:
        chunks = list(_ask(client, stream=True, stream_options={"include_usage": True}))
        contents = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
        assert len(contents) > 1 and "".join(contents) == text
        assert chunks[-1].usage.total_tokens == 12
        with pytest.raises(openai.APIConnectionError):
            list(_ask(client, stream=True))


def test_embeddings_depend_on_the_text_and_carry_their_index(openai_stub: OpenAIStub) -> None:
    openai_stub.embeddings.will(Embeddings(shuffled=True), Embeddings(missing=1))
    with _client(openai_stub) as client:
        shuffled = client.embeddings.create(model="m", input=TEXTS).data
        assert [item.index for item in shuffled] == [2, 1, 0]
        for item in shuffled:
            np.testing.assert_allclose(item.embedding, vector_of(TEXTS[item.index], 8), atol=1e-6)
        assert len(client.embeddings.create(model="m", input=TEXTS).data) == 2
        as_numbers = client.embeddings.create(
            model="m", input=TEXTS[:1], encoding_format="float", dimensions=3
        )
        assert as_numbers.data[0].embedding == pytest.approx(vector_of(TEXTS[0], 3))


def test_errors_carry_status_and_headers(openai_stub: OpenAIStub) -> None:
    openai_stub.embeddings.will(Throttled(retry_after_seconds=2), Status(401), Embeddings(max_input_chars=10))
    with _client(openai_stub) as client:
        with pytest.raises(openai.RateLimitError) as throttled:
            client.embeddings.create(model="m", input="x")
        assert throttled.value.response.headers["retry-after"] == "2"
        with pytest.raises(openai.AuthenticationError):
            client.embeddings.create(model="m", input="x")
        with pytest.raises(openai.BadRequestError):
            client.embeddings.create(model="m", input="x" * 11)


def test_unscripted_chat_is_an_error(openai_stub: OpenAIStub) -> None:
    with _client(openai_stub) as client, pytest.raises(openai.InternalServerError):
        _ask(client)


def test_faults_of_the_connection(openai_stub: OpenAIStub) -> None:
    openai_stub.chat.will(Reset(), Hang(), Drip(Chat("slow")), Raw(b"<html>"))
    with _client(openai_stub, timeout_seconds=0.3) as client:
        with pytest.raises(openai.APIConnectionError):
            _ask(client)
        with pytest.raises(openai.APITimeoutError):
            _ask(client)
    # A drip of one byte a second keeps each single read within the client's timeout: it has to be left.
    connection = http.client.HTTPConnection(openai_stub.base_url.split("/")[2], timeout=5)
    connection.request("POST", "/v1/chat/completions", json.dumps({"model": "m", "messages": []}))
    assert connection.getresponse().read(1) == b"{"
    connection.close()
    for request in openai_stub.chat.wait_for_requests(3)[1:3]:
        assert request.gone.wait(5)


def test_replies_can_be_delayed_and_computed(openai_stub: OpenAIStub) -> None:
    def echo(request: Request) -> Chat:
        return Chat(request.json["messages"][-1]["content"])

    openai_stub.chat.will(After(0.2, echo))
    began = time.monotonic()
    with _client(openai_stub) as client:
        assert _ask(client).choices[0].message.content == "我对花生过敏"
    assert time.monotonic() - began >= 0.2


def test_closing_lets_go_of_clients_that_hang() -> None:
    stub = OpenAIStub().start()
    stub.chat.will(Hang())
    connection = http.client.HTTPConnection(stub.base_url.split("/")[2], timeout=5)
    connection.request("POST", "/v1/chat/completions", "{}")
    stub.chat.wait_for_requests(1)
    stub.close()
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        connection.getresponse()
