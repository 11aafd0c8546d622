"""One call on its way, apart from who carries it: deadline, tries, freshness, parsing. Sync and async share it."""

import math
import random
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import grpc

from memlane.v1 import memory_service_pb2

from ._freshness import Freshness
from ._methods import METHODS
from .errors import Internal, MemlaneError, ResourceExhausted, Unavailable, from_rpc
from .inputs import Consistency, Search
from .options import ClientOptions

T = TypeVar("T")

EVERYTHING: tuple[str, ...] = ()
"""Scope of reads that are fully consistent unless told otherwise: lists, whose page tokens hold for one
consistency only, and `chat`, whose repeat must be the same request byte for byte."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request that is built and not sent yet."""

    rpc: str
    """Name in the table of methods."""
    request: Any
    parse: Callable[[Any], T]
    """From a response, or from one message of a stream."""
    scopes: tuple[str, ...] = EVERYTHING
    """User ids, or TENANT, that the call reads or writes."""
    request_id: str | None = None
    """The caller's; None = made here, empty = none."""
    timeout: float | None = None
    """Seconds; None = by the method's pace."""
    last: type | None = None
    """Kind of value that every complete stream ends with."""


class Core:
    """What a client keeps between calls, sync or async."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self.freshness = Freshness()
        self.closed = False
        """The client is closed, which cancels what is under way."""

    def begin(self, call: Call[T]) -> "UnderWay[T]":
        return UnderWay(self, call)

    def fill_consistency(self, request: Any, scopes: tuple[str, ...]) -> bool:
        """Ask for this client's own writes where the caller asked for nothing. True where the read is one that
        settles the order of writes that overlapped."""
        if request.HasField("consistency") or not self.options.read_your_writes:
            return False
        wanted = self.freshness.wanted(*scopes) if scopes else Consistency.full()
        if wanted is None:
            return False
        request.consistency.CopyFrom(wanted.to_proto())
        return wanted.fully


class Feed:
    """The searches of a stream as its requests. An error of the caller's own iterator ends the requests; `check`
    raises it once what was sent before is answered."""

    def __init__(self, core: Core, searches: Iterable[Search] | AsyncIterable[Search]) -> None:
        self._core = core
        self._searches = searches
        self._failure: Exception | None = None

    def __iter__(self) -> Iterator[memory_service_pb2.StreamSearchMemoriesRequest]:
        if not isinstance(self._searches, Iterable):
            raise TypeError("an asynchronous iterator needs AsyncClient")
        return self._requests(self._searches)

    def _requests(
        self, searches: Iterable[Search]
    ) -> Iterator[memory_service_pb2.StreamSearchMemoriesRequest]:
        try:
            for search in searches:
                yield self._request(search)
        except Exception as failure:  # noqa: BLE001 - whatever the caller's iterator raises; `check` raises it again
            self._failure = failure

    async def __aiter__(self) -> AsyncIterator[memory_service_pb2.StreamSearchMemoriesRequest]:
        try:
            if isinstance(self._searches, AsyncIterable):
                async for search in self._searches:
                    yield self._request(search)
            else:
                for search in self._searches:
                    yield self._request(search)
        except Exception as failure:  # noqa: BLE001 - as above
            self._failure = failure

    def check(self) -> None:
        """Raises the error of the caller's iterator, if there was one."""
        if self._failure is not None:
            raise self._failure

    def _request(self, search: Search) -> memory_service_pb2.StreamSearchMemoriesRequest:
        request = search.to_proto()
        self._core.fill_consistency(request, (search.user_id,))
        return memory_service_pb2.StreamSearchMemoriesRequest(
            correlation_id=search.correlation_id, search=request
        )


class UnderWay(Generic[T]):
    """One call from its first try to its answer. Its deadline begins now."""

    def __init__(self, core: Core, call: Call[T]) -> None:
        options = core.options
        self._core = core
        self._call = call
        self.method = method = METHODS[call.rpc]
        self.request = request = call.request
        self.request_id = ""
        if method.has_request_id:
            self.request_id = str(uuid.uuid4()) if call.request_id is None else call.request_id
            request.request_id = self.request_id
        self._settles = method.has_consistency and core.fill_consistency(request, call.scopes)
        seconds = options.timeouts.of(method.pace) if call.timeout is None else call.timeout
        self._deadline = time.monotonic() + seconds
        self._began = core.freshness.begin()
        self._failures = 0

    def remaining_seconds(self) -> float | None:
        """For the next try; None = no deadline."""
        return None if math.isinf(self._deadline) else max(self._deadline - time.monotonic(), 0.0)

    def metadata(self) -> tuple[tuple[str, str], ...]:
        return self._core.options.call_metadata()

    def failed(
        self, failure: grpc.RpcError, *, cancelled: bool = False, answering: bool = False
    ) -> MemlaneError:
        """What a try ended with. `cancelled`: by the caller; `answering`: a part of the answer had come."""
        unasked = not (cancelled or answering or self._core.closed)
        return from_rpc(failure, self.request_id, unasked=unasked)

    def pause_after(self, error: MemlaneError) -> float | None:
        """Seconds to wait before the next try; None = there is none, the error stands."""
        self._failures += 1
        policy = self._core.options.retry
        if self._failures >= policy.max_attempts or (self.method.has_request_id and not self.request_id):
            return None
        told = None if error.retry_after is None else error.retry_after.total_seconds()
        if isinstance(error, Unavailable):
            grown = policy.initial_backoff_seconds * policy.multiplier ** (self._failures - 1)
            pause = min(grown, policy.max_backoff_seconds) * random.uniform(0.5, 1.0)
            pause = max(pause, told or 0.0)
        elif isinstance(error, ResourceExhausted) and told is not None:
            # Never earlier than told; a little later, so that all who were refused do not come back together.
            pause = told * random.uniform(1.0, 1.1)
        else:
            return None
        return pause if time.monotonic() + pause < self._deadline else None

    def answered(self, response: Any) -> T:
        """The answer of a call, or one message of a stream, as a value."""
        freshness = self._core.freshness
        value = self._call.parse(response)
        scopes = self._call.scopes
        # The token stands in the response, or in the last message of a stream.
        written_at: str = getattr(value, "written_at", "")
        if written_at and self._core.options.read_your_writes:
            # A read that tells of a write (an ingestion), or a repeat under the caller's own request_id, may tell
            # of an old one.
            replay = not self.method.has_request_id or bool(self._call.request_id)
            for scope in scopes or (self.request.user_id,):
                freshness.wrote(scope, written_at, self._began, replay=replay)
        elif self._settles:
            freshness.read(scopes, getattr(value, "read_at", ""), self._began)
        return value

    def ended(self, last: object) -> None:
        """A stream ended without an error. Raises Internal where its last message is missing."""
        kind = self._call.last
        if kind is not None and not isinstance(last, kind):
            raise Internal(
                f"the stream of {self.method.name} ended before its {kind.__name__}",
                request_id=self.request_id,
            )
