"""The two clients: the same methods over a blocking and over an asyncio channel."""

from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from typing import Any, ParamSpec, TypeVar

from ._async import AsyncSender, AsyncStream
from ._calls import Call, Feed
from ._compliance_methods import ComplianceMethods
from ._memory_methods import MemoryMethods, search_outcome
from ._session_methods import SessionMethods
from ._sync import Stream, SyncSender
from ._tenant_methods import ContextMethods, DiagnosticsMethods, KnowledgeMethods, RuleMethods
from .inputs import Search
from .options import (
    DEFAULT_TARGET,
    TLS,
    ClientOptions,
    MetadataSource,
    RetryPolicy,
    Timeouts,
    TokenSource,
)
from .results import Page, SearchOutcome

P = ParamSpec("P")
T = TypeVar("T")


class _Methods(
    MemoryMethods,
    SessionMethods,
    ContextMethods,
    KnowledgeMethods,
    RuleMethods,
    ComplianceMethods,
    DiagnosticsMethods,
):
    """What both clients have in common."""

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        token: TokenSource | None = None,
        tls: TLS | None = None,
        insecure: bool | None = None,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        read_your_writes: bool = True,
        keepalive_seconds: float = 30.0,
        max_receive_bytes: int = 8 * 2**20,
        max_send_bytes: int = -1,
        metadata: MetadataSource = (),
        channel_options: Mapping[str, Any] | None = None,
    ) -> None:
        """The arguments are the fields of `ClientOptions`. Connects on the first call. Raises ValueError for options
        that contradict each other, OSError for a certificate that cannot be read."""
        self._connect(
            ClientOptions(
                target=target,
                token=token,
                tls=tls,
                insecure=insecure,
                timeouts=timeouts,
                retry=retry,
                read_your_writes=read_your_writes,
                keepalive_seconds=keepalive_seconds,
                max_receive_bytes=max_receive_bytes,
                max_send_bytes=max_send_bytes,
                metadata=metadata,
                channel_options=channel_options or {},
            )
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._core.options.target!r})"


class Client(SyncSender, _Methods):
    """A blocking client. One for the whole application: threads may share it.

    Every call raises MemlaneError or one of its subclasses, and takes `timeout` in seconds (None = the default of
    its kind, see `Timeouts`). Every write makes its own `request_id` and is thereby safe to repeat; give one to
    repeat a write across restarts, or `""` to have none. Every read sees this client's own writes.

    Example:
        >>> with memlane.Client() as client:
        ...     client.remember("c-1001", [("user", "我下周要去上海出差"), ("assistant", "好的，一路顺风。")])
        ...     for hit in client.search_memories("c-1001", "出差计划"):
        ...         print(hit.memory.content)
    """

    def stream_search_memories(
        self, searches: Iterable[Search], *, timeout: float | None = None
    ) -> Stream[SearchOutcome]:
        """Searches over one open stream: the least latency per search. One outcome per search, in their order, with
        its `correlation_id`; one that fails does not end the stream. `searches` is read in a thread of gRPC's. Not
        tried again when the connection is lost.

        Example:
            >>> questions = iter(queue.get, None)
            >>> with client.stream_search_memories(Search("c-1001", q) for q in questions) as outcomes:
            ...     for outcome in outcomes:
            ...         print(outcome.unwrap()[0].memory.content)
        """
        call = Call("StreamSearchMemories", None, search_outcome, timeout=timeout)
        return self._open(call, Feed(self._core, searches))

    def iterate(self, list_method: Callable[P, Page[T]], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        """Every item of a list call, over all its pages.

        Example:
            >>> for memory in client.iterate(client.list_memories, "c-1001", page_size=200):
            ...     print(memory.content)
        """
        following: Callable[..., Page[T]] = list_method
        page = list_method(*args, **kwargs)
        yield from page
        while page.next_page_token:
            page = following(*args, **{**kwargs, "page_token": page.next_page_token})
            yield from page


class AsyncClient(AsyncSender, _Methods):
    """An asyncio client: the same methods as `Client`, awaited. Belongs to the event loop of its first call.

    Example:
        >>> async with memlane.AsyncClient() as client:
        ...     await client.remember("c-1001", facts=["Lives in Hangzhou"])
        ...     result = await client.search_memories("c-1001", "住在哪里")
        ...     async for event in client.chat("c-1001", "s-7", "帮我看看新的方案"):
        ...         ...
    """

    def stream_search_memories(
        self, searches: Iterable[Search] | AsyncIterable[Search], *, timeout: float | None = None
    ) -> AsyncStream[SearchOutcome]:
        """Searches over one open stream: the least latency per search. One outcome per search, in their order, with
        its `correlation_id`; one that fails does not end the stream. Not tried again when the connection is lost.
        """
        call = Call("StreamSearchMemories", None, search_outcome, timeout=timeout)
        return self._open(call, Feed(self._core, searches))

    async def iterate(
        self, list_method: Callable[P, Awaitable[Page[T]]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[T]:
        """Every item of a list call, over all its pages.

        Example:
            >>> async for memory in client.iterate(client.list_memories, "c-1001", page_size=200):
            ...     print(memory.content)
        """
        following: Callable[..., Awaitable[Page[T]]] = list_method
        page = await list_method(*args, **kwargs)
        for item in page:
            yield item
        while page.next_page_token:
            page = await following(*args, **{**kwargs, "page_token": page.next_page_token})
            for item in page:
                yield item
