"""The asyncio transport."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import grpc

from ._calls import Call, Core, Feed, UnderWay
from ._methods import Method
from ._sync import make_stub
from .errors import from_rpc
from .options import ClientOptions

T = TypeVar("T")


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
                error = from_rpc(failure, self._under_way.request_id)
                pause = self._under_way.pause_after(error) if self._repeatable else None
                if pause is None:
                    raise error from failure
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
        self._closed = False
        self._stubs: dict[str, Any] = {}

    async def close(self) -> None:
        """Cancel what is under way and close the connection."""
        self._closed = True
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
                error = from_rpc(failure, under_way.request_id)
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
        if self._closed:
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
