"""Conversations that are still to be remembered. All calls block."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from .journal import RequestStamp


class IngestionState(StrEnum):
    PENDING = "PENDING"
    """Accepted and journaled; waiting for a worker or for its next attempt."""
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    """Attempts are used up or the input can never succeed; may be run again by request."""
    CANCELLED = "CANCELLED"
    """The user was forgotten meanwhile; nothing was written."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    ingestion_id: str
    tenant: str
    user_id: str
    session_id: str
    state: IngestionState
    payload: str
    """JSON of the work (conversation or facts); "" once it was emptied."""
    result: str
    """JSON of the RememberResult when DONE; "" before."""
    actor: str
    attempts: int
    error_reason: str
    """ErrorReason name of the last failure; "" when none."""
    error_message: str
    epoch: int
    """The user's epoch when it was accepted."""
    created_us: int
    updated_us: int
    next_attempt_us: int


@dataclass(frozen=True, slots=True)
class NewIngestion:
    ingestion_id: str
    tenant: str
    user_id: str
    session_id: str
    payload: str
    actor: str
    time_us: int
    request: RequestStamp | None = None


class IngestionQueue(Protocol):
    def enqueue(
        self,
        new: NewIngestion,
        *,
        max_backlog: int,
        max_backlog_per_user: int,
        max_backlog_per_tenant: int | None = None,
    ) -> str:
        """Journaled when it returns; returns the ingestion_id (the first one on a replayed request_id).
        Raises BacklogFull, RequestIdReused."""
        ...

    def claim(
        self, *, now_us: int, lease_us: int, limit: int, except_tenants: Collection[str] = ()
    ) -> list[Ingestion]:
        """Due PENDING jobs (and RUNNING ones whose lease ran out), oldest first, at most one per user, now RUNNING.
        A job never overtakes an older unfinished one of the same user: what was said later must be decided later."""
        ...

    def fail(
        self, ingestion_id: str, *, reason: str, message: str, next_attempt_us: int | None, time_us: int
    ) -> None:
        """Back to PENDING for another attempt, or FAILED when `next_attempt_us` is None."""
        ...

    def cancel(self, ingestion_id: str, *, time_us: int) -> None: ...

    def retry(self, tenant: str, user_id: str, ingestion_id: str, *, time_us: int) -> Ingestion:
        """FAILED to PENDING with fresh attempts; any other state is returned unchanged. Raises NotFound."""
        ...

    def get_ingestion(self, tenant: str, user_id: str, ingestion_id: str) -> Ingestion:
        """Raises NotFound, for another user's too."""
        ...

    def list_ingestions(
        self, tenant: str, user_id: str, *, state: IngestionState | None, before_us: int | None, limit: int
    ) -> list[Ingestion]:
        """Newest first."""
        ...

    def backlog(self) -> tuple[int, int | None]:
        """Number of jobs not finished, and the created_us of the oldest."""
        ...

    def release_leases(self) -> int:
        """At start of a single process: RUNNING back to PENDING; returns how many."""
        ...
