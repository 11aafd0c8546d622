"""What calls about erasure, export, legal hold and the audit log return."""

from datetime import datetime

from memlane.v1 import compliance_service_pb2

from ._values import Value, value
from .inputs import Message
from .results import Memory, MemoryRevision


@value(compliance_service_pb2.ErasureCounts)
class ErasureCounts(Value):
    """How much was erased."""

    memories: int
    revisions: int
    messages: int
    ingestions: int
    requests: int
    sessions: int


@value(compliance_service_pb2.ErasureReceipt)
class Receipt(Value):
    """Proof of an erasure, to be kept outside the service."""

    receipt_id: str
    user_id: str
    counts: ErasureCounts
    first_audit_seq: int
    last_audit_seq: int
    audit_head_hash: str
    """Hash of the last audit event: an anchor for `verify_audit_log`."""
    issue_time: datetime
    purge_after: datetime | None
    """When the physical removal is due."""
    digest: str
    signature: bytes
    """Over the digest; empty where the server has no signing key."""
    key_id: str
    signature_algorithm: str
    legal_hold: bool
    """Everything is invisible; texts are erased when the hold is released."""


@value(compliance_service_pb2.ForgetUserResponse)
class Forgotten(Value):
    """Answer to `forget_user`."""

    memory_count: int
    """Memories that were visible and no longer are."""
    receipt: Receipt
    written_at: str


@value(compliance_service_pb2.LegalHold)
class LegalHoldState(Value):
    """Whether and why a user is under legal hold."""

    user_id: str
    active: bool
    operator: str
    reason: str
    update_time: datetime | None
    """None = never held."""


@value(compliance_service_pb2.SetLegalHoldResponse)
class LegalHoldSet(Value):
    """Answer to `set_legal_hold`."""

    legal_hold: LegalHoldState
    written_at: str


@value(compliance_service_pb2.GetLegalHoldResponse)
class LegalHoldRead(Value):
    """Answer to `get_legal_hold`."""

    legal_hold: LegalHoldState
    read_at: str


@value(compliance_service_pb2.AuditEvent)
class AuditEvent(Value):
    """One entry of the audit log. Never holds memory text."""

    seq: int
    time: datetime
    tenant: str
    user_id: str
    actor: str
    operation: str
    memory_id: str
    revision: int
    count: int
    reason_code: str
    detail: str
    digest: str
    prev_hash: str
    hash: str
    action: str


@value(compliance_service_pb2.AuditAnchor, kw_only=False)
class AuditAnchor(Value):
    """An event whose hash was kept outside the service, as from a receipt."""

    seq: int
    hash: str


@value(compliance_service_pb2.VerifyAuditLogResponse)
class AuditVerification(Value):
    """Outcome of a check of the audit log."""

    valid: bool
    events_checked: int
    head_seq: int
    head_hash: str
    """Keep it as an anchor."""
    first_bad_seq: int | None
    description: str
    read_at: str


@value(compliance_service_pb2.PurgeExpiredResponse)
class Purged(Value):
    """What a `purge_expired` did."""

    expired_count: int
    purged_count: int
    legal_hold_skipped: int
    written_at: str


@value(compliance_service_pb2.ExportedMessage)
class ExportedMessage(Value):
    """A message of an export."""

    session_id: str
    message: Message


@value(compliance_service_pb2.ExportedIngestion)
class ExportedIngestion(Value):
    """An ingestion of an export."""

    ingestion_id: str
    state: str
    input_json: str
    result_json: str
    create_time: datetime


@value(compliance_service_pb2.ExportSummary)
class ExportSummary(Value):
    """End of an export: it is complete."""

    memory_count: int
    revision_count: int
    message_count: int
    audit_event_count: int
    ingestion_count: int
    read_at: str


ExportRecord = Memory | MemoryRevision | ExportedMessage | ExportedIngestion | AuditEvent | ExportSummary
"""Memories, revisions, messages, ingestions and audit events, each in order; one `ExportSummary` last."""
