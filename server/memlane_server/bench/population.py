"""The users that a benchmark makes on a server, and how they go again."""

import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
from google.protobuf.duration_pb2 import Duration

from memlane.errors import from_rpc
from memlane.v1 import (
    compliance_service_pb2,
    compliance_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
)

from .asyncio_sessions import fact

PREFIX = "memlane-bench-"
OPERATOR = "memlane bench"
WRITERS = 8
"""Users that one measurement writes to: one user's writes take effect one after the other."""
TTL_SECONDS = 24 * 3600
"""Of the memories that are searched: they go by themselves should nobody be left to forget them."""
_AT_ONCE = 8
_TRIES = 6
_SECONDS = 30.0
_ERASE_SECONDS = 600.0
_TRY_AGAIN = (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)

Tick = Callable[[], None]
Job = TypeVar("Job")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a credential may do."""

    reads: bool
    writes: bool
    erases: bool
    bound: bool
    """To one user, so that it may not touch those of a benchmark."""

    @property
    def removes(self) -> bool:
        """Whether what was written can be taken away again."""
        return self.erases or (self.reads and self.writes)


def ask(channel: grpc.Channel, user_id: str) -> Allowed:
    """Find out by calls that change nothing. Raises grpc.RpcError for any other refusal."""
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    compliance = compliance_service_pb2_grpc.ComplianceServiceStub(channel)
    reasons: set[str] = set()

    def may(call: Any, request: Any) -> bool:
        try:
            call(request, timeout=_SECONDS)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.PERMISSION_DENIED:
                reasons.add(from_rpc(error).reason)
                return False
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
        return True

    get = memory_service_pb2.GetMemoryRequest(user_id=user_id, memory_id="none")
    delete = memory_service_pb2.DeleteMemoryRequest(user_id=user_id, memory_id="none")
    reads = may(memories.GetMemory, get)
    writes = may(memories.DeleteMemory, delete)
    erases = may(compliance.GetLegalHold, compliance_service_pb2.GetLegalHoldRequest(user_id=user_id))
    return Allowed(reads, writes, erases, bound="USER_MISMATCH" in reasons)


class Population:
    """Users with an unmistakable name. Those of `written` are, or may be, on the server."""

    def __init__(self, channel: grpc.Channel, readers: int) -> None:
        self.prefix = PREFIX + secrets.token_hex(4)
        self.readers = tuple(f"{self.prefix}-r{number}" for number in range(readers))
        self.written: list[str] = []
        self.created = 0
        """Memories made by `fill`."""
        self._lock = threading.Lock()
        self._measurements = 0
        self._memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self._compliance = compliance_service_pb2_grpc.ComplianceServiceStub(channel)

    def writers(self) -> tuple[str, ...]:
        """Users for one measurement, new ones each time: what an earlier one wrote would make facts known."""
        self._measurements += 1
        names = tuple(f"{self.prefix}-w{self._measurements}-{number}" for number in range(WRITERS))
        self.written += names
        return names

    def fill(self, memories: int, tick: Tick) -> None:
        """Give each reader memories. Raises grpc.RpcError."""
        self.written += self.readers
        jobs = [(user, number) for number in range(memories) for user in self.readers]

        def one(job: tuple[str, int]) -> None:
            self._create(*job)
            tick()

        _at_once(one, jobs)

    def _create(self, user_id: str, number: int) -> None:
        request = memory_service_pb2.CreateMemoryRequest(
            user_id=user_id,
            content=fact(number),
            ttl=Duration(seconds=TTL_SECONDS),
            request_id=uuid.uuid4().hex,
            reason=OPERATOR,
        )
        _patiently(lambda: self._memories.CreateMemory(request, timeout=_SECONDS))
        with self._lock:
            self.created += 1

    def forget(self, allowed: Allowed, tick: Tick) -> int:
        """Take all users away again and look that nothing of them is left. Returns how many memories went. Users that
        are gone leave `written`, also when this raises grpc.RpcError."""
        counts: list[int] = []

        def one(user_id: str) -> None:
            counts.append(self._erase(user_id) if allowed.erases else self._delete_all(user_id))
            if allowed.reads and self._some(user_id):
                # A write that was under way when its caller was stopped.
                counts.append(self._erase(user_id) if allowed.erases else self._delete_all(user_id))
            with self._lock:
                self.written.remove(user_id)
            tick()

        _at_once(one, list(self.written))
        return sum(counts)

    def _erase(self, user_id: str) -> int:
        request = compliance_service_pb2.ForgetUserRequest(
            user_id=user_id,
            operator=OPERATOR,
            reason="end of a benchmark",
            purge_now=True,
            request_id=uuid.uuid4().hex,
        )
        answer = _patiently(lambda: self._compliance.ForgetUser(request, timeout=_ERASE_SECONDS))
        return int(answer.memory_count)

    def _delete_all(self, user_id: str) -> int:
        """What is left to a credential without the scope `compliance`."""
        count = 0
        while found := self._some(user_id):
            for memory in found:
                self._delete(user_id, memory.memory_id)
            count += len(found)
        return count

    def _delete(self, user_id: str, memory_id: str) -> None:
        request = memory_service_pb2.DeleteMemoryRequest(
            user_id=user_id, memory_id=memory_id, request_id=uuid.uuid4().hex
        )
        _patiently(lambda: self._memories.DeleteMemory(request, timeout=_SECONDS))

    def _some(self, user_id: str) -> Any:
        request = memory_service_pb2.ListMemoriesRequest(user_id=user_id, page_size=1000)
        return _patiently(lambda: self._memories.ListMemories(request, timeout=_SECONDS)).memories


def _patiently(call: Callable[[], Any]) -> Any:
    """The answer; what the server refuses for being busy is asked again, a little later each time."""
    for attempt in range(_TRIES):
        try:
            return call()
        except grpc.RpcError as error:
            if error.code() not in _TRY_AGAIN or attempt == _TRIES - 1:
                raise
        time.sleep(0.1 * 2**attempt)
    raise AssertionError("unreachable")


def _at_once(work: Callable[[Job], None], jobs: Iterable[Job]) -> None:
    """Some threads through all jobs; after the first failure, or Ctrl-C, no further job is begun."""
    with _pool() as pool:
        futures: list[Future[None]] = [pool.submit(work, job) for job in jobs]
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
