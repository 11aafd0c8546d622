"""ComplianceService. What an operator orders is audited under the operator's name."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from memlane.v1 import compliance_service_pb2 as pb
from memlane_core.services.call import Call

from .. import validate
from ..translate.common import consistency
from ..translate.compliance import (
    anchors_of,
    audit_query,
    event_bytes,
    event_message,
    export_record,
    hold_message,
    receipt_message,
)
from ..translate.memories import page
from ..validate import Violations
from .base import Servicer

_Order = pb.ForgetUserRequest | pb.ExportUserRequest | pb.SetLegalHoldRequest | pb.PurgeExpiredRequest


class ComplianceServicer(Servicer):
    def _ordered(self, request: _Order, call: Call, v: Violations | None = None) -> Call:
        """The call as the operator's. What is proved stands before what is said: the credential, then the name."""
        operator = _checked(request, v or Violations())
        return replace(call, actor=f"{call.actor}: {operator}" if self._services.authenticated else operator)

    async def ForgetUser(self, request: pb.ForgetUserRequest, call: Call) -> pb.ForgetUserResponse:
        call = self._ordered(request, call)
        receipt = await self._services.compliance.forget(
            call,
            request.user_id,
            detail=request.reason,
            purge_now=request.purge_now,
            request=self._stamp("ForgetUser", request),
        )
        return pb.ForgetUserResponse(
            memory_count=receipt.memories,
            receipt=receipt_message(receipt),
            written_at=self._written_at(call, receipt.last_audit_seq),
        )

    async def ExportUser(
        self, request: pb.ExportUserRequest, call: Call
    ) -> AsyncIterator[pb.ExportUserResponse]:
        v = Violations()
        wanted = consistency(v, request)
        call = self._ordered(request, call, v)
        await self._services.positions.ensure(call, request.user_id, wanted)
        counts = dict.fromkeys(("memory", "revision", "message", "ingestion", "event"), 0)
        exported = self._services.compliance.export(call, request.user_id, detail=request.reason)
        position = 0
        async with aclosing(exported) as records:
            async for kind, record in records:
                if kind == "position":
                    position = record["position"]
                    continue
                counts[kind] += 1
                yield export_record(kind, record)
        summary = pb.ExportSummary(
            memory_count=counts["memory"],
            revision_count=counts["revision"],
            message_count=counts["message"],
            audit_event_count=counts["event"],
            ingestion_count=counts["ingestion"],
            read_at=self._written_at(call, position),
        )
        yield pb.ExportUserResponse(summary=summary)

    async def SetLegalHold(self, request: pb.SetLegalHoldRequest, call: Call) -> pb.SetLegalHoldResponse:
        call = self._ordered(request, call)
        compliance = self._services.compliance
        position = await compliance.set_legal_hold(
            call, request.user_id, hold=request.active, detail=request.reason
        )
        active, last = await compliance.legal_hold(call, request.user_id)
        return pb.SetLegalHoldResponse(
            legal_hold=hold_message(request.user_id, active, last),
            written_at=self._written_at(call, position),
        )

    async def GetLegalHold(self, request: pb.GetLegalHoldRequest, call: Call) -> pb.GetLegalHoldResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, user_id, wanted)
        active, last = await self._services.compliance.legal_hold(call, user_id)
        return pb.GetLegalHoldResponse(legal_hold=hold_message(user_id, active, last), read_at=read_at)

    async def ListAuditEvents(
        self, request: pb.ListAuditEventsRequest, call: Call
    ) -> pb.ListAuditEventsResponse:
        v = Violations()
        pages = self._pages(call, "ListAuditEvents", request)
        query = audit_query(v, request, call.tenant, pages.cursor(v, 1))
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, request.user_id, wanted)
        events = await self._services.compliance.audit_events(query)
        rows, more = page(events, query.limit - 1, event_bytes)
        return pb.ListAuditEventsResponse(
            events=[event_message(e) for e in rows],
            next_page_token=pages.token(rows[-1].seq) if more else "",
            read_at=read_at,
        )

    async def VerifyAuditLog(
        self, request: pb.VerifyAuditLogRequest, call: Call
    ) -> pb.VerifyAuditLogResponse:
        v = Violations()
        anchors = anchors_of(v, request)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, "", wanted)
        check = await self._services.compliance.verify(anchors)
        return pb.VerifyAuditLogResponse(
            valid=check.valid,
            events_checked=check.events,
            head_seq=check.head_seq,
            head_hash=check.head_hash,
            first_bad_seq=check.first_bad_seq,
            description=check.problem,
            read_at=read_at,
        )

    async def PurgeExpired(self, request: pb.PurgeExpiredRequest, call: Call) -> pb.PurgeExpiredResponse:
        call = self._ordered(request, call)
        expired, purged, held = await self._services.compliance.purge_expired(call, detail=request.reason)
        return pb.PurgeExpiredResponse(
            expired_count=expired,
            purged_count=purged,
            legal_hold_skipped=held,
            written_at=self._now_at(call),
        )


def _checked(request: _Order, v: Violations) -> str:
    """The operator's name, once the order is checked. Raises InvalidArgument."""
    if not isinstance(request, pb.PurgeExpiredRequest):
        validate.user_id(v, request.user_id)
    operator = validate.operator(v, request.operator)
    validate.reason(v, request.reason, required=True)
    if not isinstance(request, pb.ExportUserRequest):
        validate.request_id(v, request.request_id)
    v.check()
    return operator
