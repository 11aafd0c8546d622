"""Conversations accepted for later: journaled, run by workers, effective once."""

import asyncio
import json
import logging
import random
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..domain.conversation import Fact, Message
from ..domain.decision import RememberResult
from ..domain.errors import (
    Aborted,
    DeadlineExceeded,
    Exhausted,
    ForgottenMeanwhile,
    MemlaneError,
    ModelAnswerUnusable,
    Unavailable,
)
from ..domain.ids import new_ingestion_id
from ..guards.secrets import SecretPolicy, redact
from ..ports.clock import Clock
from ..ports.ingestion_queue import Ingestion, IngestionQueue, IngestionState, NewIngestion
from .call import Call, Deadline
from .codec import (
    dumps,
    fact_from_json,
    fact_to_json,
    message_from_json,
    message_to_json,
    result_from_json,
)
from .offload import Offload, work_for
from .remember import RememberCommand, RememberService

_log = logging.getLogger(__name__)

_RETRYABLE = (Unavailable, Exhausted, DeadlineExceeded, ModelAnswerUnusable, Aborted)


@dataclass(frozen=True, slots=True)
class IngestionPolicy:
    workers: int = 4
    max_attempts: int = 5
    first_backoff_seconds: float = 1.0
    longest_backoff_seconds: float = 300.0
    job_seconds: float = 120.0
    """Time for one attempt; a lease is twice as long."""
    max_backlog: int = 10_000
    max_backlog_per_user: int = 100
    max_backlog_per_tenant: int | None = None
    """None = no bound of its own."""
    poll_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class IngestionStatus:
    ingestion: Ingestion
    result: RememberResult | None
    """When DONE."""


class IngestionService:
    """A job runs at least once and takes effect once: its commit completes it in the same transaction."""

    def __init__(
        self,
        *,
        queue: IngestionQueue,
        remember: RememberService,
        offload: Offload,
        clock: Clock,
        policy: IngestionPolicy,
        secrets: SecretPolicy,
    ) -> None:
        self._queue = queue
        self._remember = remember
        self._offload = offload
        self._clock = clock
        self._policy = policy
        self._secrets = secrets
        self._wake = asyncio.Event()
        self._running: dict[tuple[str, str], set[asyncio.Task[None]]] = defaultdict(set)
        self._waiters: dict[str, list[asyncio.Future[RememberResult]]] = defaultdict(list)
        self._waiting: dict[tuple[str, str], set[asyncio.Future[RememberResult]]] = defaultdict(set)
        self._slots = asyncio.Semaphore(policy.workers)
        self._closed = False

    async def submit(self, call: Call, command: RememberCommand) -> str:
        """Accepted means journaled. Returns the ingestion's id. Raises BacklogFull, RequestIdReused."""
        ingestion_id = await asyncio.shield(
            self._offload(
                self._queue.enqueue,
                NewIngestion(
                    ingestion_id=new_ingestion_id(),
                    tenant=call.tenant,
                    user_id=command.user_id,
                    session_id=command.session_id,
                    payload=self._payload(command),
                    actor=call.actor,
                    time_us=self._now_us(),
                    request=command.request,
                ),
                max_backlog=self._policy.max_backlog,
                max_backlog_per_user=self._policy.max_backlog_per_user,
                max_backlog_per_tenant=self._policy.max_backlog_per_tenant,
            )
        )
        self._wake.set()
        return ingestion_id

    async def get(self, call: Call, user_id: str, ingestion_id: str) -> IngestionStatus:
        """Raises NotFound."""
        return _status(await self._offload(self._queue.get_ingestion, call.tenant, user_id, ingestion_id))

    async def list_ingestions(
        self, call: Call, user_id: str, *, state: IngestionState | None, before_us: int | None, limit: int
    ) -> list[IngestionStatus]:
        """Newest first."""
        found = await self._offload(
            self._queue.list_ingestions,
            call.tenant,
            user_id,
            state=state,
            before_us=before_us,
            limit=limit,
        )
        return [_status(i) for i in found]

    async def retry(self, call: Call, user_id: str, ingestion_id: str) -> IngestionStatus:
        """Runs a FAILED one again. Raises NotFound."""
        ingestion = await self._offload(
            self._queue.retry, call.tenant, user_id, ingestion_id, time_us=self._now_us()
        )
        self._wake.set()
        return _status(ingestion)

    def look_now(self) -> None:
        """Work was queued past `submit`, as by the end of a session: take it at once, not at the next look."""
        self._wake.set()

    async def wait(self, call: Call, user_id: str, ingestion_id: str) -> RememberResult:
        """The outcome of the next attempt. Raises what the attempt raised (it is tried again in the background), or
        DeadlineExceeded; the job goes on in either case."""
        future: asyncio.Future[RememberResult] = asyncio.get_running_loop().create_future()
        self._waiters[ingestion_id].append(future)
        self._waiting[call.tenant, user_id].add(future)
        try:
            status = await self.get(call, user_id, ingestion_id)
            if status.result is not None:
                return status.result
            if status.ingestion.state is IngestionState.CANCELLED:
                raise ForgottenMeanwhile("the user was forgotten; nothing was remembered")
            if status.ingestion.state is IngestionState.FAILED:
                raise ModelAnswerUnusable("the ingestion failed before; retry it by RetryIngestion")
            self._wake.set()
            async with asyncio.timeout(call.deadline.timeout_seconds(self._policy.job_seconds)):
                return await future
        except TimeoutError:
            raise DeadlineExceeded("the ingestion is still running; ask for it by its id") from None
        finally:
            waiters = self._waiters[ingestion_id]
            waiters.remove(future)
            if not waiters:
                del self._waiters[ingestion_id]
            self._waiting[call.tenant, user_id].discard(future)
            if not self._waiting[call.tenant, user_id]:
                del self._waiting[call.tenant, user_id]

    def cancel_user(self, tenant: str, user_id: str) -> None:
        """Stop work in flight for a user who was forgotten; the journal refuses its commit in any case."""
        for task in self._running.get((tenant, user_id), ()):
            task.cancel()
        # A job that had not begun is gone from the queue: nobody else would ever tell those who wait for it.
        for future in self._waiting.get((tenant, user_id), ()):
            if not future.done():
                future.set_exception(ForgottenMeanwhile("the user was forgotten meanwhile"))

    async def run_forever(self) -> None:
        """Takes due jobs until cancelled; call `close` first. A job cut short is run again at the next start."""
        await self._offload(self._queue.release_leases)
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                if not await self._claim(group):
                    try:
                        async with asyncio.timeout(self._policy.poll_seconds):
                            await self._wake.wait()
                    except TimeoutError:
                        pass

    async def _claim(self, group: asyncio.TaskGroup) -> bool:
        await self._slots.acquire()
        self._slots.release()
        try:
            # The tenants that hold their share of the workers come after all others.
            busy = self._busy_tenants()
            jobs = await self._due(busy)
            if not jobs and busy:
                jobs = await self._due(())
        except Unavailable as error:
            _log.warning("ingestion queue: %s", error.reason)
            return False
        for job in jobs:
            await self._slots.acquire()
            task = group.create_task(self._run(job))
            key = (job.tenant, job.user_id)
            self._running[key].add(task)
            task.add_done_callback(partial(self._finished, key))
        return bool(jobs)

    async def _due(self, except_tenants: Collection[str]) -> list[Ingestion]:
        return await self._offload(
            self._queue.claim,
            now_us=self._now_us(),
            lease_us=int(2 * self._policy.job_seconds * 1_000_000),
            limit=1,
            except_tenants=except_tenants,
        )

    def _busy_tenants(self) -> list[str]:
        running = Counter(tenant for tenant, _ in self._running)
        share = max(self._policy.workers // 2, 1)
        return [tenant for tenant, count in running.items() if count >= share]

    def _finished(self, key: tuple[str, str], task: asyncio.Task[None]) -> None:
        self._slots.release()
        self._running[key].discard(task)
        if not self._running[key]:
            del self._running[key]
        self._wake.set()

    async def _run(self, job: Ingestion) -> None:
        work_for(job.tenant)
        call = Call(job.tenant, job.actor, Deadline.after(self._policy.job_seconds))
        try:
            async with asyncio.timeout(self._policy.job_seconds):
                result = await self._remember.remember(call, _command(job))
        except ForgottenMeanwhile as error:
            await self._offload(self._queue.cancel, job.ingestion_id, time_us=self._now_us())
            self._tell(job.ingestion_id, error)
        except asyncio.CancelledError:
            self._tell(job.ingestion_id, ForgottenMeanwhile("the user was forgotten meanwhile"))
            if self._closed:
                raise
            await self._offload(self._queue.cancel, job.ingestion_id, time_us=self._now_us())
        except TimeoutError:
            await self._failed(job, DeadlineExceeded("the attempt took too long"), retryable=True)
        except MemlaneError as error:
            await self._failed(job, error, retryable=isinstance(error, _RETRYABLE))
        else:
            self._tell(job.ingestion_id, result)

    def close(self) -> None:
        """From here on a cancelled job stays in the queue for the next start."""
        self._closed = True

    async def _failed(self, job: Ingestion, error: MemlaneError, *, retryable: bool) -> None:
        last = not retryable or job.attempts >= self._policy.max_attempts
        backoff = min(
            self._policy.first_backoff_seconds * 2 ** max(job.attempts - 1, 0),
            self._policy.longest_backoff_seconds,
        ) * random.uniform(0.8, 1.2)
        _log.warning("ingestion %s: attempt %d: %s", job.ingestion_id, job.attempts, error.reason)
        await self._offload(
            self._queue.fail,
            job.ingestion_id,
            reason=error.reason,
            message=error.message,
            next_attempt_us=None if last else self._now_us() + int(backoff * 1_000_000),
            time_us=self._now_us(),
        )
        self._tell(job.ingestion_id, error)

    def _tell(self, ingestion_id: str, outcome: RememberResult | MemlaneError) -> None:
        for future in self._waiters.get(ingestion_id, ()):
            if future.done():
                continue
            if isinstance(outcome, MemlaneError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _payload(self, command: RememberCommand) -> str:
        """Free of secrets: what is accepted is written before anything else looks at it."""

        def clean(text: str) -> str:
            return redact(text, self._secrets).text

        payload: dict[str, Any] = {"session_id": command.session_id, "recalled": list(command.recalled)}
        if command.facts is not None:
            payload["facts"] = [fact_to_json(replace(f, content=clean(f.content))) for f in command.facts]
        if command.messages is not None:
            payload["messages"] = [
                message_to_json(replace(m, content=clean(m.content))) for m in command.messages
            ]
        return dumps(payload)

    def _now_us(self) -> int:
        return int(self._clock.now() * 1_000_000)


def _command(job: Ingestion) -> RememberCommand:
    data = json.loads(job.payload)
    messages: tuple[Message, ...] | None = None
    facts: tuple[Fact, ...] | None = None
    if "messages" in data:
        messages = tuple(message_from_json(m) for m in data["messages"])
    if "facts" in data:
        facts = tuple(fact_from_json(f) for f in data["facts"])
    return RememberCommand(
        user_id=job.user_id,
        messages=messages,
        facts=facts,
        recalled=tuple(data.get("recalled", ())),
        session_id=job.session_id,
        ingestion_id=job.ingestion_id,
        epoch=job.epoch,
    )


def _status(ingestion: Ingestion) -> IngestionStatus:
    return IngestionStatus(ingestion, result_from_json(ingestion.result) if ingestion.result else None)
