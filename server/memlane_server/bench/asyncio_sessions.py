"""The calls that the generator in Python makes: the same as memload's (benchmarks/load/internal/scenario)."""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import grpc
import numpy as np

from memlane.v1 import (
    context_service_pb2,
    context_service_pb2_grpc,
    diagnostics_service_pb2,
    diagnostics_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
)

from .load import Load

_VECTORS = 256
_CACHED_TEXTS = 32
_QUESTIONS = (
    "合同 HT-{} 的额度还剩多少？",
    "How much is left of the limit of contract HT-{}?",
    "客户上次问过的第 {} 号产品是什么？",
    "Which branch did the customer visit about request {}?",
)
_FACTS = (
    "每月定投基金 {} 元",
    "User pays {} dollars a month into a pension",
    "在分行办理了合同 HT-{}",
    "User holds contract FWD-{} that matures next year",
    "希望用短信接收第 {} 号产品的报价",
    "User asked for an offer of product {} by letter",
)


def fact(number: int) -> str:
    """The statement with that number: Chinese and English in turn."""
    return _FACTS[number % len(_FACTS)].format(number)


class CallFailed(Exception):
    """A call, or a search of a batch or stream, was not answered well. `code` as gRPC for Go spells it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Session(Protocol):
    """Makes the calls of one kind, one at a time."""

    async def call(self) -> None:
        """Make the next call and wait for its answer. Raises CallFailed."""

    def close(self) -> None:
        """End what is held open; the connection stays."""


class Shared:
    """What all sessions of a load have in common."""

    def __init__(self, load: Load, dimension: int, run: str, metadata: tuple[tuple[str, str], ...]) -> None:
        self.load = load
        self.run = run
        """Makes the new texts and request ids of this run unlike those of others."""
        self.metadata = metadata
        vectors = np.random.default_rng(load.seed).standard_normal((_VECTORS, dimension)).astype("<f4")
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self._vectors = [vector.tobytes() for vector in vectors]
        self._searches = itertools.count(1)
        self._writes = itertools.count(1)

    def reader(self) -> tuple[str, int]:
        """The user whose turn it is, and the number of the read."""
        number = next(self._searches)
        return self.load.users[number % len(self.load.users)], number

    def writer(self) -> tuple[str, int]:
        users = self.load.write_users or self.load.users
        number = next(self._writes)
        return users[number % len(users)], number

    def by_vector(self) -> memory_service_pb2.SearchMemoriesRequest:
        user, number = self.reader()
        return memory_service_pb2.SearchMemoriesRequest(
            user_id=user, top_k=self.load.top_k, embedding_f32=self._vectors[number % _VECTORS]
        )

    def by_text(self, *, new: bool) -> memory_service_pb2.SearchMemoriesRequest:
        user, number = self.reader()
        return memory_service_pb2.SearchMemoriesRequest(
            user_id=user, top_k=self.load.top_k, query=self.question(number, new=new)
        )

    def question(self, number: int, *, new: bool) -> str:
        text = _QUESTIONS[number % len(_QUESTIONS)]
        return text.format(f"{self.run}-{number}" if new else number % _CACHED_TEXTS)


class _Unary:
    """Calls of one question and one answer."""

    def __init__(
        self,
        shared: Shared,
        method: Any,
        make: Callable[[], Any],
        check: Callable[[Any], None] = lambda answer: None,
    ) -> None:
        self._shared = shared
        self._method = method
        self._make = make
        self._check = check

    async def call(self) -> None:
        shared = self._shared
        try:
            answer = await self._method(
                self._make(), timeout=shared.load.timeout_seconds, metadata=shared.metadata
            )
        except grpc.aio.AioRpcError as error:
            raise failed(error) from None
        self._check(answer)

    def close(self) -> None:
        pass


class _Stream:
    """Keeps one StreamSearchMemories open and has one search under way on it."""

    def __init__(self, shared: Shared, channel: grpc.aio.Channel) -> None:
        self._shared = shared
        self._stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self._open: Any = None

    async def call(self) -> None:
        if self._open is None:
            # Without a deadline: the stream outlives the call that begins it.
            self._open = self._stub.StreamSearchMemories(metadata=self._shared.metadata)
        request = memory_service_pb2.StreamSearchMemoriesRequest(search=self._shared.by_vector())
        try:
            async with asyncio.timeout(self._shared.load.timeout_seconds):
                await self._open.write(request)
                answer = await self._open.read()
        except TimeoutError:
            self.close()
            raise CallFailed("DeadlineExceeded", "no answer on the stream") from None
        except grpc.aio.AioRpcError as error:
            self.close()
            raise failed(error) from None
        except asyncio.InvalidStateError:
            # What grpc raises for a write to a stream that the server has ended.
            ended = self._open
            self.close()
            raise CallFailed(spelled(await ended.code()), await ended.details() or "") from None
        if answer is grpc.aio.EOF:
            ended = self._open
            self.close()
            raise CallFailed(spelled(await ended.code()), await ended.details() or "the stream has ended")
        check_status(answer.status)

    def close(self) -> None:
        if self._open is not None:
            self._open.cancel()
            self._open = None


def _echo(shared: Shared, channel: grpc.aio.Channel) -> Session:
    request = diagnostics_service_pb2.EchoRequest()
    stub = diagnostics_service_pb2_grpc.DiagnosticsServiceStub(channel)
    return _Unary(shared, stub.Echo, lambda: request)


def _search(make: Callable[[Shared], Any]) -> Callable[[Shared, grpc.aio.Channel], Session]:
    def opened(shared: Shared, channel: grpc.aio.Channel) -> Session:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        return _Unary(shared, stub.SearchMemories, lambda: make(shared))

    return opened


def _batch(shared: Shared, channel: grpc.aio.Channel) -> Session:
    def make() -> memory_service_pb2.BatchSearchMemoriesRequest:
        searches = [shared.by_vector() for _ in range(shared.load.batch)]
        return memory_service_pb2.BatchSearchMemoriesRequest(searches=searches)

    def check(answer: memory_service_pb2.BatchSearchMemoriesResponse) -> None:
        if len(answer.responses) != shared.load.batch:
            raise CallFailed("Unknown", f"{len(answer.responses)} answers to {shared.load.batch} searches")
        for outcome in answer.responses:
            check_status(outcome.status)

    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    return _Unary(shared, stub.BatchSearchMemories, make, check)


def _context(shared: Shared, channel: grpc.aio.Channel) -> Session:
    def make() -> context_service_pb2.BuildContextRequest:
        user, number = shared.reader()
        return context_service_pb2.BuildContextRequest(
            user_id=user,
            session_id=shared.load.session_id,
            query=shared.question(number, new=False),
            top_k=shared.load.top_k,
            include_knowledge=shared.load.knowledge,
        )

    return _Unary(shared, context_service_pb2_grpc.ContextServiceStub(channel).BuildContext, make)


def _remember(shared: Shared, channel: grpc.aio.Channel) -> Session:
    def make() -> memory_service_pb2.RememberRequest:
        user, number = shared.writer()
        count = shared.load.facts
        stated = [memory_pb2.Fact(content=fact(number * count + i)) for i in range(count)]
        return memory_service_pb2.RememberRequest(
            user_id=user,
            facts=memory_pb2.FactList(facts=stated),
            request_id=f"load-{shared.run}-{number}",
        )

    return _Unary(shared, memory_service_pb2_grpc.MemoryServiceStub(channel).Remember, make)


def _create(shared: Shared, channel: grpc.aio.Channel) -> Session:
    def make() -> memory_service_pb2.CreateMemoryRequest:
        user, number = shared.writer()
        return memory_service_pb2.CreateMemoryRequest(
            user_id=user, content=fact(number), request_id=f"load-{shared.run}-{number}"
        )

    return _Unary(shared, memory_service_pb2_grpc.MemoryServiceStub(channel).CreateMemory, make)


OPENERS: Mapping[str, Callable[[Shared, grpc.aio.Channel], Session]] = {
    "echo": _echo,
    "search": _search(Shared.by_vector),
    "search_cached_text": _search(lambda shared: shared.by_text(new=False)),
    "search_new_text": _search(lambda shared: shared.by_text(new=True)),
    "stream": _Stream,
    "batch": _batch,
    "context": _context,
    "remember": _remember,
    "create": _create,
}
"""By the name of the scenario."""

_BY_NUMBER = {code.value[0]: code for code in grpc.StatusCode}


def spelled(code: grpc.StatusCode) -> str:
    """As gRPC for Go spells it: ResourceExhausted."""
    if code is grpc.StatusCode.OK:
        return "OK"
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return str(code.name.title().replace("_", ""))


def failed(error: grpc.aio.AioRpcError) -> CallFailed:
    return CallFailed(spelled(error.code()), error.details() or "")


def check_status(status: memory_pb2.Status) -> None:
    """Raises CallFailed unless it is unset, which is success."""
    if status.code:
        raise CallFailed(
            spelled(_BY_NUMBER.get(status.code, grpc.StatusCode.UNKNOWN)),
            status.message,
        )
