"""The append-only log of changes: order, crash safety, idempotency and the hash chain. All calls block."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..domain.memory import Action, DeciderKind, Memory, Revision
from .vector_store import StoredRow


@dataclass(frozen=True, slots=True)
class RequestStamp:
    """Identity of a mutation: the replay of the same id returns the first answer (AIP-155)."""

    method: str
    request_id: str
    fingerprint: str
    """Keyed digest of the whole request; the same id with another fingerprint is refused."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one memory. `memory` is the state afterwards; its `position` is set by the journal."""

    action: Action
    memory: Memory
    previous_content: str | None
    embedding: NDArray[np.float32]
    """Unit vector of the text, shape (dimension,)."""
    reason: str
    """In words; may touch on the memory's text, so it is erased with it."""
    reason_code: str
    """Short constant for the audit log, e.g. DECIDED, STATED, TTL, RETRACTED; never memory text."""
    decider: DeciderKind
    is_deleted: bool = False
    session_id: str = ""
    """Session that the fact came from; "" when none."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Memories that may be kept at once, expired and deleted ones not counted; None = no bound."""

    per_user: int | None = None
    per_tenant: int | None = None
    """Kept approximately across processes: each believes its own count for up to a minute."""

    @property
    def bounds(self) -> bool:
        return self.per_user is not None or self.per_tenant is not None


@dataclass(frozen=True, slots=True)
class Room:
    """What the tightest quota leaves."""

    left: int
    name: str
    """Which quota that is, e.g. "memories per user"."""
    limit: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Changes of one user that become durable together, or not at all."""

    tenant: str
    user_id: str
    actor: str
    operation: str
    """RPC or job that caused it, e.g. "Remember", "Sweep"."""
    time_us: int
    changes: tuple[Change, ...]
    expected_head: int | None = None
    """The user's head position on which the changes were decided; None = do not compare."""
    expected_epoch: int | None = None
    """The user's epoch when the work began; ForgetUser raises it. None = do not compare."""
    knowledge: bool = False
    request: RequestStamp | None = None
    respond: Callable[[tuple[int, ...]], str] | None = None
    """Makes the answer to keep for replays (JSON) from the positions given to the changes."""
    ingestion_id: str = ""
    """Ingestion that this commit completes: it becomes DONE in the same transaction, `respond` gives its result."""
    quota: Quota | None = None
    """Checked in the same transaction, when the commit adds more memories than it deletes; None = no check."""


@dataclass(frozen=True, slots=True)
class Committed:
    positions: tuple[int, ...]
    """One per change, increasing."""
    head: int
    """The user's head position afterwards."""
    replay: str | None = None
    """The stored answer, when the request had been committed before; then nothing was written."""
    first: bool = False
    """Nothing had ever been journaled for this user: these changes are all that there is of the user."""


@dataclass(frozen=True, slots=True)
class Replay:
    response: str
    position: int


@dataclass(frozen=True, slots=True)
class UserState:
    head: int
    """Position of the user's last change; 0 = none yet."""
    epoch: int
    """Raised by each ForgetUser; work begun under an older epoch may not be committed."""
    legal_hold: bool


@dataclass(frozen=True, slots=True)
class PendingRow:
    """A journaled change that the vector store has not acknowledged yet."""

    tenant: str
    knowledge: bool
    position: int
    row: StoredRow
    physical_delete: bool = False
    """The row is to be removed, not written (purge)."""


@dataclass(frozen=True, slots=True)
class AppliedRow:
    tenant: str
    memory_id: str
    position: int
    knowledge: bool = False


class LostRace(Exception):
    """The user's head moved since the decision was made: read again, decide again."""


class Journal(Protocol):
    """Raises JournalUnavailable when the database does not answer or is busy for too long."""

    @property
    def journal_id(self) -> str:
        """Random id made with the database; consistency tokens carry it so that a token of another one is refused."""
        ...

    def append(self, commit: Commit) -> Committed:
        """One transaction: idempotency, epoch and head checks; one hash-chained event per change; revisions; the
        rows pending for the vector store. Durable when it returns.

        Raises RequestIdReused, ForgottenMeanwhile, QuotaReached or LostRace (also for a change of a memory that is not
        at the revision before it); nothing was written then.
        """
        ...

    def room(self, tenant: str, user_id: str, quota: Quota, *, now_seconds: int) -> Room:
        """How many memories more the user may have. `quota` must bound something."""
        ...

    def find_replay(self, tenant: str, user_id: str, request: RequestStamp) -> Replay | None:
        """The stored answer of this request, if it was committed. Raises RequestIdReused on another fingerprint,
        ForgottenMeanwhile when the answer was erased."""
        ...

    def user_state(self, tenant: str, user_id: str) -> UserState:
        """Zeroes for a user never seen."""
        ...

    def head(self) -> int:
        """Highest position given so far; 0 when empty."""
        ...

    def pending(
        self, *, tenant: str | None = None, user_id: str | None = None, limit: int = 1000
    ) -> list[PendingRow]:
        """Rows not yet acknowledged by the vector store, by position; the latest state only of each memory."""
        ...

    def mark_applied(self, rows: Sequence[AppliedRow]) -> None:
        """Forget pending rows up to the given position of each memory. Idempotent; need not be durable at once."""
        ...

    def tenants(self) -> list[str]:
        """Tenants that have any event, sorted."""
        ...

    def expire_requests(self, *, before_us: int) -> int:
        """Drop stored answers older than this; returns how many."""
        ...

    def ping(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RevisionQuery:
    tenant: str
    user_id: str
    memory_id: str | None = None
    after_position: int = 0
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Keyset page over memories in journal order of their last change."""

    tenant: str
    user_id: str
    as_of_us: int | None = None
    """None = now: the last revision of each."""
    descending: bool = True
    after_key: tuple[int, int] | None = None
    """(created_at, position) of the last row of the page before."""
    limit: int = 50
    memory_ids: tuple[str, ...] = field(default=())
    """Only these, when not empty."""


class History(Protocol):
    """Past and present states of memories, from the journal."""

    def revisions(self, query: RevisionQuery) -> list[Revision]:
        """By position, oldest first. Empty for an unknown memory, and for another user's."""
        ...

    def memories(self, page: MemoryPage) -> list[Memory]:
        """Memories as they stood at `as_of_us` (now when None), deleted ones left out; expiry is NOT filtered here.

        Ordered by (created_at, position), newest first unless `descending` is False. `user_id` may be `global` for
        knowledge.
        """
        ...

    def last_revision(self, tenant: str, user_id: str, memory_id: str) -> int:
        """Revision number that this id reached, deleted or not; 0 when it never was."""
        ...

    def expired(self, tenant: str, *, now_seconds: int, limit: int) -> list[tuple[str, tuple[str, ...]]]:
        """Memories and knowledge still live in the journal whose expires_at is not after `now_seconds`: pairs of
        user_id and memory ids, at most `limit` ids in all, longest expired first."""
        ...
