"""One definition of each method for both clients.

`@unary` and `@stream` turn a function that builds a `Call` into a method that also sends it. On `Client` a unary
method returns the answer and a stream an iterator; on `AsyncClient` a coroutine and an asynchronous iterator.
Arguments, their types and the docstring are those of the function.
"""

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ._async import AsyncSender, AsyncStream
from ._calls import Call, Core
from ._sync import Stream, SyncSender
from .options import ClientOptions

P = ParamSpec("P")
T = TypeVar("T")


class Bound:
    """What the definitions of the methods see of their client."""

    _core: Core

    def _connect(self, options: ClientOptions) -> None:
        raise NotImplementedError("a sender comes before this class")


class _Method(Generic[P, T]):
    """A descriptor without `__set__`: the bound method is put into the client on first use and found there from then
    on, so that it costs nothing per call."""

    _send_by = ""

    def __init__(self, build: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._build = build
        update_wrapper(self, build)  # type: ignore[arg-type]

    def _bound(self, client: Any) -> Any:
        build, send = self._build, getattr(client, self._send_by)

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return send(build(client, *args, **kwargs))

        client.__dict__[build.__name__] = update_wrapper(call, build)
        return call


class unary(_Method[P, T]):
    """A call with one answer."""

    _send_by = "_send"

    @overload
    def __get__(self, client: None, owner: Any) -> Callable[Concatenate[Any, P], Call[T]]: ...
    @overload
    def __get__(self, client: SyncSender, owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        return self._build if client is None else self._bound(client)


class stream(_Method[P, T]):
    """A call whose answer is a stream."""

    _send_by = "_open"

    @overload
    def __get__(self, client: None, owner: Any) -> Callable[Concatenate[Any, P], Call[T]]: ...
    @overload
    def __get__(self, client: SyncSender, owner: Any) -> Callable[P, Stream[T]]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: Any) -> Callable[P, AsyncStream[T]]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        return self._build if client is None else self._bound(client)
