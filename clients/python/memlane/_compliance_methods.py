"""ComplianceService, defined once for both clients. Every call needs the scope `compliance`."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memlane.v1 import compliance_service_pb2 as pb

from ._bind import Bound, stream, unary
from ._calls import Call
from ._freshness import TENANT
from ._memory_methods import page_of
from ._values import Value
from ._wire import to_timestamp
from .compliance import (
    AuditAnchor,
    AuditEvent,
    AuditVerification,
    ExportedIngestion,
    ExportedMessage,
    ExportRecord,
    ExportSummary,
    Forgotten,
    LegalHoldRead,
    LegalHoldSet,
    Purged,
)
from .inputs import Consistency, to_consistency
from .results import Memory, MemoryRevision, Page

_RECORDS: dict[str, type[Value]] = {
    "memory": Memory,
    "revision": MemoryRevision,
    "message": ExportedMessage,
    "ingestion": ExportedIngestion,
    "audit_event": AuditEvent,
    "summary": ExportSummary,
}


def _record(response: Any) -> Any:
    name = response.WhichOneof("record")
    return _RECORDS[name].from_proto(getattr(response, name))


class ComplianceMethods(Bound):
    """Erasure with proof, export, legal hold, and the audit log."""

    @unary
    def forget_user(
        self,
        user_id: str,
        *,
        operator: str,
        reason: str,
        purge_now: bool = False,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[Forgotten]:
        """Erase one user. Nothing of them is visible to any read when this returns; keep the receipt.

        Example:
            >>> receipt = client.forget_user("c-1001", operator="dpo@bank", reason="客户要求删除").receipt
        """
        request = pb.ForgetUserRequest(user_id=user_id, operator=operator, reason=reason, purge_now=purge_now)
        return Call("ForgetUser", request, Forgotten.from_proto, (user_id,), request_id, timeout)

    @stream
    def export_user(
        self,
        user_id: str,
        *,
        operator: str,
        reason: str,
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[ExportRecord]:
        """Everything that is kept about one user, record by record; the last is an `ExportSummary`. A stream that
        ends before it raises an error: an export is never silently short."""
        request = pb.ExportUserRequest(
            user_id=user_id, operator=operator, reason=reason, consistency=to_consistency(consistency)
        )
        return Call("ExportUser", request, _record, (user_id,), timeout=timeout, last=ExportSummary)

    @unary
    def set_legal_hold(
        self,
        user_id: str,
        active: bool,
        *,
        operator: str,
        reason: str,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[LegalHoldSet]:
        """Put a user under legal hold, or release it. Releasing the hold of a user who was forgotten under it erases
        at once what was kept back."""
        request = pb.SetLegalHoldRequest(user_id=user_id, active=active, operator=operator, reason=reason)
        return Call("SetLegalHold", request, LegalHoldSet.from_proto, (user_id,), request_id, timeout)

    @unary
    def get_legal_hold(
        self, user_id: str, *, consistency: Consistency | None = None, timeout: float | None = None
    ) -> Call[LegalHoldRead]:
        """Whether a user is under legal hold."""
        request = pb.GetLegalHoldRequest(user_id=user_id, consistency=to_consistency(consistency))
        return Call("GetLegalHold", request, LegalHoldRead.from_proto, (user_id,), timeout=timeout)

    @unary
    def list_audit_events(
        self,
        user_id: str | None = None,
        *,
        whole_tenant: bool = False,
        start_time: datetime | None = None,
        end_time: datetime | None = None,
        operations: Iterable[str] = (),
        actions: Iterable[str] = (),
        page_size: int = 0,
        page_token: str = "",
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[Page[AuditEvent]]:
        """One page of audit events by rising seq: of one user, or with `whole_tenant=True` of everyone. One of the two
        must be given, so that a lost id never reads everyone's."""
        if (user_id is None) != whole_tenant:
            raise ValueError("give a user_id, or whole_tenant=True")
        request = pb.ListAuditEventsRequest(
            user_id=user_id,
            start_time=to_timestamp(start_time),
            end_time=to_timestamp(end_time),
            operations=list(operations),
            actions=list(actions),
            page_size=page_size,
            page_token=page_token,
            consistency=to_consistency(consistency),
        )
        return Call("ListAuditEvents", request, page_of("events", AuditEvent), timeout=timeout)

    @unary
    def verify_audit_log(
        self,
        anchors: Iterable[AuditAnchor] = (),
        *,
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[AuditVerification]:
        """Recompute the hash chain of the audit log. A broken chain is an answer, not an error.

        Example:
            >>> client.verify_audit_log([AuditAnchor(receipt.last_audit_seq, receipt.audit_head_hash)]).valid
        """
        request = pb.VerifyAuditLogRequest(
            anchors=[pb.AuditAnchor(seq=a.seq, hash=a.hash) for a in anchors],
            consistency=to_consistency(consistency),
        )
        return Call("VerifyAuditLog", request, AuditVerification.from_proto, timeout=timeout)

    @unary
    def purge_expired(
        self, *, operator: str, reason: str, request_id: str | None = None, timeout: float | None = None
    ) -> Call[Purged]:
        """Do the sweeper's work now: soft-delete what expired, remove what was due."""
        request = pb.PurgeExpiredRequest(operator=operator, reason=reason)
        return Call("PurgeExpired", request, Purged.from_proto, (TENANT,), request_id, timeout)
