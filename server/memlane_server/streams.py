"""Bidirectional streams: answers in the order of the requests, a bounded number of them under way."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import grpc
from google.protobuf.message import Message

from memlane_core.services.call import Call

from .errors import ShuttingDown
from .interceptors import Answer, Edge, Lane, Reader, parser, refuse, serialized, wire_error
from .principal import Principal, ServicerContext

MAX_IN_FLIGHT = 32
"""Requests of one stream that are worked on at once; more are not read, so the transport slows the client down."""
_HEAR_OUT_SECONDS = 0.5

Admit = Callable[[], AbstractContextManager[Call]]
"""Counts and checks the one request that it was made for, gives its scope. Raises as Edge.enter, Edge.caller and
Gate.enter do."""
Method = Callable[[Any, Admit], Awaitable[Answer]]


def bidi(
    edge: Edge,
    stream_lane: Lane,
    request_lane: Lane,
    path: str,
    request_type: type[Message],
    method: Method,
    waits: Callable[[Any], bool],
    reader: Reader | None = None,
) -> grpc.RpcMethodHandler:
    """`waits` tells of a request whether its answer may have to wait for something. One that does not is answered in
    place, which is faster than a task of its own; the others overlap."""
    parse = parser(request_type, reader)
    gate = edge.gate(request_lane, path)

    async def run(_: Any, context: ServicerContext) -> None:
        started = time.perf_counter()
        stream = _Stream(edge, context)
        opened: Principal | None = None

        try:
            edge.enter(stream_lane)
            try:
                # Who has no credential does not get to send; each request is checked again, as a token may expire.
                principal = edge.caller(context)
                if edge.limiter is not None:
                    edge.limiter.open_stream(principal)
                    opened = principal
                while (raw := await stream.read()) is not None:
                    request = parse(raw)
                    admit = partial(gate.admitted, context, request)
                    if waits(request) or stream.in_flight:
                        stream.start(method(request, admit))
                    else:
                        await context.write(serialized(await method(request, admit)))
                await stream.finish()
            finally:
                stream.close()
                if edge.limiter is not None and opened is not None:
                    edge.limiter.close_stream(opened)
                stream_lane.leave()
        except asyncio.CancelledError:
            edge.ended(path, "CANCELLED", started)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: nothing gets out but our own errors
            wire = wire_error(path, error)
        else:
            edge.ended(path, "OK", started)
            return
        edge.ended(path, wire.code.name, started)
        if wire.code is grpc.StatusCode.UNAUTHENTICATED:
            await _hear_out(context)
        await refuse(context, wire)

    return grpc.stream_stream_rpc_method_handler(run)


async def _hear_out(context: ServicerContext) -> None:
    """Take what a client is about to send, for a moment. Where a stream is refused while the client still writes,
    grpc's asyncio client tells of its failed write (INTERNAL) and not of the refusal."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_HEAR_OUT_SECONDS):
            while await context.read() is not grpc.aio.EOF:
                pass


class _Stream:
    """Reads requests while it writes the answers that are ready, oldest first."""

    def __init__(self, edge: Edge, context: ServicerContext) -> None:
        self._context = context
        self._draining = asyncio.ensure_future(edge.draining.wait())
        self._draining.add_done_callback(self._interrupt)
        self._idle: asyncio.Task[Any] | None = None
        """The task of the call, while it waits for nothing but the next request."""
        self._reading: asyncio.Future[Any] | None = None
        self._answers: deque[asyncio.Future[Answer]] = deque()

    @property
    def in_flight(self) -> int:
        return len(self._answers)

    def start(self, answer: Awaitable[Answer]) -> None:
        self._answers.append(asyncio.ensure_future(answer))

    async def read(self) -> bytes | None:
        """The next request; None after the client's half-close. Raises ShuttingDown when the server drains."""
        if self._draining.done():
            raise ShuttingDown("the server is shutting down")
        if not self._answers:
            return _request(await self._read_idle())
        self._reading = asyncio.ensure_future(self._context.read())
        while not self._reading.done() or len(self._answers) >= MAX_IN_FLIGHT:
            oldest = self._answers[0] if self._answers else None
            waiting = {self._draining, self._reading if len(self._answers) < MAX_IN_FLIGHT else None, oldest}
            await asyncio.wait([f for f in waiting if f is not None], return_when=asyncio.FIRST_COMPLETED)
            while self._answers and self._answers[0].done():
                await self._context.write(serialized(self._answers.popleft().result()))
            if self._draining.done() and not self._reading.done():
                await self.finish()
                raise ShuttingDown("the server is shutting down")
        return _request(self._reading.result())

    async def _read_idle(self) -> Any:
        """The next message, read without a task of its own: that is a good part of a short search."""
        self._idle = asyncio.current_task()
        try:
            return await self._context.read()
        except asyncio.CancelledError:
            if self._idle is None or not self._draining.done():
                raise
            self._idle.uncancel()
            raise ShuttingDown("the server is shutting down") from None
        finally:
            self._idle = None

    def _interrupt(self, draining: asyncio.Future[Any]) -> None:
        if self._idle is not None and not draining.cancelled():
            self._idle.cancel()

    async def finish(self) -> None:
        """Write the answers that are still under way."""
        while self._answers:
            await self._context.write(serialized(await self._answers.popleft()))

    def close(self) -> None:
        for waiting in (self._draining, self._reading, *self._answers):
            if waiting is not None:
                waiting.cancel()


def _request(raw: Any) -> bytes | None:
    """What was read; None for the client's half-close."""
    return None if raw is grpc.aio.EOF else raw
