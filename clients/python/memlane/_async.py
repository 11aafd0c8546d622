"""The asyncio transport."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import grpc

from ._calls import Call, Core, Feed, UnderWay
from ._methods import Method
from ._sync import make_stub
from .options import ClientOptions

T = TypeVar("T")
_STATUS_SECONDS = 1.0
"""How long to wait for the status of a stream that a failed write says is over."""


class _Ending:
    """What a stream of requests really ended with. Where a write fails because the call is over, grpc.aio puts INTERNAL
    in the place of the status, before or after that arrives: what the server said would be lost."""

    def __init__(self, call: Any) -> None:
        self._status: grpc.aio.AioRpcError | None = None
        self._arrived = asyncio.Event()
        call.add_done_callback(self._note)

    def _note(self, call: Any) -> None:
        """Runs each time that a status is set."""
        parts = (call.code(), call.initial_metadata(), call.trailing_metadata(), call.details())
        code, initial, trailing, details = map(_now, parts)
        replaced = code is grpc.StatusCode.INTERNAL and not trailing
        if not replaced and code is not grpc.StatusCode.OK:
            self._status = grpc.aio.AioRpcError(code, initial, trailing, details)
            self._arrived.set()

    async def told(self, failure: Any) -> Any:
        """The status that the server sent, where `failure` may stand in its place; otherwise `failure`."""
        if failure.code() is grpc.StatusCode.INTERNAL and not failure.trailing_metadata():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), _STATUS_SECONDS)
        return self._status or failure


def _now(known: Coroutine[Any, Any, T]) -> T:
    """Result of a coroutine that need not wait, since its call is over."""
    try:
        known.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    known.close()
    raise RuntimeError("the call is not over")


class AsyncStream(Generic[T]):
    """What a streaming call sends back, as an asynchronous iterator. The call begins at once, and ends with the last
    value, with an error, or with `close`: leave it by `async with`, or read it to its end."""

    def __init__(self, start: Callable[[], Any], under_way: UnderWay[T], feed: Feed | None = None) -> None:
        self._start = start
        self._under_way = under_way
        self._feed = feed
        self._repeatable = feed is None
        """Nothing came yet, so that the call may begin anew."""
        self._last: T | None = None
        self._call = start()
        self._messages: AsyncIterator[Any] = aiter(self._call)
        self._ending = None if feed is None else _Ending(self._call)

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while True:
            try:
                message = await anext(self._messages)
            except StopAsyncIteration:
                self._under_way.ended(self._last)
                if self._feed is not None:
                    self._feed.check()
                raise
            except grpc.RpcError as failure:
                # A cancellation by the caller is asyncio's CancelledError, which is no RpcError.
                told = failure if self._ending is None else await self._ending.told(failure)
                error = self._under_way.failed(told, answering=self._last is not None)
                pause = self._under_way.pause_after(error) if self._repeatable else None
                if pause is None:
                    raise error from told
                await asyncio.sleep(pause)
                self._call = self._start()
                self._messages = aiter(self._call)
            else:
                self._repeatable = False
                self._last = self._under_way.answered(message)
                return self._last

    async def close(self) -> None:
        """Cancel the call if it still runs."""
        self._repeatable = False
        self._call.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncSender:
    """Owns an asyncio channel and sends calls over it. Belongs to the event loop of its first call."""

    def _connect(self, options: ClientOptions) -> None:
        self._core = Core(options)
        # Read now, so that a wrong path fails where the client is made; the channel itself needs the loop.
        self._credentials = options.credentials()
        self._opened: grpc.aio.Channel | None = None
        self._stubs: dict[str, Any] = {}

    async def close(self) -> None:
        """Cancel what is under way and close the connection."""
        self._core.closed = True
        if self._opened is not None:
            await self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, call: Call[T]) -> T:
        under_way = self._core.begin(call)
        stub = self._stub(under_way.method)
        while True:
            try:
                response = await stub(
                    under_way.request, timeout=under_way.remaining_seconds(), metadata=under_way.metadata()
                )
            except grpc.RpcError as failure:
                error = under_way.failed(failure)
                pause = under_way.pause_after(error)
                if pause is None:
                    raise error from failure
                await asyncio.sleep(pause)
            else:
                return under_way.answered(response)

    def _open(self, call: Call[T], feed: Feed | None = None) -> AsyncStream[T]:
        under_way = self._core.begin(call)
        stub = self._stub(under_way.method)
        source = under_way.request if feed is None else aiter(feed)

        def start() -> Any:
            return stub(source, timeout=under_way.remaining_seconds(), metadata=under_way.metadata())

        return AsyncStream(start, under_way, feed)

    def _stub(self, method: Method) -> Any:
        if self._core.closed:
            raise ValueError("the client is closed")
        stub = self._stubs.get(method.path)
        if stub is None:
            stub = self._stubs[method.path] = make_stub(self._channel(), method)
        return stub

    def _channel(self) -> grpc.aio.Channel:
        if self._opened is None:
            options, arguments = self._core.options, self._core.options.channel_arguments()
            self._opened = (
                grpc.aio.insecure_channel(options.target, arguments)
                if self._credentials is None
                else grpc.aio.secure_channel(options.target, self._credentials, arguments)
            )
        return self._opened
