"""Deadlines, tries, request ids: what the client does by itself when the world is not well."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import grpc
import pytest

import memlane
from memlane import RetryPolicy, Timeouts
from memlane.v1 import compliance_service_pb2, context_service_pb2, memory_pb2, memory_service_pb2
from tests.client.callers import Caller
from tests.client.scripted_server import ScriptedServer, answer, failure, hang, unavailable

Connect = Callable[..., Caller]

CREATED = memory_service_pb2.CreateMemoryResponse(memory=memory_pb2.Memory(content="她有三个孩子 👶"))
DONE = context_service_pb2.ChatResponse(
    done=context_service_pb2.ChatDone(
        message=memory_pb2.Message(role=memory_pb2.ROLE_ASSISTANT, content="好的")
    )
)


def test_a_read_is_tried_again_until_the_server_is_back(caller: Caller, server: ScriptedServer) -> None:
    server.then("SearchMemories", unavailable(), unavailable("NOT_READY"), unavailable("SHUTTING_DOWN"))
    assert len(caller.call("search_memories", "c-1", "孩子")) == 0
    assert len(server.requests("SearchMemories")) == 4


def test_tries_are_bounded_and_the_last_error_is_raised(caller: Caller, server: ScriptedServer) -> None:
    server.then("GetMemory", *[unavailable()] * 3, unavailable("STORE_UNAVAILABLE"))
    with pytest.raises(memlane.Unavailable) as raised:
        caller.call("get_memory", "c-1", "m-1")
    assert raised.value.reason == "STORE_UNAVAILABLE"
    assert len(server.requests("GetMemory")) == 4


def test_max_attempts_of_one_never_tries_again(connect: Connect, server: ScriptedServer) -> None:
    server.then("GetMemory", unavailable())
    with pytest.raises(memlane.Unavailable):
        connect(retry=RetryPolicy(max_attempts=1)).call("get_memory", "c-1", "m-1")
    assert len(server.requests("GetMemory")) == 1


def test_a_write_is_tried_again_with_the_same_request(caller: Caller, server: ScriptedServer) -> None:
    server.then("CreateMemory", unavailable("JOURNAL_UNAVAILABLE"), unavailable(), answer(CREATED))
    written = caller.call("create_memory", "c-1", "她有三个孩子 👶", ttl=timedelta(days=1))
    assert written.memory.content == "她有三个孩子 👶"
    first, *others = server.requests("CreateMemory")
    assert first.request_id and others == [first, first]


def test_a_write_without_a_request_id_is_not_tried_again(caller: Caller, server: ScriptedServer) -> None:
    server.then("CreateMemory", unavailable())
    with pytest.raises(memlane.Unavailable):
        caller.call("create_memory", "c-1", "x", request_id="")
    assert [r.request_id for r in server.requests("CreateMemory")] == [""]


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNKNOWN,
    ],
)
def test_other_errors_are_raised_at_once(
    caller: Caller, server: ScriptedServer, code: grpc.StatusCode
) -> None:
    server.then("CreateMemory", failure(code))
    with pytest.raises(memlane.MemlaneError) as raised:
        caller.call("create_memory", "c-1", "x")
    assert raised.value.code is code
    assert len(server.requests("CreateMemory")) == 1


def test_exhaustion_is_tried_again_where_the_server_says_when(caller: Caller, server: ScriptedServer) -> None:
    server.then(
        "Remember",
        failure(
            grpc.StatusCode.RESOURCE_EXHAUSTED, "MODEL_THROTTLED", retry_after=timedelta(milliseconds=20)
        ),
    )
    assert caller.call("remember", "c-1", [("user", "我搬到上海了")]).operations == ()
    first, second = server.requests("Remember")
    assert first == second


def test_a_pause_longer_than_the_deadline_is_not_begun(caller: Caller, server: ScriptedServer) -> None:
    server.then(
        "Remember",
        failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "BACKLOG_FULL", retry_after=timedelta(hours=1)),
    )
    with pytest.raises(memlane.ResourceExhausted) as raised:
        caller.call("remember", "c-1", facts=["x"])
    assert raised.value.retry_after == timedelta(hours=1)
    assert len(server.requests("Remember")) == 1


def test_all_tries_share_one_deadline(connect: Connect, server: ScriptedServer) -> None:
    server.then("GetMemory", unavailable(), unavailable(), hang)
    even = RetryPolicy(initial_backoff_seconds=0.2, multiplier=1.0)
    with pytest.raises(memlane.DeadlineExceeded):
        connect(retry=even).call("get_memory", "c-1", "m-1", timeout=2.0)
    first, second, third = [call.seconds_left or 0.0 for call in server.seen]
    # A pause has at least half of its length; what the network adds only takes more time away.
    assert first < 2.05 and second < 1.95 and third < 1.85


def test_a_backoff_longer_than_the_deadline_raises_the_error_itself(
    connect: Connect, server: ScriptedServer
) -> None:
    server.then("GetMemory", unavailable("NOT_READY"))
    slow = RetryPolicy(initial_backoff_seconds=60.0, max_backoff_seconds=60.0)
    with pytest.raises(memlane.Unavailable) as raised:
        connect(retry=slow).call("get_memory", "c-1", "m-1", timeout=5.0)
    assert raised.value.reason == "NOT_READY"


def test_a_lost_write_tells_its_request_id(caller: Caller, server: ScriptedServer) -> None:
    server.then("CreateMemory", hang)
    with pytest.raises(memlane.DeadlineExceeded) as raised:
        caller.call("create_memory", "c-1", "x", timeout=0.2)
    assert raised.value.request_id == server.requests("CreateMemory")[0].request_id != ""


@pytest.mark.parametrize(
    ("method", "arguments", "most"),
    [
        ("search_memories", ("c-1", "q"), 5.0),
        ("build_context", ("c-1", "q"), 5.0),
        ("create_memory", ("c-1", "x"), 15.0),
        ("remember", ("c-1", [("user", "x")]), 120.0),
        ("end_session", ("c-1", "s-1"), 120.0),
        ("verify_audit_log", (), 600.0),
    ],
)
def test_every_call_has_a_deadline(
    caller: Caller, server: ScriptedServer, method: str, arguments: tuple[Any, ...], most: float
) -> None:
    caller.call(method, *arguments)
    left = server.seen[-1].seconds_left
    assert left is not None and most * 0.4 < left < most * 1.01 + 0.5  # gRPC rounds long timeouts up


def test_deadlines_can_be_chosen(connect: Connect, server: ScriptedServer) -> None:
    caller = connect(timeouts=Timeouts(read_seconds=50.0, write_seconds=float("inf")))
    caller.call("get_memory", "c-1", "m-1")
    caller.call("get_memory", "c-1", "m-1", timeout=9.0)
    caller.call("create_memory", "c-1", "x")
    read, told, write = [call.seconds_left for call in server.seen]
    assert read is not None and 40.0 < read < 51.5
    assert told is not None and 5.0 < told < 9.5
    assert write is None


def test_request_ids_differ_and_the_callers_own_is_kept(caller: Caller, server: ScriptedServer) -> None:
    caller.call("create_memory", "c-1", "同样的话")
    caller.call("create_memory", "c-1", "同样的话")
    caller.call("create_memory", "c-1", "同样的话", request_id="订单-7")
    first, second, own = [r.request_id for r in server.requests("CreateMemory")]
    assert len({first, second, own}) == 3 and own == "订单-7"


def test_a_stream_begins_anew_only_before_its_first_message(caller: Caller, server: ScriptedServer) -> None:
    server.then("Chat", unavailable(), answer([DONE]))
    (done,) = caller.collect("chat", "c-1", "s-1", "你好")
    assert done.message.content == "好的"
    first, second = server.requests("Chat")
    assert first == second and first.request_id

    delta = context_service_pb2.ChatResponse(delta="半句")
    server.then("Chat", failure(grpc.StatusCode.UNAVAILABLE, "MODEL_UNAVAILABLE", after=[delta]))
    got: list[Any] = []
    with pytest.raises(memlane.Unavailable) as raised:
        caller.collect("chat", "c-1", "s-1", "你好", into=got)
    assert [event.delta for event in got] == ["半句"]
    assert raised.value.request_id == server.requests("Chat")[-1].request_id
    assert len(server.requests("Chat")) == 3


def test_an_export_without_its_summary_is_an_error(caller: Caller, server: ScriptedServer) -> None:
    memory = compliance_service_pb2.ExportUserResponse(memory=memory_pb2.Memory(content="预算 50 万元"))
    server.then("ExportUser", answer([memory]))
    got: list[Any] = []
    with pytest.raises(memlane.Internal, match="ExportSummary"):
        caller.collect("export_user", "c-1", operator="o", reason="客户要求", into=got)
    assert [record.content for record in got] == ["预算 50 万元"]
