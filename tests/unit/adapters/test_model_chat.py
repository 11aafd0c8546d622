"""Streamed answers over real HTTP."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing

import pytest

from memlane_core.adapters.openai import ChatClient, OpenAIChatModel
from memlane_core.adapters.openai.reasoning import ReasoningFilter
from memlane_core.domain.conversation import Message, Role
from memlane_core.domain.errors import (
    DeadlineExceeded,
    ModelAnswerUnusable,
    ModelThrottled,
    ModelUnavailable,
)
from memlane_core.ports.chat_model import ChatDelta, ChatEnd, ChatPrompt, FinishReason, TokenUsage

from .model_cases import scripted, unchanged
from .model_server import Fails, Hangs, Resets, Streams, delta

MESSAGES = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "我的额度是多少？"))
USAGE = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-1", "choices": [],
         "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}  # fmt: skip
STOP = delta(None, finish_reason="stop")


async def ask(client: ChatClient, prompt: ChatPrompt | None = None) -> tuple[str, ChatEnd]:
    pieces: list[str] = []
    end: ChatEnd | None = None
    async for event in OpenAIChatModel(client, redact=unchanged).stream(prompt or ChatPrompt(MESSAGES)):
        assert end is None
        if isinstance(event, ChatDelta):
            assert event.text
            pieces.append(event.text)
        else:
            end = event
    assert end is not None
    return "".join(pieces), end


async def test_deltas_then_the_end_with_usage() -> None:
    async with scripted() as (server, client):
        server.will(Streams(["您的", "额度是", " 5,000 元。", STOP, USAGE]))
        text, end = await ask(client)
        assert text == "您的额度是 5,000 元。"
        assert end == ChatEnd(FinishReason.STOP, TokenUsage(7, 2, 9), "scripted-1")
        body = server.asked[0].body
        assert body["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "我的额度是多少？"},
        ]
        assert body["stream"] is True and body["stream_options"] == {"include_usage": True}
        assert "response_format" not in body


async def test_options_of_the_prompt_win_over_the_settings() -> None:
    async with scripted() as (server, client):
        server.will(Streams(["ok", STOP]))
        prompt = ChatPrompt(
            MESSAGES, model="other", temperature=0.7, top_p=0.9, max_output_tokens=5, stop=("\n",)
        )
        await ask(client, prompt)
        body = server.asked[0].body
        wanted = {"model": "other", "temperature": 0.7, "top_p": 0.9, "max_tokens": 5, "stop": ["\n"]}
        assert {k: body[k] for k in wanted} == wanted


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("tool_calls", FinishReason.UNKNOWN),
    ],
)
async def test_finish_reasons(sent: str, reason: FinishReason) -> None:
    async with scripted() as (server, client):
        server.will(Streams(["cut", delta(None, finish_reason=sent)]))
        assert (await ask(client))[1].finish_reason is reason


async def test_thoughts_are_not_part_of_the_answer() -> None:
    async with scripted() as (server, client):
        thought = delta(None, reasoning_content="secret thought")
        server.will(
            Streams([thought, "<thi", "nk>secret", " plan</th", "ink>\n\nHi", " <think> stays", STOP])
        )
        assert (await ask(client))[0] == "Hi <think> stays"


async def test_failures_before_the_first_piece_are_retried() -> None:
    async with scripted() as (server, client):
        server.will(Fails(503, {}), Resets(), Streams(["ok", STOP]))
        assert (await ask(client))[0] == "ok"
        assert len(server.asked) == 3


async def test_no_retry_after_the_first_piece() -> None:
    async with scripted() as (server, client):
        server.will(Streams(["half an"], then="break"))
        with pytest.raises(ModelUnavailable) as raised:
            await ask(client)
        assert len(server.asked) == 1
        assert raised.value.__context__ is None


async def test_an_error_event_is_an_error() -> None:
    async with scripted() as (server, client):
        server.will(Streams(["half", {"error": {"message": "my words", "code": "overloaded"}}]))
        with pytest.raises(ModelUnavailable) as raised:
            await ask(client)
        assert "my words" not in str(raised.value)


async def test_a_stream_that_just_stops_is_not_a_whole_answer() -> None:
    async with scripted() as (server, client):
        server.will(Streams(["half an answer"]))
        with pytest.raises(ModelUnavailable, match="broke off"):
            await ask(client)


@pytest.mark.parametrize("events", [[STOP], [delta(""), STOP], ["<think>only thoughts", STOP], [" \n", STOP]])
async def test_an_empty_answer_is_an_error(events: Sequence[object]) -> None:
    async with scripted() as (server, client):
        server.will(Streams(events))
        with pytest.raises(ModelAnswerUnusable):
            await ask(client)


async def test_throttling_is_told() -> None:
    async with scripted() as (server, client):
        server.will(Fails(429, {}, {"Retry-After": "60"}))
        with pytest.raises(ModelThrottled):
            await ask(client, ChatPrompt(MESSAGES, timeout_seconds=2))


@pytest.mark.parametrize("fault", [Hangs(), Streams(["first"], then="hang")], ids=["silent", "midway"])
async def test_the_deadline_ends_the_request(fault: Hangs | Streams) -> None:
    async with scripted() as (server, client):
        server.will(fault)
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            await ask(client, ChatPrompt(MESSAGES, timeout_seconds=0.3))
        assert time.monotonic() - started < 1.3
        await asyncio.wait_for(server.asked[0].gone.wait(), 5)


async def test_cancelling_the_consumer_closes_the_request() -> None:
    async with scripted() as (server, client):
        server.will(Streams(["first"], then="hang"))
        arrived = asyncio.Event()

        async def consume() -> None:
            async with aclosing(
                OpenAIChatModel(client, redact=unchanged).stream(ChatPrompt(MESSAGES))
            ) as events:
                async for _ in events:
                    arrived.set()

        task = asyncio.create_task(consume())
        await asyncio.wait_for(arrived.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.asked[0].gone.wait(), 5)


async def test_closing_early_closes_the_request() -> None:
    async with scripted() as (server, client):
        server.will(Streams(["first"], then="hang"))
        async with aclosing(OpenAIChatModel(client, redact=unchanged).stream(ChatPrompt(MESSAGES))) as events:
            assert await anext(events) == ChatDelta("first")
        await asyncio.wait_for(server.asked[0].gone.wait(), 5)


async def test_a_server_without_stream_options_is_asked_without() -> None:
    async with scripted() as (server, client):
        server.will(
            Fails(400, {"error": {"message": "Unrecognized request argument: stream_options"}}),
            Streams(["ok", STOP]),
        )
        text, end = await ask(client)
        assert text == "ok" and end.usage == TokenUsage()
        await ask(client)
        assert ["stream_options" in a.body for a in server.asked] == [True, False, False]


async def test_secrets_are_cut_from_the_prompt() -> None:
    async with scripted() as (server, client):
        server.will(Streams(["ok", STOP]))
        model = OpenAIChatModel(client, redact=lambda t: t.replace("额度", "…"))
        assert model.model == "m"
        events = [event async for event in model.stream(ChatPrompt(MESSAGES))]
        assert events[0] == ChatDelta("ok")
        assert "额度" not in str(server.asked[0].body)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("plain", "plain"),
        ("  plain ", "plain "),
        ("<b>bold</b>", "<b>bold</b>"),
        ("<", "<"),
        ("<thinking>a</thinking><think>b</think> c", "c"),
        ("<think>a < b </think>c", "c"),
        ("<think never ends", ""),
        ("a <think>b</think>", "a <think>b</think>"),
    ],
)
def test_reasoning_filter_in_pieces_of_any_size(answer: str, shown: str) -> None:
    for size in range(1, len(answer) + 1):
        reasoning = ReasoningFilter()
        pieces = [reasoning.feed(answer[i : i + size]) for i in range(0, len(answer), size)]
        assert "".join(pieces) + reasoning.finish() == shown, size
