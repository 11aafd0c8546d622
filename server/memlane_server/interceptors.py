"""What every call passes through: readiness, lane, principal, size and decoding, permission, limits, deadline, errors.

It wraps each method when it is registered instead of running as grpc.aio interceptors: those cost an extra coroutine
and a handler object for each call, on the path that is measured against a null echo. Servicers thereby know neither
grpc nor encodings: they get a message (or what a reader made of its bytes) and a `Call`, and raise domain errors.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from memlane_core.domain import limits
from memlane_core.domain.errors import (
    DeadlineExceeded,
    FieldViolation,
    InvalidArgument,
    MemlaneError,
    NotReady,
    PermissionDenied,
)
from memlane_core.services.call import Call, Deadline

from .errors import DETAILS_KEY, Internal, MessageTooLarge, Overloaded, ShuttingDown, WireError, to_wire
from .health import HealthBoard
from .limiter import Limiter
from .permissions import PERMISSIONS, Permission, Reach
from .principal import Caller, OnDenied, Principal, ServicerContext

_log = logging.getLogger(__name__)

_RETRY_OVERLOADED_SECONDS = 0.5

T = TypeVar("T")
Answer = Message | bytes
"""What a servicer returns: a message, or one that it has serialised itself."""
UnaryMethod = Callable[[Any, Call], Awaitable[Answer]]
StreamMethod = Callable[[Any, Call], AsyncIterator[Answer]]
Reader = Callable[[bytes], Any]
"""Recognises a request by its bytes, so that no message is made of it; None = it does not."""
OnCall = Callable[[str, str, float], None]
"""Told of each finished call: its path, its status by name, its seconds."""


class Lane:
    """Calls of one sort that may run at once. A full one refuses at once: a queue would only hide the overload."""

    __slots__ = ("default_seconds", "limit", "name", "running")

    def __init__(self, name: str, limit: int | None, default_seconds: float) -> None:
        self.name = name
        self.limit = limit
        """None = without bound."""
        self.default_seconds = default_seconds
        """Time for a call whose client gave none."""
        self.running = 0

    def enter(self) -> None:
        """Raises Overloaded; otherwise `leave` must follow."""
        if self.limit is not None and self.running >= self.limit:
            raise Overloaded(
                f"{self.limit} {self.name} calls run already", retry_after_seconds=_RETRY_OVERLOADED_SECONDS
            )
        self.running += 1

    def leave(self) -> None:
        self.running -= 1


@dataclass(frozen=True, slots=True)
class Edge:
    """What all calls of one server share."""

    board: HealthBoard
    caller: Caller
    on_call: OnCall | None = None
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    permissions: Mapping[str, Permission] = field(default_factory=lambda: PERMISSIONS)
    on_denied: OnDenied = lambda principal, error: None
    limiter: Limiter | None = None

    def enter(self, lane: Lane) -> None:
        """Raises NotReady, ShuttingDown or Overloaded; otherwise `lane.leave` must follow."""
        if not self.board.started:
            raise NotReady("the server is starting")
        if self.draining.is_set():
            raise ShuttingDown("the server is shutting down")
        lane.enter()

    def gate(self, lane: Lane, path: str) -> "Gate":
        """Raises KeyError for an RPC that nobody has said who may call it."""
        return Gate(self, lane, path, self.permissions[path])

    def ended(self, path: str, status: str, started: float) -> None:
        if self.on_call is not None:
            self.on_call(path, status, time.perf_counter() - started)


class Gate:
    """What one RPC asks of each request. Made once, when the method is registered."""

    __slots__ = ("_lane", "_limiter", "_many", "_path", "_permission", "edge")

    def __init__(self, edge: Edge, lane: Lane, path: str, permission: Permission) -> None:
        self.edge = edge
        self._lane = lane
        self._limiter = edge.limiter
        self._path = path
        self._permission = permission
        self._many = permission.reach is Reach.SEARCHES

    def enter(self, principal: Principal, request: Any) -> str:
        """Raises PermissionDenied, or Exhausted as the limiter does; otherwise `leave` must follow with the user id
        that is returned."""
        try:
            self._permission.check(principal, request)
        except PermissionDenied as error:
            self.edge.on_denied(principal, error)
            raise
        if self._limiter is None:
            return ""
        user_id = self._permission.user_id(request)
        self._limiter.enter(principal, self._path, user_id, len(request.searches) if self._many else 1)
        return user_id

    def leave(self, principal: Principal, user_id: str) -> None:
        if self._limiter is not None:
            self._limiter.leave(principal, self._path, user_id)

    def call(self, principal: Principal, remaining: float | None) -> Call:
        """`remaining` seconds are what the client gives; None = it does not say."""
        seconds = self._lane.default_seconds if remaining is None else remaining
        return Call(principal.tenant, principal.actor, Deadline.after(seconds))

    @contextmanager
    def admitted(self, context: ServicerContext, request: Any) -> Iterator[Call]:
        """One request of a stream, counted and checked as a call of its own."""
        self.edge.enter(self._lane)
        try:
            principal = self.edge.caller(context)
            user_id = self.enter(principal, request)
            try:
                yield self.call(principal, context.time_remaining())
            finally:
                self.leave(principal, user_id)
        finally:
            self._lane.leave()


def unary(
    edge: Edge,
    lane: Lane,
    path: str,
    request_type: type[Message],
    method: UnaryMethod,
    reader: Reader | None = None,
) -> grpc.RpcMethodHandler:
    """`reader`: what the method takes instead of a message, where it can."""
    parse = parser(request_type, reader)
    gate = edge.gate(lane, path)

    async def run(raw: bytes, context: ServicerContext) -> bytes:
        started = time.perf_counter()
        try:
            edge.enter(lane)
            try:
                principal = edge.caller(context)
                request = parse(raw)
                user_id = gate.enter(principal, request)
                try:
                    remaining = context.time_remaining()
                    call = gate.call(principal, remaining)
                    if remaining is None:
                        answer = await _within(call, method(request, call))
                    else:
                        # The transport itself cancels a call whose time is up.
                        answer = await method(request, call)
                    encoded = serialized(answer)
                finally:
                    gate.leave(principal, user_id)
            finally:
                lane.leave()
        except asyncio.CancelledError:
            edge.ended(path, "CANCELLED", started)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: nothing gets out but our own errors
            wire = wire_error(path, error)
        else:
            edge.ended(path, "OK", started)
            return encoded
        edge.ended(path, wire.code.name, started)
        await refuse(context, wire)
        raise AssertionError("unreachable: abort raises")

    return grpc.unary_unary_rpc_method_handler(run)


def server_stream(
    edge: Edge, lane: Lane, path: str, request_type: type[Message], method: StreamMethod
) -> grpc.RpcMethodHandler:
    parse = parser(request_type)
    gate = edge.gate(lane, path)

    async def run(raw: bytes, context: ServicerContext) -> None:
        started = time.perf_counter()
        try:
            edge.enter(lane)
            try:
                principal = edge.caller(context)
                request = parse(raw)
                user_id = gate.enter(principal, request)
                try:
                    call = gate.call(principal, context.time_remaining())
                    await _within(call, _write_all(context, method(request, call)))
                finally:
                    gate.leave(principal, user_id)
            finally:
                lane.leave()
        except asyncio.CancelledError:
            edge.ended(path, "CANCELLED", started)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: nothing gets out but our own errors
            wire = wire_error(path, error)
        else:
            edge.ended(path, "OK", started)
            return
        edge.ended(path, wire.code.name, started)
        await refuse(context, wire)

    return grpc.unary_stream_rpc_method_handler(run)


def parser(request_type: type[Message], reader: Reader | None = None) -> Callable[[bytes], Any]:
    """Decoding of one type of request. It raises InvalidArgument where grpc would answer INTERNAL."""
    decode = request_type.FromString
    name = request_type.DESCRIPTOR.name

    def parse(raw: bytes) -> Any:
        if len(raw) > limits.MAX_REQUEST_MESSAGE_BYTES:
            raise MessageTooLarge(
                FieldViolation(
                    "",
                    f"a request may have {limits.MAX_REQUEST_MESSAGE_BYTES} bytes, this one has {len(raw)}",
                )
            )
        if reader is not None and (known := reader(raw)) is not None:
            return known
        try:
            return decode(raw)
        except DecodeError:
            raise InvalidArgument.of(
                "", f"is not a {name}: malformed, or a string in it is not valid UTF-8"
            ) from None

    return parse


def serialized(answer: Answer) -> bytes:
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


def wire_error(path: str, error: Exception) -> WireError:
    """What the caller is told. Of an error that no one foresaw, that is an id; the rest goes into the log."""
    if not isinstance(error, MemlaneError):
        correlation_id = secrets.token_hex(8)
        _log.error("unforeseen error", exc_info=error, extra={"rpc": path, "correlation_id": correlation_id})
        error = Internal(correlation_id)
    return to_wire(error)


async def refuse(context: ServicerContext, wire: WireError) -> None:
    """End the call with an error; does not return."""
    await context.abort(wire.code, wire.message, ((DETAILS_KEY, wire.details),))


async def _write_all(context: ServicerContext, answers: AsyncIterator[Answer]) -> None:
    async with aclosing(answers) as stream:  # type: ignore[type-var]  # servicers' streams are generators
        async for answer in stream:
            await context.write(serialized(answer))


async def _within(call: Call, answer: Awaitable[T]) -> T:
    """The answer, if it comes before the deadline of the call."""
    scope = asyncio.timeout(call.deadline.remaining_seconds())
    try:
        async with scope:
            return await answer
    except TimeoutError:
        if scope.expired():
            raise DeadlineExceeded(
                "the time that the server gives to a call without deadline is over"
            ) from None
        raise
