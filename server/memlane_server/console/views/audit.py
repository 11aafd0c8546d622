"""The audit log and whether it is whole."""

from starlette.responses import Response

from memlane.v1 import compliance_service_pb2

from ..site import Visit

PAGE_SIZE = 50

_ACTIONS = ("ADD", "UPDATE", "DELETE", "EXPIRE", "FORGET", "PURGE", "PUT_RULES", "HOLD", "RELEASE", "EXPORT")

_OPERATIONS = (
    "Remember",
    "CreateMemory",
    "UpdateMemory",
    "DeleteMemory",
    "EndSession",
    "UpsertKnowledge",
    "DeleteKnowledge",
    "PutRules",
    "ForgetUser",
    "ExportUser",
    "SetLegalHold",
    "Sweep",
    "Purge",
)
"""Offered, not imposed: the log may hold others."""


async def events(visit: Visit) -> Response:
    query, zone = visit.query, visit.site.zone
    operation, action = query.line("operation"), query["action"]
    request = compliance_service_pb2.ListAuditEventsRequest(
        page_size=PAGE_SIZE,
        page_token=query["page_token"],
        start_time=query.moment("from", zone),
        end_time=query.moment("until", zone),
        operations=[operation] if operation else (),
        actions=[action] if action else (),
    )
    if visit.user_id:
        request.user_id = visit.user_id
    answer = await visit.call(
        "ComplianceService/ListAuditEvents", request, compliance_service_pb2.ListAuditEventsResponse
    )
    return visit.page(
        "audit.html",
        events=answer.events,
        actions=_ACTIONS,
        operations=_OPERATIONS,
        next_page=answer.next_page_token,
    )


async def verify(visit: Visit) -> Response:
    request = compliance_service_pb2.VerifyAuditLogRequest()
    seq, digest = visit.form.number("anchor_seq"), visit.form.line("anchor_hash")
    if seq or digest:
        request.anchors.add(seq=seq, hash=digest)
    answer = await visit.call(
        "ComplianceService/VerifyAuditLog", request, compliance_service_pb2.VerifyAuditLogResponse
    )
    return visit.page("verified.html", check=answer, anchored=bool(request.anchors))
