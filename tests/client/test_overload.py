"""CANCELLED that nobody asked for: how the transport of an overloaded server refuses a call that it does not read."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

import memlane
from memlane import ChatDelta, Search, _async
from memlane._async import _Ending
from memlane.v1 import context_service_pb2
from tests.client.callers import Caller
from tests.client.scripted_server import ScriptedServer, answer, failure, hang
from tests.support.forked_server import running_forked_server

CALLS = 2000
AT_ONCE = 64
CALL_SECONDS = 60.0
PAYLOAD = "突发 burst".encode()
DELTA = context_service_pb2.ChatResponse(delta="半句")

refused = failure(grpc.StatusCode.CANCELLED, message="")


def assert_too_busy(error: BaseException) -> None:
    assert type(error) is memlane.ResourceExhausted
    assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert str(error) == "OVERLOADED: the server was too busy to read the call: try it again after a pause"
    assert error.retry_after is None
    wire: Any = error.__cause__
    assert isinstance(wire, grpc.RpcError) and wire.code() is grpc.StatusCode.CANCELLED


@pytest.mark.parametrize("method", ["get_memory", "create_memory"])
def test_a_refused_call_is_an_overload_and_not_tried_again(
    caller: Caller, server: ScriptedServer, method: str
) -> None:
    rpc = {"get_memory": "GetMemory", "create_memory": "CreateMemory"}[method]
    server.then(rpc, refused)
    with pytest.raises(memlane.ResourceExhausted) as raised:
        caller.call(method, "c-1", "有三个孩子")
    assert_too_busy(raised.value)
    (sent,) = server.requests(rpc)
    assert raised.value.request_id == getattr(sent, "request_id", "")


def test_a_refused_stream_is_an_overload(caller: Caller, server: ScriptedServer) -> None:
    server.then("Chat", refused)
    with pytest.raises(memlane.ResourceExhausted) as raised:
        caller.collect("chat", "c-1", "s-1", "你好")
    assert_too_busy(raised.value)
    (sent,) = server.requests("Chat")
    assert raised.value.request_id == sent.request_id != ""

    server.then("StreamSearchMemories", refused)
    with pytest.raises(memlane.ResourceExhausted) as raised:
        caller.collect("stream_search_memories", [Search("c-1", "孩子几岁")])
    assert_too_busy(raised.value)


def test_a_stream_that_is_cut_off_was_read(caller: Caller, server: ScriptedServer) -> None:
    server.then("Chat", failure(grpc.StatusCode.CANCELLED, message="cut off", after=[DELTA]))
    got: list[Any] = []
    with pytest.raises(memlane.Cancelled, match="cut off"):
        caller.collect("chat", "c-1", "s-1", "你好", into=got)
    assert got == [ChatDelta("半句")]


def test_a_cancellation_with_a_reason_is_the_servers_own_word(caller: Caller, server: ScriptedServer) -> None:
    server.then("GetMemory", failure(grpc.StatusCode.CANCELLED, "CANCELLED", message="told"))
    with pytest.raises(memlane.Cancelled) as raised:
        caller.call("get_memory", "c-1", "m-1")
    assert (raised.value.code, raised.value.reason) == (grpc.StatusCode.CANCELLED, "CANCELLED")


OWN_WORD = (grpc.StatusCode.INTERNAL, "Internal error from Core", ())
"""What grpc.aio says where a write fails because the call is over."""
REFUSED = (grpc.StatusCode.CANCELLED, "CANCELLED", ())
DENIED = (grpc.StatusCode.PERMISSION_DENIED, "no", (("grpc-status-details-bin", b"x"),))


class EndedCall:
    """A call of grpc.aio whose status is set more than once."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Any], None]] = []

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks.append(callback)

    def end(self, status: tuple[grpc.StatusCode, str, tuple[Any, ...]]) -> None:
        self._status = status
        for callback in self._callbacks:
            callback(self)

    def failure(self) -> grpc.aio.AioRpcError:
        code, details, trailing = self._status
        return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailing), details)

    async def code(self) -> grpc.StatusCode:
        return self._status[0]

    async def details(self) -> str:
        return self._status[1]

    async def trailing_metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata(*self._status[2])

    async def initial_metadata(self) -> grpc.aio.Metadata:
        return grpc.aio.Metadata()


@pytest.mark.parametrize("status", [REFUSED, DENIED], ids=["refused", "denied"])
@pytest.mark.parametrize("own_word_last", [True, False])
def test_a_failed_write_does_not_hide_the_servers_status(
    status: tuple[grpc.StatusCode, str, tuple[Any, ...]], own_word_last: bool
) -> None:
    async def told() -> grpc.aio.AioRpcError:
        call = EndedCall()
        ending = _Ending(call)
        first, last = (status, OWN_WORD) if own_word_last else (OWN_WORD, status)
        call.end(first)
        if own_word_last:
            call.end(last)
            return await ending.told(call.failure())
        failure = call.failure()
        asyncio.get_running_loop().call_soon(call.end, last)
        return await ending.told(failure)

    error = asyncio.run(told())
    assert (error.code(), error.details(), tuple(error.trailing_metadata())) == status


def test_a_failure_of_grpc_itself_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_async, "_STATUS_SECONDS", 0.001)

    async def told() -> tuple[Any, Any]:
        call = EndedCall()
        ending = _Ending(call)
        call.end(OWN_WORD)
        failure = call.failure()
        return failure, await ending.told(failure)

    failure, error = asyncio.run(told())
    assert error is failure


def test_closing_the_client_cancels_what_is_under_way(server: ScriptedServer) -> None:
    begun = threading.Event()

    def slow(request: Any, context: grpc.ServicerContext) -> Any:
        begun.set()
        return hang(request, context)

    server.then("GetMemory", slow)
    client = memlane.Client(server.target)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.get_memory, "c-1", "m-1", timeout=CALL_SECONDS)
        assert begun.wait(CALL_SECONDS)
        client.close()
        error = waiting.exception(CALL_SECONDS)
    assert type(error) is memlane.Cancelled and error.code is grpc.StatusCode.CANCELLED


def test_closing_a_stream_cancels_it(server: ScriptedServer) -> None:
    def silent(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        hang(request, context)
        yield DELTA

    server.then("Chat", silent)
    with memlane.Client(server.target) as client:
        events = client.chat("c-1", "s-1", "你好")
        events.close()
        with pytest.raises(memlane.Cancelled):
            next(events)


def test_a_cancelled_task_stays_cancelled(server: ScriptedServer) -> None:
    begun = threading.Event()

    def silent(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        begun.set()
        hang(request, context)
        yield DELTA

    server.then("Chat", silent)

    async def cancel() -> None:
        async with memlane.AsyncClient(server.target) as client:
            events = client.chat("c-1", "s-1", "你好")
            reading = asyncio.ensure_future(anext(events))
            assert await asyncio.to_thread(begun.wait, CALL_SECONDS)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading

    asyncio.run(cancel())


def test_an_answer_after_a_refusal(caller: Caller, server: ScriptedServer) -> None:
    """The refusal leaves nothing behind: the same client is answered as before."""
    server.then("Chat", refused, answer([context_service_pb2.ChatResponse(done={})]))
    with pytest.raises(memlane.ResourceExhausted):
        caller.collect("chat", "c-1", "s-1", "你好")
    assert len(caller.collect("chat", "c-1", "s-1", "你好")) == 1


Flood = Callable[[str], tuple[list[Any], Any]]


def flood_by_threads(target: str) -> tuple[list[Any], Any]:
    """Outcomes of many calls at once, half of them streams, and of one when they are over."""

    def one(number: int) -> Any:
        try:
            if number % 2:
                return client.echo(PAYLOAD, timeout=CALL_SECONDS)
            return list(client.stream_search_memories([Search("c-1", "孩子")], timeout=CALL_SECONDS))
        except memlane.MemlaneError as error:
            return error

    with memlane.Client(target) as client, ThreadPoolExecutor(AT_ONCE) as threads:
        outcomes = list(threads.map(one, range(CALLS)))
        return outcomes, client.echo(PAYLOAD, timeout=CALL_SECONDS)


def flood_by_tasks(target: str) -> tuple[list[Any], Any]:
    async def run() -> tuple[list[Any], Any]:
        async with memlane.AsyncClient(target) as client:

            async def one(number: int) -> Any:
                if number % 2:
                    return await client.echo(PAYLOAD, timeout=CALL_SECONDS)
                stream = client.stream_search_memories([Search("c-1", "孩子")], timeout=CALL_SECONDS)
                return [outcome async for outcome in stream]

            outcomes = await asyncio.gather(*map(one, range(CALLS)), return_exceptions=True)
            return outcomes, await client.echo(PAYLOAD, timeout=CALL_SECONDS)

    return asyncio.run(run())


@pytest.mark.parametrize("flood", [flood_by_threads, flood_by_tasks], ids=["sync", "async"])
def test_a_flood_meets_answers_and_overloads_only(tmp_path: Path, flood: Flood) -> None:
    with running_forked_server(tmp_path / "data", {"MEMLANE_SERVER__MAX_WAITING_CALLS": "2"}) as server:
        outcomes, afterwards = flood(server.address)
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    kinds = Counter(
        (number % 2, isinstance(outcome, BaseException)) for number, outcome in enumerate(outcomes)
    )
    assert (
        kinds.total() == CALLS and min(kinds[even, failed] for even in (0, 1) for failed in (False, True)) > 0
    )
    for error in failures:
        assert_too_busy(error)
    assert afterwards == PAYLOAD
