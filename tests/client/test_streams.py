"""Streams and pages."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest

import memlane
from memlane import ChatDelta, ChatDone, Context, Search
from memlane.v1 import (
    compliance_service_pb2,
    context_service_pb2,
    error_reason_pb2,
    memory_pb2,
    memory_service_pb2,
)
from tests.client.callers import Caller
from tests.client.scripted_server import ScriptedServer, answer, hang


def echo_search(request: Any, context: grpc.ServicerContext) -> Any:
    """The query as the found memory, or an error for an empty user."""
    response = memory_service_pb2.StreamSearchMemoriesResponse(correlation_id=request.correlation_id)
    if not request.search.user_id:
        response.status.code = grpc.StatusCode.INVALID_ARGUMENT.value[0]
        response.status.reason = error_reason_pb2.ERROR_REASON_INVALID_FIELD
    else:
        found = memory_pb2.ScoredMemory(memory=memory_pb2.Memory(content=request.search.query), score=0.5)
        response.response.results.append(found)
    return response


def test_a_search_stream_answers_each_in_order_and_survives_errors(
    caller: Caller, server: ScriptedServer
) -> None:
    server.then("StreamSearchMemories", *[echo_search] * 3)
    searches = [
        Search("c-1", "孩子几岁", correlation_id="甲"),
        Search("", "no one", correlation_id="乙"),
        Search("c-2", "travel ✈️", correlation_id="丙"),
    ]
    outcomes = caller.collect("stream_search_memories", searches)
    assert [o.correlation_id for o in outcomes] == ["甲", "乙", "丙"]
    assert outcomes[0].unwrap()[0].memory.content == "孩子几岁"
    assert isinstance(outcomes[1].error, memlane.InvalidArgument) and outcomes[1].result is None
    with pytest.raises(memlane.InvalidArgument):
        outcomes[1].unwrap()
    assert outcomes[2].unwrap()[0].memory.content == "travel ✈️"


def test_an_error_of_the_callers_searches_comes_after_the_answers(
    caller: Caller, server: ScriptedServer
) -> None:
    server.then("StreamSearchMemories", echo_search)

    def searches() -> Iterator[Search]:
        yield Search("c-1", "q")
        raise KeyError("customer")

    got: list[Any] = []
    with pytest.raises(KeyError, match="customer"):
        caller.collect("stream_search_memories", searches(), into=got)
    assert [o.unwrap()[0].memory.content for o in got] == ["q"]


def test_each_answer_can_lead_to_the_next_search(server: ScriptedServer) -> None:
    server.then("StreamSearchMemories", *[echo_search] * 3)

    async def dialogue() -> list[str]:
        questions: asyncio.Queue[str | None] = asyncio.Queue()

        async def searches() -> AsyncIterator[Search]:
            while (question := await questions.get()) is not None:
                yield Search("c-1", question)

        heard: list[str] = []
        await questions.put("一")
        async with (
            memlane.AsyncClient(server.target) as client,
            client.stream_search_memories(searches()) as outcomes,
        ):
            async for outcome in outcomes:
                heard.append(outcome.unwrap()[0].memory.content)
                await questions.put(heard[-1] + "又" if len(heard) < 3 else None)
        return heard

    assert asyncio.run(dialogue()) == ["一", "一又", "一又又"]


def test_a_blocking_client_refuses_an_asynchronous_iterator(server: ScriptedServer) -> None:
    async def searches() -> AsyncIterator[Search]:
        yield Search("c-1", "q")

    with memlane.Client(server.target) as client, pytest.raises(TypeError, match="AsyncClient"):
        client.stream_search_memories(searches())  # type: ignore[arg-type]


def test_chat_gives_context_deltas_and_the_end(caller: Caller, server: ScriptedServer) -> None:
    event = context_service_pb2.ChatResponse
    memory = memory_pb2.ScoredMemory(memory=memory_pb2.Memory(content="两个孩子"), score=0.9)
    built = context_service_pb2.BuildContextResponse(
        system_prompt="【用户历史信息】",
        memories=[memory],
        messages=[memory_pb2.Message(role=memory_pb2.ROLE_ASSISTANT, content="在")],
    )
    done = context_service_pb2.ChatDone(
        message=memory_pb2.Message(role=memory_pb2.ROLE_ASSISTANT, content="您好 👋"),
        finish_reason=context_service_pb2.FINISH_REASON_STOP,
        model="m",
    )
    server.then(
        "Chat", answer([event(context=built), event(delta="您"), event(delta="好 👋"), event(done=done)])
    )
    first, *deltas, last = caller.collect("chat", "c-1", "s-1", "你好")
    assert isinstance(first, Context) and first.memories[0].memory.content == "两个孩子"
    assert first.chat_messages() == [
        {"role": "system", "content": "【用户历史信息】"},
        {"role": "assistant", "content": "在"},
    ]
    assert deltas == [ChatDelta("您"), ChatDelta("好 👋")]
    assert isinstance(last, ChatDone) and last.message.content == "".join(d.delta for d in deltas)
    assert last.finish_reason == "STOP"


def test_an_export_gives_each_record_as_its_own_kind(caller: Caller, server: ScriptedServer) -> None:
    record = compliance_service_pb2.ExportUserResponse
    summary = compliance_service_pb2.ExportSummary(memory_count=1)
    message = compliance_service_pb2.ExportedMessage(
        session_id="s-1", message=memory_pb2.Message(role=memory_pb2.ROLE_USER, content="嗨")
    )
    server.then(
        "ExportUser",
        answer(
            [
                record(memory=memory_pb2.Memory(content="预算")),
                record(revision=memory_pb2.MemoryRevision(action=memory_pb2.ACTION_EXPIRE)),
                record(message=message),
                record(ingestion=compliance_service_pb2.ExportedIngestion(state="DONE")),
                record(audit_event=compliance_service_pb2.AuditEvent(action="EXPORT")),
                record(summary=summary),
            ]
        ),
    )
    records = caller.collect("export_user", "c-1", operator="o", reason="r")
    assert [type(r).__name__ for r in records] == [
        "Memory",
        "MemoryRevision",
        "ExportedMessage",
        "ExportedIngestion",
        "AuditEvent",
        "ExportSummary",
    ]
    assert records[1].action is memlane.Action.EXPIRE and records[2].message.role == "USER"


def test_iterate_walks_through_all_pages(caller: Caller, server: ScriptedServer) -> None:
    page = memory_service_pb2.ListMemoriesResponse
    memories = [memory_pb2.Memory(content=text) for text in ("一", "二", "three")]
    server.then(
        "ListMemories",
        answer(page(memories=memories[:2], next_page_token="p2")),
        answer(page(next_page_token="p3")),
        answer(page(memories=memories[2:])),
    )
    walked = caller.walk("list_memories", "c-1", page_size=2)
    assert [m.content for m in walked] == ["一", "二", "three"]
    first, *later = server.requests("ListMemories")
    assert [r.page_token for r in later] == ["p2", "p3"]
    for request in later:
        request.page_token = ""
        assert request == first


def test_leaving_a_stream_cancels_the_call(server: ScriptedServer) -> None:
    told = threading.Event()

    def endless(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        assert context.add_callback(told.set)
        yield context_service_pb2.ChatResponse(delta="…")
        hang(request, context)

    server.then("Chat", endless)
    with memlane.Client(server.target) as client, client.chat("c-1", "s-1", "你好") as events:
        assert next(events) == ChatDelta("…")
    assert told.wait(10)


def test_cancelling_a_task_cancels_the_call(server: ScriptedServer) -> None:
    begun, told = threading.Event(), threading.Event()

    def slow(request: Any, context: grpc.ServicerContext) -> Any:
        assert context.add_callback(told.set)
        begun.set()
        return hang(request, context)

    server.then("Remember", slow)

    async def cancel() -> None:
        async with memlane.AsyncClient(server.target) as client:
            task = asyncio.ensure_future(client.remember("c-1", facts=["x"]))
            assert await asyncio.to_thread(begun.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancel())
    assert told.wait(10)
