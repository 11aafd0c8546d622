"""The blocking transport."""

import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import grpc

from ._calls import Call, Core, Feed, UnderWay
from ._methods import Method
from .options import ClientOptions

T = TypeVar("T")


class Stream(Generic[T]):
    """What a streaming call sends back, as an iterator. The call begins at once, and ends with the last value, with
    an error, or with `close`: leave it by `with`, or read it to its end."""

    def __init__(self, start: Callable[[], Any], under_way: UnderWay[T], feed: Feed | None = None) -> None:
        self._start = start
        self._under_way = under_way
        self._feed = feed
        self._repeatable = feed is None
        """Nothing came yet, so that the call may begin anew."""
        self._last: T | None = None
        self._call = start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while True:
            try:
                message = next(self._call)
            except StopIteration:
                self._under_way.ended(self._last)
                if self._feed is not None:
                    self._feed.check()
                raise
            except grpc.RpcError as failure:
                error = self._under_way.failed(
                    failure, cancelled=self._call.cancelled(), answering=self._last is not None
                )
                pause = self._under_way.pause_after(error) if self._repeatable else None
                if pause is None:
                    raise error from failure
                time.sleep(pause)
                self._call = self._start()
            else:
                self._repeatable = False
                self._last = self._under_way.answered(message)
                return self._last

    def close(self) -> None:
        """Cancel the call if it still runs."""
        self._repeatable = False
        self._call.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SyncSender:
    """Owns a blocking channel and sends calls over it. Safe to share between threads."""

    def _connect(self, options: ClientOptions) -> None:
        self._core = Core(options)
        credentials, arguments = options.credentials(), options.channel_arguments()
        self._channel: grpc.Channel = (
            grpc.insecure_channel(options.target, arguments)
            if credentials is None
            else grpc.secure_channel(options.target, credentials, arguments)
        )
        self._stubs: dict[str, Any] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Cancel what is under way and close the connection."""
        self._core.closed = True
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        under_way = self._core.begin(call)
        stub = self._stub(under_way.method)
        while True:
            try:
                response = stub(
                    under_way.request, timeout=under_way.remaining_seconds(), metadata=under_way.metadata()
                )
            except grpc.RpcError as failure:
                error = under_way.failed(failure)
                pause = under_way.pause_after(error)
                if pause is None:
                    raise error from failure
                time.sleep(pause)
            else:
                return under_way.answered(response)

    def _open(self, call: Call[T], feed: Feed | None = None) -> Stream[T]:
        under_way = self._core.begin(call)
        stub = self._stub(under_way.method)
        source = under_way.request if feed is None else iter(feed)

        def start() -> Any:
            return stub(source, timeout=under_way.remaining_seconds(), metadata=under_way.metadata())

        return Stream(start, under_way, feed)

    def _stub(self, method: Method) -> Any:
        stub = self._stubs.get(method.path)
        if stub is None:
            with self._lock:
                stub = self._stubs[method.path] = make_stub(self._channel, method)
        return stub


def make_stub(channel: Any, method: Method) -> Any:
    """The callable of one RPC on a channel, blocking or asynchronous."""
    kind = f"{_SHAPES[method.client_streaming]}_{_SHAPES[method.server_streaming]}"
    return getattr(channel, kind)(
        method.path, request_serializer=method.serialize, response_deserializer=method.deserialize
    )


_SHAPES = {False: "unary", True: "stream"}
