"""Erasure, legal hold and the audit log, on the journal. All calls block."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Protocol

from .journal import RequestStamp


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One row of the log. Carries no memory text. Rows are chained: `hash` covers all other columns and `prev_hash`."""

    seq: int
    time_us: int
    tenant: str
    user_id: str
    actor: str
    operation: str
    """RPC or job."""
    action: str
    """ADD, UPDATE, DELETE, EXPIRE, FORGET, PURGE, PUT_RULES, HOLD, RELEASE, ..."""
    memory_id: str
    revision: int
    count: int
    reason_code: str
    detail: str
    """The operator's own words for acts of compliance; "" otherwise."""
    commitment: str
    """Salted digest of the text concerned: provable while the salt lives, meaningless once it was erased."""
    prev_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class AuditQuery:
    tenant: str
    user_id: str | None = None
    actions: tuple[str, ...] = ()
    """Only these; empty = all."""
    operations: tuple[str, ...] = ()
    """Only these; empty = all."""
    from_us: int | None = None
    until_us: int | None = None
    after_seq: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ChainCheck:
    valid: bool
    events: int
    head_seq: int
    head_hash: str
    first_bad_seq: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ForgetCommand:
    tenant: str
    user_id: str
    actor: str
    detail: str
    """The operator's reason."""
    time_us: int
    purge_after_us: int
    request: RequestStamp | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What ForgetUser did. `memory_ids` were live before."""

    memory_ids: tuple[str, ...]
    revisions: int
    messages: int
    sessions: int
    ingestions: int
    requests: int
    first_seq: int
    last_seq: int
    head_hash: str
    epoch: int
    purge_after_us: int
    legal_hold: bool
    """Under hold everything became invisible, but no text was emptied."""
    replay: str | None = None
    """Stored receipt when the same request_id was answered before."""


@dataclass(frozen=True, slots=True)
class PurgeItem:
    tenant: str
    user_id: str
    memory_id: str
    knowledge: bool


class ComplianceStore(Protocol):
    def forget_user(self, command: ForgetCommand) -> Forgotten:
        """One transaction: epoch + 1; every live memory FORGET (pending rows with is_deleted and blank text); texts
        of all revisions, messages, ingestions' payloads and results, stored answers and fingerprints emptied; one
        audit event with the counts. Under legal hold the texts stay, everything is invisible all the same.
        Unknown user: counts 0, an audit event all the same."""
        ...

    def save_receipt(
        self, tenant: str, user_id: str, receipt_id: str, receipt: str, *, request: RequestStamp | None = None
    ) -> None:
        """Keeps the receipt; with `request`, that of the ForgetUser, as the answer to its replays. A replay that
        finds no receipt (the process died in between) gets the first Forgotten with `replay` None."""
        ...

    def set_legal_hold(
        self, tenant: str, user_id: str, *, hold: bool, actor: str, detail: str, time_us: int
    ) -> int:
        """Returns the seq of its audit event. Releasing the hold of a user who was forgotten under it erases at once
        the texts that the hold kept back."""
        ...

    def due_for_purge(
        self, tenant: str, *, now_us: int, retention_us: int, limit: int, user_id: str | None = None
    ) -> tuple[list[PurgeItem], int]:
        """Soft-deleted memories whose retention time is over, and how many more are kept back by a legal hold."""
        ...

    def record_purge(self, items: list[PurgeItem], *, actor: str, time_us: int) -> tuple[int, int]:
        """Removes the revisions' texts and pending rows of these memories for good, and the stored answers and
        results that may quote them, and writes one audit event per user; returns (first seq, last seq), (0, 0) when
        there was nothing. What became pending in their place is `physical_delete`: call this first, then apply the
        pending rows to the vector store. Items restored or put under hold meanwhile are passed over."""
        ...

    def scrub(self) -> None:
        """Makes erased text disappear from the database's files too (secure delete, checkpoint, vacuum)."""
        ...

    def record_event(
        self,
        *,
        tenant: str,
        user_id: str,
        actor: str,
        operation: str,
        action: str,
        count: int,
        reason_code: str,
        detail: str,
        time_us: int,
    ) -> int:
        """An audit event that changes no memory (a refusal, an export); returns its seq."""
        ...  # fmt: skip

    def audit_events(self, query: AuditQuery) -> list[AuditEvent]:
        """By seq."""
        ...

    def verify_chain(self, *, from_seq: int = 1, anchors: Mapping[int, str] | None = None) -> ChainCheck:
        """Recomputes every hash of the log, of all tenants: it is one chain. `anchors` are hashes by seq that were
        kept outside of it: events that must stand there unchanged."""
        ...

    def export(self, tenant: str, user_id: str) -> Generator[tuple[str, str], None, None]:
        """Everything kept about a user: pairs of kind (revision, message, ingestion, event) and JSON."""
        ...
