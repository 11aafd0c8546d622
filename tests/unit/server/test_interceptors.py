"""What every call passes through, on a real socket, around small servicers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from memlane.v1 import diagnostics_service_pb2 as pb
from memlane_core.domain import limits
from memlane_core.domain.errors import Exhausted, MemlaneError, NotFound, Unauthenticated
from memlane_core.services.call import Call
from memlane_server.health import HealthBoard, HealthServicer
from memlane_server.interceptors import Edge, Lane, server_stream, unary
from memlane_server.limiter import Limiter
from memlane_server.permissions import Permission, Reach
from memlane_server.principal import Caller, Principal, single
from memlane_server.streams import MAX_IN_FLIGHT, Admit, bidi

Method = Callable[[pb.EchoRequest, Call], Awaitable[Any]]
OPEN = Permission(Reach.OPEN)
TELLER = Principal("bank", "teller")


async def echo(request: pb.EchoRequest, call: Call) -> pb.EchoResponse:
    return pb.EchoResponse(payload=request.payload)


class Server:
    """One method of each kind, behind the edge."""

    def __init__(
        self,
        *,
        method: Any = echo,
        limit: int | None = None,
        seconds: float = 30.0,
        ready: bool = True,
        permission: Permission = OPEN,
        principal: Principal = TELLER,
        caller: Caller | None = None,
        limiter: Limiter | None = None,
    ) -> None:
        self.board = HealthBoard()
        self.ended: list[tuple[str, str]] = []
        self.edge = Edge(
            self.board,
            caller or single(principal),
            lambda path, status, _: self.ended.append((path, status)),
            permissions=dict.fromkeys(("/t/Unary", "/t/Stream", "/t/Bidi"), permission),
            limiter=limiter,
        )
        self.lane = Lane("test", limit, seconds)
        self.method = method
        if ready:
            self.board.set_ready()

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[grpc.aio.Channel]:
        server = grpc.aio.server(options=[("grpc.max_receive_message_length", 8 * 2**20)])
        handlers = {
            "Unary": unary(self.edge, self.lane, "/t/Unary", pb.EchoRequest, self.method),
            "Stream": server_stream(self.edge, self.lane, "/t/Stream", pb.EchoRequest, self.method),
            "Bidi": bidi(
                self.edge, Lane("stream", None, 30.0), self.lane, "/t/Bidi", pb.EchoRequest, self.method,
                waits=lambda request: request.payload.startswith(b"wait"),
            ),
        }  # fmt: skip
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t", handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                yield channel
        finally:
            await server.stop(None)


def request(payload: bytes = b"x") -> bytes:
    return pb.EchoRequest(payload=payload).SerializeToString()


async def failure(call: Awaitable[Any]) -> tuple[str, str, str]:
    """Status, reason and text of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    trailers = dict(caught.value.trailing_metadata() or ())
    info = error_details_pb2.ErrorInfo()
    if details := trailers.get("grpc-status-details-bin"):
        status_pb2.Status.FromString(details).details[0].Unpack(info)
    return caught.value.code().name, info.reason, caught.value.details() or ""


async def test_a_call_knows_its_principal_and_the_time_that_is_left() -> None:
    async def method(request: pb.EchoRequest, call: Call) -> pb.EchoResponse:
        assert (call.tenant, call.actor) == ("bank", "teller")
        return pb.EchoResponse(payload=f"{call.deadline.remaining_seconds():.0f}".encode())

    server = Server(method=method, seconds=77.0)
    async with server.channel() as channel:
        ask = channel.unary_unary("/t/Unary", response_deserializer=pb.EchoResponse.FromString)
        assert (await ask(request())).payload == b"77"
        assert (await ask(request(), timeout=9)).payload == b"9"
    assert server.ended == [("/t/Unary", "OK")] * 2


async def test_a_servicer_may_answer_in_bytes() -> None:
    async def method(request: pb.EchoRequest, call: Call) -> bytes:
        return b"as it is"

    async with Server(method=method).channel() as channel:
        assert await channel.unary_unary("/t/Unary")(request()) == b"as it is"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\xff", "INVALID_FIELD"),
        (request(b"x" * limits.MAX_REQUEST_MESSAGE_BYTES), "MESSAGE_TOO_LARGE"),
        (b"x" * 5_000_000, "MESSAGE_TOO_LARGE"),
    ],
)
async def test_what_cannot_be_read_is_the_callers_mistake(raw: bytes, reason: str) -> None:
    async with Server().channel() as channel:
        for path in ("/t/Unary", "/t/Stream"):
            kind = channel.unary_unary if path.endswith("Unary") else channel.unary_stream
            call = kind(path)(raw)
            code, found, _ = await failure(call if path.endswith("Unary") else anext(aiter(call)))
            assert (code, found) == ("INVALID_ARGUMENT", reason)
        assert await channel.unary_unary("/t/Unary")(request()) == request()


async def test_errors_are_mapped_and_unforeseen_ones_tell_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def method(request: pb.EchoRequest, call: Call) -> pb.EchoResponse:
        if request.payload == b"known":
            raise NotFound("memory", "记忆")
        raise RuntimeError("客户张三的密码")

    async with Server(method=method).channel() as channel:
        ask = channel.unary_unary("/t/Unary")
        assert (await failure(ask(request(b"known"))))[:2] == ("NOT_FOUND", "NOT_FOUND")
        code, reason, text = await failure(ask(request()))
    assert (code, reason) == ("INTERNAL", "INTERNAL")
    assert "张三" not in text and text.startswith("internal error; correlation id ")
    assert [r.correlation_id for r in caplog.records if hasattr(r, "correlation_id")] == [text.split()[-1]]


async def test_a_full_lane_refuses_at_once_and_empties_again() -> None:
    gate, inside = asyncio.Event(), asyncio.Semaphore(0)

    async def method(request: pb.EchoRequest, call: Call) -> pb.EchoResponse:
        inside.release()
        await gate.wait()
        return pb.EchoResponse()

    server = Server(method=method, limit=2)
    async with server.channel() as channel:
        ask = channel.unary_unary("/t/Unary")
        running = [asyncio.ensure_future(ask(request())) for _ in range(2)]
        for _ in running:
            await inside.acquire()
        assert (await failure(ask(request())))[:2] == ("RESOURCE_EXHAUSTED", "OVERLOADED")
        gate.set()
        await asyncio.gather(*running)
        await ask(request())
    assert server.lane.running == 0


async def test_a_cancelled_call_stops_working_and_leaves_its_lane() -> None:
    inside, stopped = asyncio.Event(), asyncio.Event()

    async def method(request: pb.EchoRequest, call: Call) -> pb.EchoResponse:
        inside.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return pb.EchoResponse()

    server = Server(method=method, limit=1)
    async with server.channel() as channel:
        ask = channel.unary_unary("/t/Unary")
        call = ask(request())
        await inside.wait()
        call.cancel()
        async with asyncio.timeout(5):
            await stopped.wait()
        stopped.clear()
        assert (await failure(ask(request(), timeout=0.1)))[0] == "DEADLINE_EXCEEDED"
        async with asyncio.timeout(5):
            await stopped.wait()
    assert server.lane.running == 0 and server.ended == [("/t/Unary", "CANCELLED")] * 2


async def test_a_call_without_deadline_gets_one() -> None:
    async def method(request: pb.EchoRequest, call: Call) -> pb.EchoResponse:
        await asyncio.Event().wait()
        return pb.EchoResponse()

    async with Server(method=method, seconds=0.05).channel() as channel:
        code, reason, _ = await failure(channel.unary_unary("/t/Unary")(request()))
        assert (code, reason) == ("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED")


async def test_before_it_is_ready_and_while_it_drains_nothing_is_done() -> None:
    server = Server(ready=False)
    async with server.channel() as channel:
        ask = channel.unary_unary("/t/Unary")
        assert (await failure(ask(request())))[:2] == ("UNAVAILABLE", "NOT_READY")
        server.board.set_ready()
        await ask(request())
        server.board.set_not_serving("vector store")
        await ask(request())
        server.edge.draining.set()
        assert (await failure(ask(request())))[:2] == ("UNAVAILABLE", "SHUTTING_DOWN")


async def test_a_server_stream_that_fails_says_so_after_what_it_sent() -> None:
    async def method(request: pb.EchoRequest, call: Call) -> AsyncIterator[pb.EchoResponse]:
        yield pb.EchoResponse(payload=b"1")
        raise NotFound("memory", "m")

    async with Server(method=method).channel() as channel:
        stream = aiter(channel.unary_stream("/t/Stream")(request()))
        assert await anext(stream) == request(b"1")
        assert (await failure(anext(stream)))[:2] == ("NOT_FOUND", "NOT_FOUND")


class Counter:
    """A limiter that writes down who is inside, and refuses one user."""

    def __init__(self) -> None:
        self.inside: list[tuple[str, str, str]] = []
        self.entered = 0

    def enter(self, principal: Principal, path: str, user_id: str, weight: int = 1) -> None:
        if principal.actor == "greedy":
            raise Exhausted("too much")
        self.entered += 1
        self.inside.append((principal.tenant, path, user_id))

    def leave(self, principal: Principal, path: str, user_id: str) -> None:
        self.inside.remove((principal.tenant, path, user_id))

    def open_stream(self, principal: Principal) -> None:
        self.inside.append((principal.tenant, "stream", ""))

    def close_stream(self, principal: Principal) -> None:
        self.inside.remove((principal.tenant, "stream", ""))


class TestPermission:
    PATHS = ("/t/Unary", "/t/Stream", "/t/Bidi")

    @staticmethod
    async def ask(channel: grpc.aio.Channel, path: str, raw: bytes = request()) -> bytes:
        if path == "/t/Unary":
            return bytes(await channel.unary_unary(path)(raw))
        if path == "/t/Stream":
            return bytes(await anext(aiter(channel.unary_stream(path)(raw))))
        return bytes(await anext(aiter(channel.stream_stream(path)(iter([raw])))))

    @staticmethod
    async def any_kind(request: pb.EchoRequest, call: Any) -> pb.EchoResponse:
        with call() if callable(call) else nullcontext():
            return pb.EchoResponse(payload=request.payload)

    @classmethod
    async def streamed(cls, request: pb.EchoRequest, call: Call) -> AsyncIterator[pb.EchoResponse]:
        yield await cls.any_kind(request, call)

    @pytest.mark.parametrize("path", PATHS)
    async def test_without_the_scope_the_method_is_not_reached(self, path: str) -> None:
        called: list[Any] = []

        async def method(request: pb.EchoRequest, call: Any) -> pb.EchoResponse:
            called.append(request)
            return await self.any_kind(request, call)

        server = Server(
            method=method,
            permission=Permission(Reach.OPEN, (frozenset(("compliance",)),)),
            principal=Principal("bank", "teller", scopes=frozenset(("memory:read",))),
            limiter=(limiter := Counter()),
        )
        async with server.channel() as channel:
            code, reason, text = await failure(self.ask(channel, path))
        assert (code, reason) == ("PERMISSION_DENIED", "SCOPE_MISSING")
        assert text == "the credential lacks the scope compliance"
        assert limiter.entered == server.lane.running == 0
        # A method of a stream is told of the request and asks itself whether it may go on.
        assert len(called) == (path == "/t/Bidi")

    @pytest.mark.parametrize("path", PATHS)
    async def test_who_is_not_known_is_refused_before_the_request_is_read(self, path: str) -> None:
        def nobody(context: Any) -> Principal:
            raise Unauthenticated("no credential")

        server = Server(method=self.streamed if path == "/t/Stream" else self.any_kind, caller=nobody)
        async with server.channel() as channel:
            failed = await failure(self.ask(channel, path, b"\xff"))
        assert failed == ("UNAUTHENTICATED", "UNAUTHENTICATED", "no credential")

    @pytest.mark.parametrize("path", PATHS)
    async def test_a_limiter_is_entered_and_left_once_for_each_request(self, path: str) -> None:
        limiter = Counter()
        server = Server(method=self.streamed if path == "/t/Stream" else self.any_kind, limiter=limiter)
        async with server.channel() as channel:
            for _ in range(3):
                assert await self.ask(channel, path) == request()
            # The answer of a stream may be with the client before its place is given back.
            for _ in range(3000):
                if limiter.inside:
                    await asyncio.sleep(0.01)
        assert limiter.entered == 3 and not limiter.inside

    @pytest.mark.parametrize("path", PATHS)
    async def test_what_a_limiter_refuses_is_not_done(self, path: str) -> None:
        limiter = Counter()
        server = Server(method=self.any_kind, principal=Principal("bank", "greedy"), limiter=limiter)
        async with server.channel() as channel:
            assert (await failure(self.ask(channel, path)))[:2] == ("RESOURCE_EXHAUSTED", "EXHAUSTED")
        assert limiter.entered == server.lane.running == 0

    def test_an_rpc_that_nobody_spoke_for_cannot_be_served(self) -> None:
        edge = Edge(HealthBoard(), single(TELLER))
        with pytest.raises(KeyError):
            edge.gate(Lane("test", None, 1.0), "/memlane.v1.MemoryService/Unheard")


class TestBidi:
    async def test_answers_keep_the_order_of_the_requests_while_they_overlap(self) -> None:
        started: list[bytes] = []
        last = asyncio.Event()

        async def method(request: pb.EchoRequest, admit: Admit) -> pb.EchoResponse:
            with admit():
                started.append(request.payload)
                if request.payload == b"wait last":
                    last.set()
                await last.wait()
                return pb.EchoResponse(payload=request.payload)

        sent = [b"wait %d" % i for i in range(10)] + [b"x", b"wait last"]
        async with Server(method=method).channel() as channel:
            async with asyncio.timeout(10):
                stream = channel.stream_stream("/t/Bidi")(iter([request(p) for p in sent]))
                assert [m async for m in stream] == [request(p) for p in sent]
        assert started == sent

    async def test_no_more_than_a_bounded_number_is_under_way(self) -> None:
        running = most = 0

        async def method(request: pb.EchoRequest, admit: Admit) -> pb.EchoResponse:
            nonlocal running, most
            running += 1
            most = max(most, running)
            for _ in range(3):
                await asyncio.sleep(0)
            running -= 1
            return pb.EchoResponse(payload=request.payload)

        sent = [request(b"wait %d" % i) for i in range(10 * MAX_IN_FLIGHT)]
        async with Server(method=method).channel() as channel:
            assert [m async for m in channel.stream_stream("/t/Bidi")(iter(sent))] == sent
        assert most <= MAX_IN_FLIGHT

    async def test_each_request_is_counted_and_may_be_refused_alone(self) -> None:
        async def method(request: pb.EchoRequest, admit: Admit) -> pb.EchoResponse:
            try:
                with admit() as call:
                    return pb.EchoResponse(payload=call.tenant.encode())
            except MemlaneError as error:
                return pb.EchoResponse(payload=error.reason.encode())

        server = Server(method=method, limit=1)
        async with server.channel() as channel:
            stream = channel.stream_stream("/t/Bidi")()
            await stream.write(request())
            assert await stream.read() == request(b"bank")
            server.lane.enter()
            await stream.write(request())
            assert await stream.read() == request(b"OVERLOADED")
            server.lane.leave()
            await stream.write(request())
            assert await stream.read() == request(b"bank")
            await stream.done_writing()
            assert await stream.read() is grpc.aio.EOF
        assert server.lane.running == 0

    async def test_an_idle_stream_ends_when_the_server_drains(self) -> None:
        async def method(request: pb.EchoRequest, admit: Admit) -> pb.EchoResponse:
            return pb.EchoResponse(payload=request.payload)

        server = Server(method=method)
        async with server.channel() as channel:
            stream = channel.stream_stream("/t/Bidi")()
            await stream.write(request())
            assert await stream.read() == request()
            server.edge.draining.set()
            async with asyncio.timeout(5):
                assert (await failure(stream.read()))[:2] == ("UNAVAILABLE", "SHUTTING_DOWN")

    async def test_what_is_under_way_is_answered_before_the_server_goes(self) -> None:
        inside, gate = asyncio.Event(), asyncio.Event()

        async def method(request: pb.EchoRequest, admit: Admit) -> pb.EchoResponse:
            inside.set()
            await gate.wait()
            return pb.EchoResponse(payload=request.payload)

        server = Server(method=method)
        async with server.channel() as channel:
            stream = channel.stream_stream("/t/Bidi")()
            await stream.write(request(b"wait"))
            await inside.wait()
            server.edge.draining.set()
            gate.set()
            async with asyncio.timeout(5):
                assert await stream.read() == request(b"wait")
                assert (await failure(stream.read()))[:2] == ("UNAVAILABLE", "SHUTTING_DOWN")


async def test_health_follows_the_board() -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    board = HealthBoard()
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(HealthServicer(board), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)

            async def status(service: str) -> str:
                answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
                return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))

            watch = aiter(stub.Watch(health_pb2.HealthCheckRequest(service="memlane.v1.MemoryService")))
            assert (await anext(watch)).status == health_pb2.HealthCheckResponse.NOT_SERVING
            assert await status("") == await status("memlane.v1.RuleService") == "NOT_SERVING"
            board.set_ready()
            assert (await anext(watch)).status == health_pb2.HealthCheckResponse.SERVING
            assert await status("memlane.v1.ContextService") == "SERVING"
            board.set_not_serving("vector store")
            assert (await anext(watch)).status == health_pb2.HealthCheckResponse.NOT_SERVING
            board.set_ready()
            board.shut_down()
            board.set_ready()
            assert await status("") == "NOT_SERVING"
            assert (await failure(anext(watch)))[0] == "UNAVAILABLE"
            assert (await failure(stub.Check(health_pb2.HealthCheckRequest(service="x"))))[0] == "NOT_FOUND"
    finally:
        await server.stop(None)
