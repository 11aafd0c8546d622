"""Blocking work (SQL, Milvus) kept off the event loop, its threads shared fairly between tenants."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Observe = Callable[[Callable[..., Any]], AbstractContextManager[None]]
"""Wraps the wait for one call of a blocking function, its turn included; for timings."""

_tenant: ContextVar[str] = ContextVar("tenant", default="")


def work_for(tenant: str) -> None:
    """From here on the current task, and every task that it starts, works for `tenant`; "" = for all of them."""
    _tenant.set(tenant)


class Offload:
    """A bounded pool of threads for blocking ports. For one event loop.

    A call that was started always runs to its end, also when the awaiting task is cancelled: a commit is never
    abandoned half-way, only its answer is.

    Calls that find no free thread wait by tenant, and tenants take turns: who sends much waits behind himself. Nothing
    is refused here, since half of a write may be done already; how many wait is bounded by the calls that are let in.
    """

    def __init__(
        self,
        threads: int,
        *,
        per_tenant: int | None = None,
        observe: Observe = lambda function: nullcontext(),
    ) -> None:
        """`per_tenant`: threads that one tenant may hold at once, so that one whose work hangs does not stop the
        others; None = all."""
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="memlane-io")
        self._free = threads
        self._per_tenant = threads if per_tenant is None else min(per_tenant, threads)
        self._observe = observe
        self._held: dict[str, int] = {}
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """Who waits, by tenant; the tenant whose turn is next stands first."""

    @property
    def waiting(self) -> int:
        """Calls without a thread yet."""
        return sum(len(queue) for queue in list(self._queues.values()))

    @property
    def running(self) -> int:
        """Threads in use."""
        return sum(list(self._held.values()))

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        tenant = _tenant.get()
        with self._observe(function):
            if self._free and self._held.get(tenant, 0) < self._per_tenant:
                self._take(tenant)
            else:
                await self._turn(tenant)
            return await self._run(tenant, partial(function, *args, **kwargs))

    async def _run(self, tenant: str, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            work = self._pool.submit(function)
        except RuntimeError:
            self._give_back(tenant)
            raise
        answer = asyncio.wrap_future(work, loop=loop)
        answer.add_done_callback(partial(self._answered, tenant, work, loop))
        return await answer

    def _answered(
        self, tenant: str, work: Future[Any], loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any]
    ) -> None:
        if answer.cancelled() and not work.done():
            # Nobody waits any more and the thread is busy all the same.
            work.add_done_callback(lambda _: loop.call_soon_threadsafe(self._give_back, tenant))
        else:
            self._give_back(tenant)

    def _take(self, tenant: str) -> None:
        self._free -= 1
        self._held[tenant] = self._held.get(tenant, 0) + 1

    async def _turn(self, tenant: str) -> None:
        """Returns with a thread taken."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(tenant, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(tenant, turn)
            else:
                self._give_back(tenant)
            raise

    def _leave(self, tenant: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(tenant)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[tenant]

    def _give_back(self, tenant: str) -> None:
        self._free += 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
        self._next()

    def _next(self) -> None:
        """Hand free threads to those who wait, one tenant after the other."""
        for tenant in list(self._queues):
            if not self._free:
                return
            if self._held.get(tenant, 0) >= self._per_tenant:
                continue
            queue = self._queues[tenant]
            while queue:
                turn = queue.popleft()
                # Cancelled just now, and not yet out of the queue.
                if not turn.done():
                    self._take(tenant)
                    turn.set_result(None)
                    break
            if queue:
                self._queues.move_to_end(tenant)
            else:
                del self._queues[tenant]

    def close(self) -> None:
        self._pool.shutdown(wait=True)
